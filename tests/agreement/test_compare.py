"""A walk notices each way in which preview and scheduler can differ."""

from __future__ import annotations

import pytest

from claims.domain.preview import NodePreview, Preview
from inventory.domain.engine import Outcome
from tests.agreement.compare import Happened, disagreement, expected

NODES = ["a", "b", "c"]


def allocation(*devices: str, request: str = "gpu", node: str = "a") -> dict:
    results = [
        {
            "request": request,
            "driver": "d",
            "pool": node,
            "device": each,
            "shareID": "?",
        }
        for each in devices
    ]
    return {"devices": {"results": results}, "nodeSelector": {"node": node}}


def said(*, minor: str = "1.37", crash: str = "", **outcomes: str) -> Preview:
    """Return a preview; "fits" is of score 8, "fits-7" of score 7; `a` may crash."""
    nodes = {}
    for node, text in outcomes.items():
        outcome, _dash, score = text.partition("-")
        fits = outcome == "fits"
        nodes[node] = NodePreview(
            Outcome(outcome),
            "",
            [allocation("gpu-0", node=node)] if fits else None,
            int(score or 8) if fits else None,
            crash if node == "a" else "",
        )
    engine = {"minor": minor, "allocator": "experimental"}
    return Preview(revision=1, engine=engine, nodes=nodes)


def went(node: str, *devices: str, request: str = "gpu") -> Happened:
    given = allocation(*devices, request=request, node=node)
    return Happened("fits", node=node, allocations=[given])


def test_one_error_is_an_error_for_the_pod():
    preview = said(a="fits", b="error", c="undecided")

    assert expected(preview, NODES) == "error"
    assert expected(preview, ["a", "c"]) == "undecided"
    assert expected(preview, ["a"]) == "fits"
    assert expected(said(a="no"), ["a"]) == "no"


def test_what_agrees_is_no_disagreement():
    preview = said(a="fits", b="no", c="fits-7")

    assert disagreement(preview, NODES, went("a", "gpu-0")) == ""
    assert disagreement(said(a="no"), ["a"], Happened("no")) == ""


def test_a_crash_must_have_been_told_of_on_a_node_that_was_tried():
    crashed = Happened("error", "kube-scheduler crashed", is_crash=True)

    assert "it was error: kube-scheduler" in disagreement(
        said(a="fits"), ["a"], crashed
    )
    assert "it was error: kube-scheduler" in disagreement(
        said(a="error"), ["a"], crashed
    )
    warned = said(crash="index out of range", a="fits", b="fits")
    assert disagreement(warned, ["a", "b"], crashed) == ""
    assert disagreement(warned, ["b"], crashed) != ""


@pytest.mark.parametrize(
    ("happened", "told"),
    [
        (Happened("no", "0/3 nodes"), "fits was said, and it was no: 0/3 nodes"),
        (Happened("error", "CEL"), "fits was said, and it was error: CEL"),
        (went("b", "gpu-0"), "it went to b, of which no was said"),
        (went("c", "gpu-0"), "a has a higher score"),
        (went("a", "gpu-1"), "gpu-1"),
        (went("a", "gpu-0", request="gpu/other"), "gpu/other"),
    ],
)
def test_each_difference_is_told(happened, told):
    preview = said(a="fits", b="no", c="fits-7")

    assert told in disagreement(preview, NODES, happened)


def test_where_order_is_open_the_alternative_counts_alone():
    preview = said(minor="1.34", a="fits")

    assert disagreement(preview, ["a"], went("a", "gpu-1")) == ""
    other = went("a", "gpu-0", request="gpu/other")
    assert "gpu/other" in disagreement(preview, ["a"], other)

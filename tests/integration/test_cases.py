"""Failures that people reported, each with the code that must be found."""

from __future__ import annotations

import io
import json
import sys

import pytest
import yaml
from django.core.management import call_command

from inventory.services.loading import load_cluster
from tests.conftest import DATA, objects_of

CASES = yaml.safe_load((DATA / "cases" / "index.yaml").read_text())
pytestmark = pytest.mark.django_db

# A list of two UUIDs stands for the 260 that somebody pasted.
LONG = {"09"}
# The server's gate was off.
GATES = {"57": {"DRAConsumableCapacity": False}}


def text_of(case: dict) -> str:
    text = (DATA / "cases" / case["file"]).read_text()
    if str(case["id"]).zfill(2) in LONG:
        many = ", ".join(f'"GPU-{n:032x}"' for n in range(260))
        start, end = (
            text.index("[", text.index("uuid in")),
            text.index("]", text.index("uuid in")),
        )
        text = text[: start + 1] + many + text[end:]
    return text


def check(case: dict, now, monkeypatch, capsys) -> tuple[dict, int]:
    objects = [
        body
        for path in [
            *(DATA / "fleets" / name for name in case["slices"]),
            DATA / "claims" / "deviceclasses.yaml",
        ]
        for body in objects_of(path)
    ]
    load_cluster(
        "case",
        objects,
        kubernetes_version=str(case["kubernetesVersion"]),
        feature_gates=GATES.get(str(case["id"]), {}),
        now=now,
    )
    monkeypatch.setattr(
        sys, "stdin", io.TextIOWrapper(io.BytesIO(text_of(case).encode()))
    )
    code = 0
    try:
        call_command("check_claim", "case", "-", "--format", "json")
    except SystemExit as ended:
        code = ended.code
    return json.loads(capsys.readouterr().out), code


@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: case["file"].removesuffix(".yaml")
)
def test_case_has_its_code_and_no_other_error(case, now, monkeypatch, capsys):
    document, code = check(case, now, monkeypatch, capsys)

    found = [
        (d["code"], d["level"])
        for d in [
            *(d for i in document["items"] for d in i["diagnostics"]),
            *document["cluster"],
        ]
    ]
    wanted = (case["expect"]["code"], case["expect"]["level"])
    assert wanted in found
    errors = {code for code, level in found if level == "error"}
    assert errors <= {wanted[0]}
    assert code == (1 if wanted[1] == "error" else 0)


def outcome_of(text: str) -> str:
    """Return the outcome that a recorded line of Kubernetes' own code means."""
    if text == "no":
        return "no"
    if text.startswith("node error"):
        return "node-error"
    return "error" if text.startswith("FATAL") else "fits"


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case["oracle"] and str(case["id"]) != "58"],
    ids=lambda case: case["file"].removesuffix(".yaml"),
)
def test_case_is_previewed_as_kubernetes_answered(case, now, monkeypatch, capsys):
    document, _code = check(case, now, monkeypatch, capsys)

    previews = {item["name"]: item["preview"] for item in document["items"]}
    for line in case["oracle"]:
        where, _colon, answer = line.partition(": ")
        name, _at, node = where.partition(" @ ")
        if "[+" in name or answer.startswith("allocated, with no device"):
            continue
        nodes = previews[name]["nodes"]
        if node == "empty-node":
            assert nodes == {}
            continue
        assert (name, node, nodes[node]["outcome"]) == (name, node, outcome_of(answer))

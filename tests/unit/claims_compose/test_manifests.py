"""Manifests: out as YAML, back in as a draft, and what is refused on the way."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from claims.domain.compose import to_manifest
from claims.domain.pasted import take
from claims.domain.reading import read
from claims.services import yaml_text
from claims.services.yaml_text import UnreadableYaml, dump, load
from tests.unit.claims_compose.drafts import CLASSES, drafts

GUIDES = Path(__file__).parents[2] / "data" / "guides"


@settings(max_examples=40, deadline=None)
@given(drafts())
def test_what_is_shown_and_pasted_back_is_the_same_claim(draft):
    text = dump(to_manifest(draft))
    body = load(text).body
    assert body == to_manifest(draft)
    taken = take(body)
    assert taken.problems == ()
    assert taken.kept == taken.left_out == ()
    reading = read(taken.draft, namespaces=[draft.namespace], classes=CLASSES)
    assert reading.findings == ()
    assert dump(to_manifest(taken.draft)) == text


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_every_text_survives_yaml(text):
    assert load(dump({"a": text})).body["a"] == text


@pytest.mark.parametrize(
    "text",
    ["no", "on", "Yes", "1", "0x1f", "1e3", "12:30", "~", "", "null", "=", "1_000"],
)
def test_texts_that_older_readers_take_for_something_else_are_quoted(text):
    assert dump({"a": text}).startswith('a: "') or dump({"a": text}).startswith("a: '")


def test_the_field_guides_template_fills_the_form():
    taken = take(load((GUIDES / "000-template.yaml").read_text()).body)
    assert taken.problems == ()
    assert [row.name for row in taken.draft.requests[0].alternatives] == [
        "hopper-shared-slices",
        "mig-fallback-slices",
    ]
    assert taken.draft.constraints[0].binds == ("0",)


def test_an_older_claim_is_refused_field_by_field_with_lines():
    document = load((GUIDES / "001-gpu-claim.yaml").read_text())
    taken = take(document.body)
    assert taken.draft is None
    lines = {(document.line_of(each.path), each.code) for each in taken.problems}
    assert (9, "paste.request") in lines


CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: a, namespace: b}
spec:
  devices:
    requests:
    - name: gpus
      exactly: {deviceClassName: gpu.example.com}
"""


@pytest.mark.parametrize(
    ("old", "new", "line", "code"),
    [
        ("kind: ResourceClaim", "kind: Pod", 2, "paste.kind"),
        ("resource.k8s.io/v1", "resource.k8s.io/v1beta1", 1, "paste.version"),
        ("namespace: b}", "labels: {x: 1}}", 3, "paste.not_text"),
        ("namespace: b}", "annotations: [x]}", 3, "paste.not_map"),
        ("exactly: {", "exactly: {count: two, ", 8, "paste.not_int"),
        ("exactly: {", "exactly: {count: true, ", 8, "paste.not_int"),
        (
            "exactly: {",
            "exactly: {count: 2, allocationMode: All, ",
            8,
            "paste.count_with_all",
        ),
        ("exactly: {", "exactly: {selectors: [{cel: {}}], ", 8, "paste.selector"),
        ("exactly: {", "exactly: {selectors: {}, ", 8, "paste.not_list"),
        (
            "exactly: {",
            "exactly: {capacity: {requests: {m: [1]}}, ",
            8,
            "paste.not_quantity",
        ),
        ("exactly: {", "exactly: {adminAccess: 1, ", 8, "paste.not_bool"),
        ("exactly: {", "firstAvailable: []\n      exactly: {", 7, "paste.request"),
        ("    requests:", "    config: [{}]\n    requests:", 6, "paste.config"),
        (
            "    requests:",
            "    constraints: [{}]\n    requests:",
            6,
            "paste.constraint",
        ),
        (
            "    requests:",
            "    constraints: [{requests: [x], matchAttribute: a.com/b}]\n    requests:",
            6,
            "paste.binds",
        ),
    ],
)
def test_what_the_form_cannot_show_is_refused_by_line(old, new, line, code):
    document = load(CLAIM.replace(old, new, 1))
    taken = take(document.body)
    assert taken.draft is None
    assert [(document.line_of(p.path), p.code) for p in taken.problems] == [
        (line, code)
    ]


def test_what_only_the_server_sets_is_left_out_and_named():
    text = CLAIM.replace("{name: a,", "{uid: u, creationTimestamp: null, name: a,")
    taken = take(load(text + "status: {reservedFor: []}\n").body)
    assert taken.draft is not None
    assert taken.left_out == ("status", "metadata.uid")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: [", 1),
        ("a: 1\na: 2\n", 2),
        ("a: &x 1\nb: *x\n", 2),
        ("a: 1\n---\nb: 2\n", 2),
        ("[" * 100_000, 1),
        ("- 1\n" * 30_000, 19_999),
        ("x" * (256 * 1024 + 1), None),
        ("", None),
        ("a: 2020-99-99", None),
        ("a: b\x00c", None),
        ("- *" + "a" * 99, 1),
    ],
)
def test_hostile_yaml_gets_one_sentence(text, line):
    with pytest.raises(UnreadableYaml) as caught:
        load(text)
    assert caught.value.message
    assert "\n" not in caught.value.message
    assert line is None or caught.value.line == line


def test_a_bomb_of_aliases_is_refused_before_it_is_built():
    layers = "\n".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)
    )
    with pytest.raises(UnreadableYaml, match="Aliases") as caught:
        load(f"a0: &a0 [x]\n{layers}")
    assert caught.value.line == 2


def test_the_limit_counts_bytes():
    fits = "a: " + "é" * ((yaml_text.MAX_BYTES - 4) // 2)
    assert load(fits).body["a"]
    with pytest.raises(UnreadableYaml):
        load(fits + "éé")

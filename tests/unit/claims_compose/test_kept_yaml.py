"""YAML that went through the form: comments, order and unknown fields survive."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from claims.domain.compose import to_manifest
from claims.domain.edits import edited
from claims.services import kept_yaml
from claims.services.writing import from_yaml, manifest_of, rebased, text_of
from claims.services.yaml_text import dump, load
from tests.unit.claims_compose.drafts import drafts

DATA = Path(__file__).parents[2] / "data"

LISTED = """\
# What the team runs on.
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate   # one claim a pod
metadata:
  namespace: blue             # before the name
  name: trainer
  generateName: odd-

spec:
  spec:
    devices:
      requests:
      # The big one first.
      - name: gpus
        firstAvailable:
        # whole cards
        - name: whole
          count: 2
          deviceClassName: gpu.example.com
          derivedAttributes:       # of 1.37
          - {name: rack, expression: "'a # b'"}
        # or parts of one
        - deviceClassName: mig.example.com
          name: part
          future: {a: [1, 2]}
          selectors:
          - cel:
              expression: |-
                device.driver == "mig.example.com" && # no comment
                true
          tolerations:
          - operator: Exists
            tolerationSeconds: 5
            effect: NoExecute
      config:
      - opaque:
          driver: gpu.nvidia.com
          parameters:
            kind: GpuConfig
            apiVersion: resource.nvidia.com/v1beta1
            sharing: {strategy: MPS, mpsConfig: {defaultActiveThreadPercentage: 50, later: 1}}
# The end.
"""


def taken(text):
    found = from_yaml(text)
    assert found.problems == ()
    return found.draft


def comments(text):
    return re.findall(r"#[^\n'\"]*", text)


def test_what_the_form_does_not_show_is_kept_and_named():
    found = from_yaml(LISTED)
    assert found.left_out == ()
    assert found.kept == (
        "metadata.generateName",
        "spec.spec.devices.requests[0].firstAvailable[1].future",
        "spec.spec.devices.config[0].opaque.parameters.sharing.mpsConfig.later",
    )
    assert text_of(rebased(found.draft)) == LISTED
    assert manifest_of(found.draft) == load(LISTED).body


def changed_in(text, change):
    """Return the text after a change of the form, and what the change says."""
    draft = taken(text)
    return text_of(rebased(change(draft)))


def test_a_value_changes_alone():
    after = changed_in(LISTED, lambda draft: replace(draft, name="other"))
    assert after == LISTED.replace("name: trainer", "name: other")


def test_a_default_that_is_changed_is_written_in_its_place():
    def change(draft):
        row = draft.requests[0]
        first = replace(row.alternatives[0], allocation_mode="All")
        rows = (first, *row.alternatives[1:])
        return replace(draft, requests=(replace(row, alternatives=rows),))

    after = changed_in(LISTED, change)
    assert "          count: 2\n" not in after
    assert "deviceClassName: gpu.example.com\n          allocationMode: All\n" in after
    assert len(comments(after)) == len(comments(LISTED))


def test_alternatives_take_their_comments_and_unknown_fields_along():
    after = changed_in(LISTED, lambda draft: edited(draft, "up-alternative:0:1"))
    parts = after.index("# or parts of one"), after.index("name: part")
    whole = after.index("# whole cards"), after.index("derivedAttributes:       # of")
    assert sorted([*parts, *whole]) == [*parts, *whole]
    assert sorted(comments(after)) == sorted(comments(LISTED))
    assert "future: {a: [1, 2]}" in after


def test_what_is_removed_takes_only_its_own_comments():
    after = changed_in(LISTED, lambda draft: edited(draft, "remove-alternative:0:0"))
    gone = {"# whole cards", "# of 1.37", "# b"}
    left = [each for each in comments(LISTED) if each.strip() not in gone]
    assert comments(after) == left


def test_a_list_of_one_and_exactly_become_each_other():
    draft = rebased(edited(taken(LISTED), "remove-alternative:0:1"))
    row = replace(draft.requests[0], mode="exactly")
    exactly = rebased(replace(draft, requests=(row,)))
    request = manifest_of(exactly)["spec"]["spec"]["devices"]["requests"][0]
    assert set(request) == {"name", "exactly"}
    assert request["exactly"]["derivedAttributes"]
    row = replace(row, mode="firstAvailable")
    back = rebased(replace(exactly, requests=(row,)))
    assert manifest_of(back) == manifest_of(draft)


def test_what_is_typed_wrong_is_kept_too():
    draft = taken(LISTED)
    row = draft.requests[0]
    first = replace(row.alternatives[0], count="two")
    wrong = replace(row, alternatives=(first, *row.alternatives[1:]))
    after = rebased(replace(draft, requests=(wrong,)))
    assert "count: two" in text_of(after)
    assert text_of(rebased(replace(after, requests=(row,)))) == LISTED


def test_what_only_the_server_sets_is_taken_out_of_the_text():
    text = LISTED.replace("  name: trainer", "  uid: u\n  name: trainer")
    text = text.replace("# What the team", "status: {}\n# What the team")
    assert from_yaml(text).draft.base == LISTED


ACTIONS = [
    "add-request",
    "add-constraint",
    "add-config",
    "add-alternative:0",
    "up-alternative:0:1",
    "down-alternative:0:0",
    "move-alternative:0:2:0",
    "add-selector:0:0",
    "add-toleration:0:0",
    "add-pair:0",
    "add-pair:3",
]


@settings(max_examples=25, phases=[Phase.explicit, Phase.generate], deadline=None)
@given(drafts(), st.lists(st.sampled_from(ACTIONS), max_size=4), st.randoms())
def test_every_claim_survives_what_is_done_to_its_form(draft, actions, random):
    text = annotated(dump(to_manifest(draft)), random)
    now = taken(text)
    assert text_of(rebased(now)) == text
    for action in actions:
        now = rebased(edited(now, action))
    assert without_unknown(manifest_of(now)) == to_manifest(replace(now, base=""))
    assert sorted(comments_of(text_of(now))) == sorted(comments_of(text)), text
    assert str(manifest_of(now)).count("unknown-") == text.count("unknown-")


def annotated(text, random):
    """Return the text with comments and unknown fields beside what it says."""
    body = kept_yaml.plain(load(text).body)
    with_unknown(body, random)
    lines = []
    for at, line in enumerate(dump(body).split("\n")):
        is_key = re.match(r"^ *(- )?[a-zA-Z]+:( |$)", line)
        if is_key and random.random() < 0.3:
            lines.append(f"{' ' * (len(line) - len(line.lstrip()))}#= above {at}")
        lines.append(line)
        if re.match(r"^ *(- )?(name|count|deviceClassName|kind): [a-zA-Z0-9.]+$", line):
            lines[-1] += f"  #= beside {at}"
    text = "\n".join(lines)
    # A line that looks like a key may stand inside a text: then nothing is added.
    try:
        same = load(text).body == body
    except Exception:
        same = False
    return text if same else dump(body)


def with_unknown(value, random, count=0):
    if isinstance(value, dict):
        for key, inner in value.items():
            skipped = {"labels", "annotations", "parameters", "requests"}
            if key not in skipped or isinstance(inner, list):
                count = with_unknown(inner, random, count)
        if random.random() < 0.2:
            value[f"unknown-{count}"] = [{"a": count}]
            count += 1
    elif isinstance(value, list):
        for inner in value:
            count = with_unknown(inner, random, count)
    return count


def without_unknown(value):
    if isinstance(value, dict):
        return {
            key: without_unknown(inner)
            for key, inner in value.items()
            if not key.startswith("unknown-")
        }
    return (
        [without_unknown(each) for each in value] if isinstance(value, list) else value
    )


def comments_of(text):
    return re.findall(r"#= (?:above|beside) \d+", text)


def documents():
    for folder in ("claims", "cases", "guides"):
        for path in sorted((DATA / folder).glob("*.yaml")):
            for at, text in enumerate(re.split(r"(?m)^---.*\n", path.read_text())):
                if re.search(r"(?m)^kind: ResourceClaim(Template)?\s*(#.*)?$", text):
                    yield pytest.param(text, id=f"{path.stem}-{at}")


@pytest.mark.parametrize("text", list(documents()))
def test_every_claim_on_file_survives_the_form(text):
    found = from_yaml(text)
    if found.draft is None:  # what v1 has no place for is refused with its line
        assert {problem.code for _line, problem in found.problems} <= {
            "paste.version",
            "paste.request",
            "paste.constraint",
            "paste.binds",
        }
        return
    draft = found.draft
    base = text_of(draft)
    assert text_of(rebased(draft)) == base
    plain = kept_yaml.plain(load(text).body)
    for name in found.left_out:
        where = plain if name == "status" else plain["metadata"]
        del where[name.rpartition(".")[2]]
    assert manifest_of(draft) == {k: v for k, v in plain.items() if k != "status"}
    renamed = rebased(replace(draft, name="renamed"))
    plain["metadata"]["name"] = "renamed"
    plain.pop("status", None)
    assert manifest_of(renamed) == plain
    assert len(comments(text_of(renamed))) == len(comments(base))

"""What a preset lets change, and a draft as fields and back."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given

from claims.domain.compose import to_manifest
from claims.domain.draft import AlternativeDraft, Draft, RequestDraft, from_fields
from claims.domain.draft_fields import to_fields
from claims.domain.presets import Rule, breaches, rule_problem, rules_of
from tests.unit.claims_compose.drafts import drafts

COUNT = "requests-0-alternatives-0-count"
PRESET = Draft(
    name="h100",
    requests=(
        RequestDraft("gpus", alternatives=(AlternativeDraft("", "gpu", count="2"),)),
    ),
)


def asking(count, **changes):
    row = AlternativeDraft("", "gpu", count=count)
    return replace(
        PRESET, requests=(RequestDraft("gpus", alternatives=(row,)),), **changes
    )


INDENTED = AlternativeDraft("a", "gpu", derived=(("size", " 0"),))


@given(drafts())
@example(Draft(name="a", requests=(RequestDraft("a", alternatives=(INDENTED,)),)))
def test_a_draft_survives_being_fields(draft):
    assert to_manifest(from_fields(to_fields(draft))) == to_manifest(draft)


def test_name_namespace_and_reason_are_always_free():
    sent = asking("2", justification="night run", hours="8")
    sent = replace(sent, name="mine", namespace="ai")
    assert breaches(PRESET, sent, {}) == []


@pytest.mark.parametrize(
    ("count", "code"),
    [("0", "preset.low"), ("5", "preset.high"), ("many", "preset.number")],
)
def test_bounds_hold(count, code):
    [found] = breaches(PRESET, asking(count), {COUNT: Rule("1", "4")})
    assert (found.field, found.code) == (COUNT, code)
    assert breaches(PRESET, asking("4"), {COUNT: Rule("1", "4")}) == []


@pytest.mark.parametrize(
    "sent",
    [
        asking("3"),
        replace(PRESET, kind="ResourceClaim"),
        replace(PRESET, base="kind: Pod"),
        replace(PRESET, requests=(*PRESET.requests, RequestDraft("more"))),
        replace(PRESET, requests=()),
        replace(PRESET, labels=(("a", "b"),)),
        replace(
            PRESET,
            requests=(
                RequestDraft(
                    "gpus",
                    alternatives=(
                        AlternativeDraft("", "gpu", count="2", admin_access=True),
                    ),
                ),
            ),
        ),
    ],
)
def test_what_is_locked_cannot_be_changed_added_or_left_out(sent):
    found = breaches(PRESET, sent, {})
    assert found
    assert {each.code for each in found} == {"preset.locked"}


@pytest.mark.parametrize(
    ("name", "rule", "code"),
    [
        ("requests-9-name", {}, "preset.field"),
        ("namespace", {}, "preset.field"),
        (COUNT, {"min": "x"}, "preset.bound"),
        (COUNT, {"min": 4, "max": 1}, "preset.bounds"),
        (COUNT, {"min": 3}, "preset.default"),
        (COUNT, {"min": 1, "max": 4}, ""),
        (COUNT, {}, ""),
    ],
)
def test_rules_that_cannot_be_are_refused(name, rule, code):
    [parsed] = rules_of({name: rule}).values()
    assert rule_problem(to_fields(PRESET), name, parsed) == code

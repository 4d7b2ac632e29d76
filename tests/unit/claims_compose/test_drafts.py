"""Drafts: what a browser sends, what buttons do, what is wrong with it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from claims.domain.draft import (
    AlternativeDraft,
    ConstraintDraft,
    Draft,
    RequestDraft,
    TolerationDraft,
    from_fields,
    selector_at,
)
from claims.domain.edits import edited
from claims.domain.paths import field_of
from claims.domain.reading import read

CLASSES = {"gpu.example.com", "mig.example.com"}


def alternative(name="", **changes):
    return replace(
        AlternativeDraft(name=name, device_class="gpu.example.com"), **changes
    )


def draft_of(*alternatives, mode="exactly", **changes):
    draft = Draft(
        namespace="blue",
        name="trainer",
        requests=(RequestDraft("gpus", mode, alternatives or (alternative(),)),),
    )
    return replace(draft, **changes)


def found(draft):
    reading = read(draft, namespaces=["blue"], classes=CLASSES)
    return [(each.field, each.code) for each in reading.findings]


def test_a_plain_draft_is_a_claim():
    reading = read(draft_of(), namespaces=["blue"], classes=CLASSES)
    assert reading.findings == ()
    assert reading.is_claim


def test_fields_of_a_browser_become_the_draft():
    draft = from_fields(
        {
            "kind": ["ResourceClaim"],
            "namespace": ["blue"],
            "name": [" trainer "],
            "requests-0-name": ["gpus"],
            "requests-0-mode": ["firstAvailable"],
            "requests-0-alternatives-0-class": ["gpu.example.com"],
            "requests-0-alternatives-0-name": ["big"],
            "requests-0-alternatives-0-count": ["2"],
            "requests-0-alternatives-0-selectors-0": ["a &&\r\nb"],
            "requests-0-alternatives-0-selectors-1": [""],
            "requests-0-alternatives-0-capacity-0-key": ["memory"],
            "requests-0-alternatives-0-capacity-0-value": ["16Gi"],
            "requests-0-alternatives-0-capacity-1-key": ["cores"],
            "requests-0-alternatives-0-capacity-1-value": [""],
            "requests-0-alternatives-0-tolerations-0-operator": ["Exists"],
            "requests-0-alternatives-0-tolerations-0-effect": ["NoSchedule"],
            "constraints-0-kind": ["matchAttribute"],
            "constraints-0-attribute": ["gpu.example.com/rack"],
            "constraints-0-binds": ["0", "0/0", "nonsense"],
        }
    )
    assert draft == Draft(
        kind="ResourceClaim",
        namespace="blue",
        name="trainer",
        requests=(
            RequestDraft(
                "gpus",
                "firstAvailable",
                (
                    AlternativeDraft(
                        name="big",
                        device_class="gpu.example.com",
                        count="2",
                        selectors=("a &&\nb", ""),
                        capacity=(("memory", "16Gi"),),
                        tolerations=(TolerationDraft(effect="NoSchedule"),),
                    ),
                ),
            ),
        ),
        constraints=(
            ConstraintDraft("matchAttribute", "gpu.example.com/rack", ("0", "0/0")),
        ),
    )


def test_positions_are_closed_up_in_number_order():
    fields = {f"requests-{n}-name": [f"r{n}"] for n in (10, 2, 0)}
    assert [row.name for row in from_fields(fields).requests] == ["r0", "r2", "r10"]


@pytest.mark.parametrize(
    ("draft", "expected"),
    [
        (draft_of(name=""), ("name", "claim.no_name")),
        (draft_of(name="nvidia.com/gpu"), ("name", "name.slash")),
        (draft_of(name="a" * 254), ("name", "name.too_long")),
        (draft_of(name="Upper"), ("name", "name.shape_dots")),
        (draft_of(kind="Pod"), ("kind", "choice.unknown")),
        (draft_of(namespace=""), ("namespace", "namespace.empty")),
        (draft_of(namespace="red"), ("namespace", "namespace.not_yours")),
        (draft_of(requests=()), ("requests", "requests.none")),
        (
            draft_of(alternative(device_class="")),
            ("requests-0-alternatives-0-class", "class.empty"),
        ),
        (
            draft_of(alternative(device_class="none.example.com")),
            ("requests-0-alternatives-0-class", "class.missing"),
        ),
        *(
            (
                draft_of(alternative(count=text)),
                ("requests-0-alternatives-0-count", "count.range"),
            )
            for text in ("0", "33", "-1", "", "two", "1.5", "٣")
        ),
        (
            draft_of(alternative(capacity=(("memory", "16 GB"),))),
            ("requests-0-alternatives-0-capacity-memory", "capacity.quantity"),
        ),
        (
            draft_of(alternative(capacity=(("memory", "-1Gi"),))),
            ("requests-0-alternatives-0-capacity-memory", "capacity.negative"),
        ),
        (
            draft_of(alternative(selectors=("é" * 5121,))),
            ("requests-0-alternatives-0-selectors-0", "cel.too_long"),
        ),
        (
            draft_of(alternative(selectors=("a\x00b",))),
            ("requests-0-alternatives-0-selectors-0", "cel.unprintable"),
        ),
        (
            draft_of(alternative(admin_access=True)),
            ("justification", "admin.justification"),
        ),
        (
            draft_of(alternative("a", admin_access=True), mode="firstAvailable"),
            ("requests-0-alternatives-0-admin", "admin.alternative"),
        ),
        (
            draft_of(
                requests=tuple(
                    RequestDraft(f"r{n}", alternatives=(alternative(),))
                    for n in range(33)
                )
            ),
            ("requests-0-name", "paste.too_many"),
        ),
        (
            draft_of(alternative(selectors=("true",) * 33)),
            ("requests-0-alternatives-0-selectors-0", "paste.too_many"),
        ),
        (
            draft_of(alternative(tolerations=(TolerationDraft(),) * 17)),
            ("requests-0-alternatives-0-tolerations-0-key", "paste.too_many"),
        ),
        (
            draft_of(constraints=(ConstraintDraft(attribute="x.com/u"),) * 33),
            ("constraints-0-attribute", "paste.too_many"),
        ),
        (
            draft_of(alternative("a"), alternative("b")),
            ("requests-0-mode", "alternatives.exactly"),
        ),
        (
            draft_of(alternative("a"), alternative("a"), mode="firstAvailable"),
            ("requests-0-alternatives-1-name", "name.twice"),
        ),
        (
            draft_of(*(alternative(f"a{n}") for n in range(9)), mode="firstAvailable"),
            ("requests-0-mode", "alternatives.many"),
        ),
        (
            draft_of(alternative(tolerations=(TolerationDraft(operator="Equal"),))),
            ("requests-0-alternatives-0-tolerations-0-key", "toleration.key_needed"),
        ),
        (
            draft_of(constraints=(ConstraintDraft(attribute="uuid"),)),
            ("constraints-0-attribute", "attribute.shape"),
        ),
        (
            draft_of(constraints=(ConstraintDraft(attribute="x.com/u", binds=("4",)),)),
            ("constraints-0-binds", "binds.unknown"),
        ),
    ],
)
def test_what_is_wrong_is_said_beside_its_field(draft, expected):
    assert found(draft) == [expected]


def test_an_expression_of_exactly_the_limit_is_taken():
    assert found(draft_of(alternative(selectors=("x" * 10_240,)))) == []


def three():
    rows = (alternative("a"), alternative("b"), alternative("c"))
    binds = (ConstraintDraft(attribute="x.com/u", binds=("0", "0/0", "0/1", "0/2")),)
    return draft_of(*rows, mode="firstAvailable", constraints=binds)


def names(draft):
    return [row.name for row in draft.requests[0].alternatives]


@pytest.mark.parametrize(
    ("action", "left", "binds"),
    [
        ("up-alternative:0:1", ["b", "a", "c"], ("0", "0/1", "0/0", "0/2")),
        ("down-alternative:0:1", ["a", "c", "b"], ("0", "0/0", "0/2", "0/1")),
        ("up-alternative:0:0", ["a", "b", "c"], ("0", "0/0", "0/1", "0/2")),
        ("down-alternative:0:2", ["a", "b", "c"], ("0", "0/0", "0/1", "0/2")),
        ("remove-alternative:0:1", ["a", "c"], ("0", "0/0", "0/1")),
        ("remove-alternative:7:1", ["a", "b", "c"], ("0", "0/0", "0/1", "0/2")),
        ("remove-alternative:0", ["a", "b", "c"], ("0", "0/0", "0/1", "0/2")),
        ("remove-alternative:x:y", ["a", "b", "c"], ("0", "0/0", "0/1", "0/2")),
        ("explode", ["a", "b", "c"], ("0", "0/0", "0/1", "0/2")),
    ],
)
def test_constraints_follow_alternatives_that_move(action, left, binds):
    after = edited(three(), action)
    assert names(after) == left
    assert after.constraints[0].binds == binds


def test_constraints_follow_requests_that_are_removed():
    draft = edited(edited(three(), "add-request"), "add-request")
    draft = replace(
        draft,
        constraints=(ConstraintDraft(attribute="x.com/u", binds=("0/1", "1", "2")),),
    )
    after = edited(draft, "remove-request:0")
    assert len(after.requests) == 2
    assert after.constraints[0].binds == ("0", "1")


def test_what_is_added_is_capped_and_named_apart():
    draft = draft_of(alternative("alternative-2"), mode="firstAvailable")
    for _ in range(12):
        draft = edited(draft, "add-alternative:0")
    assert len(names(draft)) == 8
    assert len(set(names(draft))) == 8


def test_the_last_request_and_alternative_stay():
    draft = draft_of()
    assert edited(draft, "remove-request:0") == draft
    assert edited(draft, "remove-alternative:0:0") == draft


def test_a_second_alternative_makes_a_list_and_names_the_first():
    after = edited(draft_of(), "add-alternative:0")
    assert after.requests[0].mode == "firstAvailable"
    assert names(after) == ["alternative-1", "alternative-2"]


@pytest.mark.parametrize("part", ["selector", "toleration"])
def test_parts_are_added_and_removed(part):
    draft = draft_of()
    rows = f"{part}s"
    before = getattr(draft.requests[0].alternatives[0], rows)
    after = edited(draft, f"add-{part}:0:0")
    assert len(getattr(after.requests[0].alternatives[0], rows)) == len(before) + 1
    assert edited(after, f"remove-{part}:0:0:{len(before)}") == draft


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("metadata.name", "name"),
        ("metadata.labels", ""),
        (
            "spec.spec.devices.requests[0].exactly.selectors[0].cel.expression",
            "requests-0-alternatives-0-selectors-1",
        ),
        ("spec.devices.requests[0].adminAccess", "requests-0-alternatives-0-admin"),
        (
            "spec.devices.requests[0].firstAvailable[1].count",
            "requests-0-alternatives-1-count",
        ),
        (
            "spec.devices.requests[0].firstAvailable[1].name",
            "requests-0-alternatives-1-name",
        ),
        (
            "spec.devices.requests[0].exactly.capacity.requests[memory]",
            "requests-0-alternatives-0-capacity-memory",
        ),
        ("spec.devices.requests[0].name", "requests-0-name"),
        ("spec.devices.requests[9].name", ""),
        ("spec.devices.constraints[0].matchAttribute", "constraints-0-attribute"),
        ("spec.devices.constraints[0].requests[0]", "constraints-0-binds"),
        ("spec.devices.constraints[3].requests[0]", ""),
    ],
)
def test_the_servers_paths_find_their_fields(path, name):
    draft = draft_of(
        alternative("a", selectors=("  ", "true")),
        alternative("b"),
        mode="firstAvailable",
        constraints=(ConstraintDraft(),),
    )
    assert field_of(path, draft) == name


def test_a_selector_is_found_by_its_field():
    draft = draft_of(alternative(selectors=("one", "two")))
    assert selector_at(draft, "requests-0-alternatives-0-selectors-1") == (
        "gpu.example.com",
        "two",
    )
    assert selector_at(draft, "requests-0-alternatives-0-selectors-9") is None

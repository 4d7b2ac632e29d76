"""Proven changes: the smallest, really enough, and nobody else's names."""

from __future__ import annotations

import pytest

from claims.domain.preview import claim_of
from claims.domain.why.changes import Rank, applied
from claims.services.change_sentences import change_sentence, where_sentence
from claims.services.preview import preview
from claims.services.why_sentences import reason_sentence
from tests.integration.why.conftest import Case, holder, request, template

pytestmark = pytest.mark.django_db(transaction=True)

FULL = "nvidia-h100-full-8gpu"


def kinds(changes):
    return [each.change.rank if each.change else Rank.ENDING for each in changes]


def test_every_offered_change_fits_when_it_is_made(load_fleets):
    cluster = load_fleets(FULL)
    asked = template(
        request(
            "gpu",
            "gpu.nvidia.com",
            "device.capacity['gpu.nvidia.com'].memory.isGreaterThan(quantity('80Gi'))"
            " && device.attributes['gpu.nvidia.com'].architecture == 'Hopper'",
            count=2,
        )
    )

    _preview, _reasons, changes = Case(cluster).why(asked)

    assert changes
    for proven in changes:
        after = preview(cluster, [claim_of(applied(asked, proven.change))])
        assert tuple(after.fitting) == proven.nodes


def test_a_quantity_is_relaxed_to_one_that_is_published(load_fleets):
    asked = template(
        request(
            "gpu",
            "gpu.nvidia.com",
            "device.capacity['gpu.nvidia.com'].memory.isGreaterThan(quantity('80Gi'))"
            " && device.attributes['gpu.nvidia.com'].architecture == 'Hopper'",
        )
    )

    _preview, _reasons, (smallest, *_others) = Case(load_fleets(FULL)).why(asked)

    assert smallest.change.rank == Rank.RELAX
    assert smallest.change.new == (
        "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity(\"81559Mi\")) >= 0"
        " && device.attributes['gpu.nvidia.com'].architecture == 'Hopper'"
    )
    assert change_sentence(smallest) == "Relax selector 1 of gpu to memory ≥ 79.6Gi."
    assert where_sentence(smallest) == "Then it fits on gpu-h100-a."


def test_the_count_is_lowered_no_further_than_needed(load_fleets):
    held = [holder(f"h{n}", f"gpu-h100-a/gpu-{n}") for n in range(3)]

    _preview, _reasons, changes = Case(load_fleets(FULL, extra=held)).why(
        template(request(count=8))
    )

    assert (changes[0].change.old, changes[0].change.new) == (8, 5)


def test_the_capacity_is_lowered_to_what_is_left(load_fleets):
    shares = "hami-core-gpu-consumable"
    taken = [
        holder(
            f"h{n}",
            f"hami-a100/hami-gpu-{n}",
            driver="hami-core-gpu.project-hami.io",
            shareID=f"11111111-2222-4333-8444-55555555550{n}",
            consumedCapacity={"memory": f"{70 + n}Gi", "cores": "20"},
        )
        for n in range(2)
    ]
    asked = template(
        request(
            "gpu",
            "hami-core-gpu.project-hami.io",
            capacity={"requests": {"memory": "20Gi", "cores": "20"}},
        )
    )

    _preview, reasons, changes = Case(load_fleets(shares, extra=taken)).why(asked)

    assert "2 have too little memory left" in reason_sentence(
        reasons["hami-a100"].asks[0]
    )
    (first, *_others) = changes
    assert first.change.rank == Rank.CAPACITY
    assert first.change.path.endswith("exactly.capacity.requests[memory]")
    assert (first.change.old, first.change.new) == ("20Gi", "10Gi")


def test_a_claim_that_would_have_to_end_is_named_to_its_owner_only(load_fleets):
    held = [
        holder("mine", "gpu-h100-a/gpu-0", namespace="ai-serving"),
        *(
            holder(f"theirs-{n}", f"gpu-h100-a/gpu-{n}", namespace="maple-lab")
            for n in range(1, 8)
        ),
    ]
    case = Case(load_fleets(FULL, extra=held))
    asked = template(request(), namespace="ai-serving")
    hidden = frozenset({"maple-lab"})

    _preview, reasons, changes = case.why(asked, own=frozenset({"ai-serving"}))

    assert changes[0].ending == ("ai-serving", "mine")
    said = [change_sentence(each, hide=hidden) for each in changes]
    assert said[0] == "Wait: it fits as it is when the claim ai-serving/mine ends."
    assert "Wait: another tenant’s claim would free it when it ends." in said
    text = reason_sentence(reasons["gpu-h100-a"].asks[0], hide=hidden)
    assert "held by ai-serving/mine, 7 claims of others" in text
    assert "theirs" not in text + " ".join(said)


def test_the_constraint_that_cannot_be_met_is_blamed_and_offered(case):
    _preview, reasons, changes = case("27").why("gpu-cpu")

    blame = reasons["gpu-h100-a"].blame
    assert (blame.kind, blame.path) == (
        "constraint",
        "spec.spec.devices.constraints[0]",
    )
    assert kinds(changes) == [Rank.CONSTRAINT]


def test_requests_that_fit_only_alone_blame_each_other(load_fleets):
    cluster = load_fleets(FULL)
    asked = template(request("a", count=5), request("b", count=5))

    _preview, reasons, changes = Case(cluster).why(asked)

    assert reasons["gpu-h100-a"].blame.kind == "request"
    assert {each.change.new for each in changes if each.change} >= {3}


def test_where_it_fits_nothing_is_tried(load_fleets):
    found = Case(load_fleets(FULL)).why(template(request()))

    assert found[0].fitting == ["gpu-h100-a"]
    assert found[1:] == ({}, [])


def test_what_is_not_proven_in_time_is_not_shown(load_fleets):
    asked = template(request(count=9))

    _preview, _reasons, changes = Case(load_fleets(FULL)).why(asked, budget=0.0)

    assert changes == []


def test_a_taint_is_tolerated_where_that_is_enough(case):
    _preview, _reasons, changes = case("44").why("four-gpus")

    assert kinds(changes) == [Rank.COUNT, Rank.TOLERATE]
    assert changes[1].change.new == [{"operator": "Exists"}]


@pytest.mark.parametrize(
    ("number", "name", "wanted"),
    [
        ("01", "by-index", "Leave out selector 1 of gpu."),
        ("03", "flat-key", "Leave out selector 1 of gpu."),
        ("07", "driver-at-least", "Leave out selector 1 of gpu."),
        ("32", "all-h100", None),
    ],
)
def test_where_every_node_errs_what_fails_is_left_out(case, number, name, wanted):
    asked = case(number)

    preview, _reasons, changes = asked.why(name)

    assert preview.pod_error
    assert not preview.fitting
    said = [change_sentence(proven) for proven in changes]
    if wanted:
        assert wanted in said
    else:
        assert said == []


def test_only_the_condition_that_fails_is_left_out(case):
    asked = case("01")
    part = "device.attributes['gpu.nvidia.com'].index == 2"
    both = f"{part} && device.attributes['gpu.nvidia.com'].architecture == 'Hopper'"

    _preview, _reasons, changes = asked.why(
        template(request("gpu", "gpu.nvidia.com", both))
    )

    assert change_sentence(changes[0]) == (
        f"Leave the condition “{part}” out of selector 1 of gpu."
    )
    assert changes[0].nodes == ("gpu-h100-a",)


def test_a_claim_of_ones_own_that_would_have_to_end_is_called_so(case):
    asked = case("11")

    _preview, _reasons, changes = asked.why("three-g", own=frozenset({"team-orchid"}))
    ending = next(proven for proven in changes if proven.ending)

    own = frozenset({"team-orchid"})
    assert "of yours ends" in change_sentence(ending, own=own)
    assert "of yours" not in change_sentence(ending)
    assert "orchid" not in change_sentence(ending, hide=own)

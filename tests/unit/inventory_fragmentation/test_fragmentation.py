"""Severity, η and what still fits: by hand, and on recorded fleets."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.domain.fragmentation import (
    Efficiency,
    Piece,
    efficiency,
    fragmentation_of,
    severity,
)
from inventory.domain.needs import needs_of
from inventory.domain.quantity import GIB
from tests.unit.inventory_cards.fleets import DATA
from tests.unit.inventory_cards.test_occupancy import held

CARD = 80 * GIB


def cards(*largest: float | None, total: int | None = CARD) -> list[Piece]:
    """Return cards by the GiB of their largest free piece."""
    return [Piece(None if each is None else int(each * GIB), total) for each in largest]


def test_severity_of_the_guides_payload():
    payload = json.loads((DATA / "guides" / "000-systemone.json").read_text())
    seen = payload["state"]["cluster_resource_slices"]
    asked = payload["state"]["incoming_claim_spec"]["requested_count"]
    of = seen["total_hopper_gpus"]
    large, small = seen["gpus_with_32gi_free"], seen["gpus_with_16gi_free"]
    pieces = cards(*[32] * large, *[16] * (small - large), *[10] * (of - small))

    assert (of, large, small, asked) == (16, 0, 5, 2)
    assert severity(pieces, asked) == 1


@pytest.mark.parametrize(
    ("largest", "asked", "expected"),
    [
        ([40, 0], 1, 0),  # half of the cards is enough
        ([40, 0, 0], 1, 1),
        ([39.9, 39.9], 1, 1),
        ([40, 40, 0, 0], 9, 0),  # 0 is tested before the number that is asked
        ([0, 0], 1, 3),
        ([16, 0, 0], 2, 2),
        ([16, 16, 0], 2, 1),
        ([15.9, 10], 1, 2),
        ([5, 0, 0], 1, 2),  # a partition is left, so not 3
    ],
)
def test_severity_in_its_order(largest, asked, expected):
    assert severity(cards(*largest), asked) == expected


@pytest.mark.parametrize(
    ("largest", "expected"), [(24, 0), (12, 0), (11.9, 1), (4.81, 1), (4.79, 2), (0, 3)]
)
def test_severity_scales_below_80_gib(largest, expected):
    assert severity(cards(largest, total=24 * GIB)) == expected


def test_severity_does_not_scale_above_80_gib():
    assert severity(cards(40, total=192 * GIB)) == 0
    assert severity(cards(39, total=192 * GIB)) == 1


def test_severity_of_unknown_is_not_zero():
    assert severity([]) is None
    assert severity(cards(None, None)) is None
    assert severity(cards(0, 0, None)) == 2  # something is free, nobody knows its size
    assert severity(cards(40, None)) == 0


@given(
    st.lists(st.integers(0, 80), min_size=1, max_size=20),
    st.integers(0, 19),
    st.integers(1, 5),
)
def test_severity_falls_when_a_piece_grows(largest, index, asked):
    more = list(largest)
    more[index % len(more)] = 80

    assert severity(cards(*more), asked) <= severity(cards(*largest), asked)


def test_efficiency_of_whole_cards_for_small_jobs():
    found = efficiency([(CARD, 12 * GIB)] * 8)

    assert found.needed == 96 * GIB
    assert found.held == 640 * GIB
    assert found.percent == pytest.approx(15)
    assert found.stranded == 544 * GIB


def test_efficiency_leaves_out_what_nobody_says():
    found = efficiency([(CARD, 12 * GIB), (CARD, None), (CARD, 200 * GIB)])

    assert found == Efficiency(2, 1, 160 * GIB, 92 * GIB)
    assert efficiency([(CARD, None)]).eta is None
    assert efficiency([]).eta is None


def test_fragmentation_of_whole_cards_that_need_12_gib():
    fleet = "nvidia-h100-full-8gpu.yaml"
    names = [f"gpu-{n}" for n in range(8)]
    occupancies = held(fleet, *[{"device": name} for name in names])
    needs = {("a", f"c{n}", "gpu"): 12 * GIB for n in range(8)}

    found = fragmentation_of(occupancies, needs)

    assert found.severity == 3
    assert (found.whole.cards, found.whole.needed) == (8, 96 * GIB)
    assert found.whole.percent == pytest.approx(15.06, abs=0.01)  # 81559 MiB a card
    assert found.largest == 0


def test_fragmentation_counts_cards_by_profile():
    mig = [{"device": f"gpu-0-mig-1g10gb-19-{n}"} for n in (0, 2, 6)]

    found = fragmentation_of(held("nvidia-h100-dynamic-mig-k8s135.yaml", *mig), {})

    fits = {profile.name: profile.cards for profile in found.profiles}
    assert found.severity == 0  # the other card is whole
    assert fits["1g.10gb"] == 2
    assert fits["7g.80gb"] == 1
    assert found.profiles[0].name == "7g.80gb"


def test_fragmentation_within_a_class_asks_only_its_devices():
    mig = [{"device": "gpu-0-mig-1g10gb-19-0"}]
    occupancies = held("nvidia-h100-dynamic-mig-k8s135.yaml", *mig)
    wholes = {
        part.key for o in occupancies for part in o.card.parts if part.role == "whole"
    }

    whole = fragmentation_of(occupancies, {}, within=wholes)
    nothing = fragmentation_of(occupancies, {}, within=set())

    assert (whole.cards, whole.largest_cards, whole.profiles) == (2, 1, ())
    assert (nothing.cards, nothing.severity, nothing.largest) == (0, None, None)


def test_fragmentation_tells_slices_that_nothing_can_use():
    mig = [{"device": f"gpu-0-mig-1g10gb-19-{n}"} for n in range(7)]

    found = fragmentation_of(held("nvidia-h100-dynamic-mig-k8s135.yaml", *mig)[:1], {})

    assert found.severity == 3
    assert found.unplaced > 0


def test_fragmentation_of_unknown_memory():
    found = fragmentation_of(held("nvidia-gb10-uma-no-memory.yaml"), {})

    assert (found.cards, found.unknown_cards) == (1, 1)
    assert (found.severity, found.largest) == (None, None)


def cel(expression: str) -> dict:
    """Return a request with one selector."""
    return {
        "name": "gpu",
        "exactly": {"selectors": [{"cel": {"expression": expression}}]},
    }


MEMORY = "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('{}')) {}"


@pytest.mark.parametrize(
    ("request_", "need"),
    [
        ({"name": "gpu", "exactly": {"capacity": {"requests": {"memory": "12Gi"}}}}, 12),
        ({"name": "gpu", "exactly": {"capacity": {"requests": {"memory": "x"}}}}, None),
        ({"name": "gpu", "exactly": {}}, None),
        (cel(MEMORY.format("40Gi", ">= 0")), 40),
        (cel(MEMORY.format("40Gi", "<= 0")), None),
        (cel(MEMORY.format("40Gi", ">= 0") + " || true"), None),
        (cel("!(" + MEMORY.format("40Gi", ">= 0") + ")"), None),
        (cel("device.driver != 'x' && " + MEMORY.format("8Gi", ">= 0")), 8),
    ],
)  # fmt: skip
def test_needs_of(request_, need):
    assert needs_of([request_]) == {"gpu": need and need * GIB}


def test_needs_of_alternatives_by_their_names():
    first = {"name": "small", "capacity": {"requests": {"memory": "8Gi"}}}
    found = needs_of([{"name": "gpu", "firstAvailable": [first, {"name": "any"}]}])

    assert found == {"gpu/small": 8 * GIB, "gpu/any": None}
    assert needs_of(None) == needs_of([3, "x"]) == {}

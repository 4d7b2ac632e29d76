"""What is taken and what can still be had, on recorded fleets."""

from __future__ import annotations

from typing import Any

from inventory.domain.bars import Bar, bar_of, compute_bar_of
from inventory.domain.cards import derive_cards
from inventory.domain.gpus import DeviceFacts, Taint
from inventory.domain.holds import Hold
from inventory.domain.occupancy import Occupancy, occupancy_of
from tests.unit.inventory_cards.fleets import DATA, Fleet, documents

MIB = 1024**2
FLEETS = DATA / "fleets"


def held(fleet: str, *holds: dict[str, Any]) -> list[Occupancy]:
    """Return the cards of a fleet of which some devices are held."""
    loaded = Fleet(documents(FLEETS / fleet))
    for n, hold in enumerate(holds):
        defaults = {"namespace": "a", "claim": f"c{n}", "request": "gpu"}
        home = loaded.pools[hold.pop("at", 0)]
        loaded.holds.append(
            Hold(**{**defaults, "driver": home.driver, "pool": home.name, **hold})
        )
    return loaded.all()


def drawn(occupancy: Occupancy) -> Bar:
    """Return the bar of a card."""
    return bar_of(occupancy.card, occupancy.placements)


def bar(occupancy: Occupancy) -> list[tuple[str, int, str]]:
    """Return a bar as (state, whole units, label)."""
    return [(s.state, int(s.size), s.label) for s in drawn(occupancy).segments]


def states(occupancy: Occupancy, profile: str) -> dict[int, str]:
    """Return the state of each placement of a MIG profile by its first slice."""
    return {
        p.part.cells[0]: p.state
        for p in occupancy.placements
        if p.part.profile == profile
    }


def test_occupancy_of_fragmented_mig_draws_slices():
    case = documents(DATA / "cases" / "11-mig-fragmentation.yaml")
    mig = documents(FLEETS / "nvidia-h100-dynamic-mig-k8s135.yaml")

    first, _ = Fleet(mig + case).all()

    assert bar(first) == [
        ("taken", 1, "1g.10gb"),
        ("taken", 1, "1g.10gb"),
        ("free", 2, "2g.20gb"),
        ("free", 1, "1g.10gb"),
        ("taken", 1, "1g.10gb"),
        ("free", 2, "1g.20gb"),
    ]
    assert states(first, "3g.40gb") == {0: "blocked", 4: "blocked"}
    assert states(first, "2g.20gb") == {0: "blocked", 2: "possible", 4: "blocked"}
    assert (first.cells_taken, first.cells_unavailable) == (3, 0)
    assert first.largest == 20096 * MIB or first.largest == 19968 * MIB
    assert first.allocated == 3 * 9984 * MIB


def compute(occupancy: Occupancy) -> str:
    """Return the compute slices of a card, a letter of its state each."""
    drawn = compute_bar_of(occupancy.card, occupancy.placements)
    return "".join(segment.state[0] for segment in drawn.segments)


def test_occupancy_of_slot_without_placement_is_blocked():
    first, second = held(
        "nvidia-h100-dynamic-mig-k8s135.yaml", {"device": "gpu-0-mig-4g40gb-5-0"},
        {"device": "gpu-0-mig-2g20gb-14-4"}, {"device": "gpu-0-mig-1g10gb-19-6"},
    )  # fmt: skip

    # The memory slice that is left has no compute slice to go with it.
    assert compute(first) == "ttttttt"
    assert compute(second) == "fffffff"

    assert bar(first)[-1] == ("blocked", 1, "")
    assert drawn(first).blocked == 1
    assert (first.cells_unavailable, second.cells_unavailable) == (1, 0)
    assert first.largest == 0


def test_occupancy_of_administrative_hold_charges_nothing():
    cards = held("nvidia-h100-full-8gpu.yaml", {"device": "gpu-0", "admin": True})

    assert not cards[0].in_use
    assert cards[0].allocated == 0
    assert [hold.admin for hold in cards[0].holds] == [True]


def test_compute_slices_are_counted_by_profile():
    mig = "nvidia-h100-dynamic-mig-k8s135.yaml"
    some, _ = held(
        mig, {"device": "gpu-0-mig-3g40gb-9-4"}, {"device": "gpu-0-mig-1g10gb-19-0"}
    )
    whole, _ = held(mig, {"device": "gpu-0"})

    assert compute(some) == "ttttfff"
    assert compute(whole) == "ttttttt"


def test_static_partitions_have_the_compute_slices_that_they_were_given():
    cards = held(
        "nvidia-a100-80gb-static-mig-v25.8-double-advertised.yaml",
        {"device": "gpu-0-mig-9-4-4"},
    )
    # 3g.40gb, 2g.20gb and two 1g.10gb each.
    assert [compute(each) for each in cards] == ["tttffff", "fffffff"]


def test_cards_that_are_no_mig_have_no_compute_slices():
    for name in ("nvidia-h100-full-8gpu.yaml", "amd-mi300x-full.yaml"):
        for each in Fleet(documents(FLEETS / name)).all():
            assert compute_bar_of(each.card, each.placements) is None


def test_occupancy_of_shares_adds_up():
    share = {"consumed": (("memory", "16Gi"),), "device": "gpu-0"}
    cards = held("nvidia-h100-consumable-shares.yaml", dict(share), dict(share))

    assert cards[0].allocated == 32 * 1024 * MIB
    assert cards[0].largest == 81559 * MIB - 32 * 1024 * MIB
    assert [s.state for s in drawn(cards[0]).segments] == ["taken", "taken", "free"]


def test_occupancy_of_counted_shares_is_a_lower_bound():
    share = {"consumed": (("shares", "1"), ("memory", "0")), "device": "gpu-0", "at": 1}
    cards = held("nvidia-l40s-consumable-shares.yaml", dict(share), dict(share))
    card = next(o for o in cards if o.in_use)

    assert card.share_count == (2, 4)
    assert not card.metered
    assert [s.size / drawn(card).units for s in drawn(card).segments] == [
        0.25,
        0.25,
        0.5,
    ]


def test_occupancy_of_partitionable_share_charges_counters_once():
    case = documents(DATA / "cases" / "39-counters-plus-shared.yaml")
    fleet = documents(FLEETS / "example-gpu-partitionable-and-consumable.yaml")

    first, second = Fleet(fleet + case).all()
    by_name = {p.part.name: p.state for p in first.placements}

    assert by_name["gpu-0-partition-0"] == "blocked"
    assert by_name["gpu-0-full"] == "possible"
    assert first.allocated == 10 * 1024 * MIB
    assert first.largest == 70 * 1024 * MIB
    assert second.largest == 80 * 1024 * MIB


def test_occupancy_of_static_partitions_leaves_the_parent():
    first, second = held(
        "nvidia-a100-80gb-static-mig-v25.8-double-advertised.yaml",
        {"device": "gpu-0-mig-9-4-4"},
    )

    assert first.card.double_advertised
    assert bar(first)[-1] == ("taken", 4, "3g.40gb")
    assert first.allocated == 40192 * MIB
    assert first.largest == 19968 * MIB
    assert second.allocated == 0


def test_occupancy_of_passthrough_sibling_takes_the_card():
    first, second = held("nvidia-vfio-passthrough.yaml", {"device": "gpu-vfio-0"})

    assert first.available == 0
    assert first.allocated == first.card.total
    assert second.available == second.card.total


def test_occupancy_of_unknown_memory_is_never_zero():
    (card,) = held("nvidia-gb10-uma-no-memory.yaml", {"device": "gpu-0"})

    assert (card.card.total, card.allocated, card.available) == (None, None, None)
    assert card.in_use


def test_occupancy_of_tainted_card_is_unavailable():
    cards = held("nvidia-h100-health-taints.yaml")

    assert [o.usable for o in cards] == [True, False, True, False]
    assert [o.available for o in cards] == [81559 * MIB, 0, 81559 * MIB, 0]
    assert cards[1].unavailable == 81559 * MIB
    assert cards[1].reasons[0].taint == Taint("gpu.nvidia.com/xid", "79", "NoSchedule")


def amd_partitions(card: int, count: int) -> list[DeviceFacts]:
    return [
        DeviceFacts(
            "gpu.amd.com", "n", f"gpu-{card}-{index}", "n",
            {
                "gpu.amd.com/type": {"string": "amdgpu-partition"},
                "gpu.amd.com/parentPciAddr": {"string": f"0000:0{card}:00.0"},
                "gpu.amd.com/parentDeviceID": {"string": "29857"},
                "gpu.amd.com/partitionProfile": {"string": "cpx_nps4"},
            },
            {"gpu.amd.com/memory": {"value": "24Gi"}}, [],
        )
        for index in range(count)
    ]  # fmt: skip


def test_derive_cards_joins_amd_partitions_by_parent():
    cards = derive_cards([*amd_partitions(1, 8), *amd_partitions(2, 8)], [])

    assert [card.total for card in cards] == [8 * 24 * 1024 * MIB] * 2
    assert not any(card.at_least for card in cards)


def test_occupancy_of_amd_partitions_draws_each():
    (card,) = derive_cards(amd_partitions(1, 4), [])
    hold = Hold("a", "c", "r", "gpu.amd.com", "n", "gpu-1-1")

    occupancy = occupancy_of(card, [hold])

    assert [s.state for s in drawn(occupancy).segments] == [
        "free",
        "taken",
        "free",
        "free",
    ]
    assert occupancy.available == 3 * 24 * 1024 * MIB


def test_derive_cards_joins_two_drivers_on_one_node():
    nvidia = DeviceFacts(
        "gpu.nvidia.com", "n", "gpu-0", "n",
        {"gpu.nvidia.com/type": {"string": "gpu"},
         "resource.kubernetes.io/pciBusID": {"string": "0000:61:00.0"}},
        {"gpu.nvidia.com/memory": {"value": "81920Mi"}}, [],
    )  # fmt: skip
    hami = DeviceFacts(
        "hami-core-gpu.project-hami.io", "n", "hami-gpu-0", "n",
        {"hami-core-gpu.project-hami.io/type": {"string": "hami-gpu"},
         "hami-core-gpu.project-hami.io/pcieBusID": {"string": "0000:61:00.0"}},
        {"hami-core-gpu.project-hami.io/memory": {"value": "80Gi"}}, [], shared=True,
    )  # fmt: skip

    (card,) = derive_cards([nvidia, hami], [])

    assert card.total == 80 * 1024 * MIB
    assert len(card.pools) == 2


def test_derive_cards_joins_static_partitions_by_parent_uuid_alone():
    parent = DeviceFacts(
        "gpu.nvidia.com", "n", "gpu-0", "n",
        {"gpu.nvidia.com/type": "gpu", "gpu.nvidia.com/uuid": "GPU-1"},
        {"gpu.nvidia.com/memory": {"value": "80Gi"}}, [],
    )  # fmt: skip
    child = DeviceFacts(
        "gpu.nvidia.com", "n", "gpu-0-mig-9-4-4", "n",
        {"gpu.nvidia.com/type": "mig", "gpu.nvidia.com/uuid": "MIG-1",
         "gpu.nvidia.com/parentUUID": "GPU-1"},
        {"gpu.nvidia.com/memory": {"value": "40192Mi"}}, [],
    )  # fmt: skip

    (card,) = derive_cards([parent, child], [])

    assert card.total == 80 * 1024 * MIB


def test_derive_cards_takes_a_memory_of_zero_as_unknown():
    cards = Fleet(documents(FLEETS / "intel-gpu.yaml")).cards

    assert [card.parts[0].memory is None for card in cards] == [
        True,
        False,
        False,
        False,
    ]

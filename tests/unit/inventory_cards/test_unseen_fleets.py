"""Fleets of the same drivers that were never recorded: each card once, too."""

from __future__ import annotations

from typing import Any

import pytest

from inventory.domain.cards import Card, derive_cards
from inventory.domain.gpus import CounterSet, DeviceFacts, amounts
from inventory.domain.occupancy import occupancy_of
from inventory.domain.topology import groups_of

MIB = 2**20
NVIDIA, AMD, INTEL = "gpu.nvidia.com", "gpu.amd.com", "gpu.intel.com"
HAMI = "hami-core-gpu.project-hami.io"
PCI = "resource.kubernetes.io/pciBusID"
ROOT = "resource.kubernetes.io/pcieRoot"
NUMA = "resource.kubernetes.io/numaNode"


def device(
    driver: str,
    name: str,
    attributes: dict[str, Any],
    memory: str = "",
    *,
    node: str = "n",
    shared: bool = False,
    counters: tuple[dict[str, Any], ...] = (),
) -> DeviceFacts:
    def entry(value: Any) -> dict[str, Any]:
        kinds = {str: "string", int: "int", list: "strings"}
        return {kinds[type(value)]: value}

    keys = {
        key if "/" in key else f"{driver}/{key}": entry(value)
        for key, value in attributes.items()
    }
    capacity = {f"{driver}/memory": {"value": memory}} if memory else {}
    return DeviceFacts(
        driver, "pool" if node == "n" else node, name, node, keys, capacity,
        list(counters), (), shared,
    )  # fmt: skip


def mig(
    number: int, slices: int, profiles: list[tuple[str, int, str, list[int]]], whole=""
) -> tuple[list[DeviceFacts], CounterSet]:
    """Return the rows of a card with dynamic MIG, and its counter set.

    Args:
        number: its minor.
        slices: how many memory slices it has.
        profiles: (name, slices, memory, the slices at which one may begin).
        whole: the memory of the whole GPU, where its driver publishes it.
    """
    name = f"gpu-{number}-counter-set"
    total = max((memory for _n, _s, memory, _at in profiles), key=_mib)

    def uses(memory: str, cells: range) -> tuple[dict[str, Any], ...]:
        counters = {"memory": {"value": memory}}
        counters |= {f"memory-slice-{i}": {"value": "1"} for i in cells}
        return ({"counterSet": name, "counters": counters},)

    rows = [
        device(
            NVIDIA,
            f"gpu-{number}-mig-{profile.replace('.', '')}-{begin}",
            {"type": "mig", "profile": profile, "parentUUID": f"GPU-{number}"},
            memory,
            counters=uses(memory, range(begin, begin + size)),
        )
        for profile, size, memory, starts in profiles
        for begin in starts
    ]
    if whole:
        facts = {"type": "gpu", "uuid": f"GPU-{number}"}
        rows.insert(
            0,
            device(NVIDIA, f"gpu-{number}", facts, whole,
                   counters=uses(total, range(slices))),
        )  # fmt: skip
    cells = uses(total, range(slices))[0]["counters"]
    return rows, CounterSet(NVIDIA, "pool", name, "n", amounts(cells))


def _mib(memory: str) -> int:
    return int(memory.removesuffix("Mi"))


A30 = [
    ("1g.6gb", 1, "5952Mi", [0, 1, 2, 3]),
    ("2g.12gb", 2, "11968Mi", [0, 2]),
    ("4g.24gb", 4, "24060Mi", [0]),
]
H200 = [
    ("1g.18gb", 1, "16384Mi", list(range(7))),
    ("3g.71gb", 4, "71680Mi", [0, 4]),
    ("7g.141gb", 8, "143360Mi", [0]),
]


def totals(cards: list[Card]) -> list[int | None]:
    return [card.total and card.total // MIB for card in cards]


@pytest.mark.parametrize("whole", ["", "24060Mi"])
def test_another_mig_layout_has_its_own_slices(whole):
    first, second = mig(0, 4, A30, whole), mig(1, 4, A30, whole)

    cards = derive_cards(first[0] + second[0], [first[1], second[1]])

    assert totals(cards) == [24060, 24060]
    assert [card.cell_count for card in cards] == [4, 4]
    assert {card.kind for card in cards} == {"dynamic"}
    assert not any(card.at_least or card.double_advertised for card in cards)


def test_eight_cards_of_another_size_in_several_counter_sets():
    made = [mig(number, 8, H200, "143360Mi") for number in range(8)]

    cards = derive_cards([d for rows, _ in made for d in rows], [s for _, s in made])

    assert totals(cards) == [143360] * 8
    occupancy = occupancy_of(cards[0], [])
    assert occupancy.largest == 143360 * MIB


def test_counters_that_were_not_seen_leave_a_lower_bound():
    rows, _unseen = mig(0, 4, A30)

    (card,) = derive_cards(rows[:4], [])

    assert card.total == 5952 * MIB
    assert card.at_least


def test_old_partitions_are_joined_by_the_parents_index():
    parent = device(NVIDIA, "gpu-0", {"type": "gpu", "index": 0}, "40Gi")
    other = device(NVIDIA, "gpu-1", {"type": "gpu", "index": 1}, "40Gi")
    pieces = [
        device(NVIDIA, f"gpu-0-mig-9-{n}-4", {"type": "mig", "parentIndex": 0,
               "profile": "3g.20gb", "uuid": f"MIG-{n}"}, "19968Mi")
        for n in (0, 4)
    ]  # fmt: skip

    cards = derive_cards([parent, other, *pieces], [])

    assert totals(cards) == [40960, 40960]
    assert [len(card.parts) for card in cards] == [3, 1]


def test_partitions_without_a_parent_may_not_cover_their_card():
    facts = {"type": "mig", "profile": "3g.40gb", "parentUUID": "GPU-9"}
    rows = [device(NVIDIA, f"gpu-0-mig-9-{n}-4", facts, "40192Mi") for n in (0, 4)]

    (card,) = derive_cards(rows, [])

    assert (card.total, card.at_least) == (2 * 40192 * MIB, True)


@pytest.mark.parametrize(
    "address", ["00000000:1B:00.0", "0000:1b:00.0", "0000:1B:00.0"]
)
def test_a_passthrough_sibling_is_joined_however_its_address_is_written(address):
    gpu = device(NVIDIA, "gpu-0", {"type": "gpu", "pcieBusID": address}, "80Gi")
    vfio = device(NVIDIA, "gpu-vfio-0", {"type": "vfio", PCI: "0000:1b:00.0",
                                         "uuid": "5d0e"})  # fmt: skip

    (card,) = derive_cards([gpu, vfio], [])

    assert card.total == 80 * 1024 * MIB
    assert card.addresses == ("0000:1b:00.0",)


def test_a_card_that_is_only_passed_through_has_no_known_memory():
    row = device(NVIDIA, "gpu-vfio-0", {"type": "vfio", PCI: "0000:1b:00.0"})

    (card,) = derive_cards([row], [])

    assert card.total is None
    assert card.uuids == ()


def intel(function: int, bus: str, kind: str, memory: str) -> DeviceFacts:
    address = f"0000:{bus}:00.{function}"
    facts = {"type": kind, "model": "Flex 170", PCI: address}
    return device(INTEL, f"0000-{bus}-00-{function}-0x56c0", facts, memory)


def test_virtual_functions_are_parts_of_their_physical_one():
    rows = [intel(n, bus, "vf", "4Gi") for bus in ("4d", "89") for n in (1, 2, 3)]
    heads = [intel(0, bus, "gpu", "16Gi") for bus in ("4d", "89")]

    cards = derive_cards([*rows, *heads], [])

    assert totals(cards) == [16 * 1024] * 2
    assert [len(card.parts) for card in cards] == [4, 4]


def test_virtual_functions_alone_are_a_lower_bound():
    (card,) = derive_cards([intel(n, "4d", "vf", "4Gi") for n in (1, 2)], [])

    assert (card.total, card.at_least) == (8 * 2**30, True)


def test_physical_functions_on_one_bus_stay_apart():
    rows = [intel(n, "00", "gpu", "16Gi") for n in (0, 1)]

    assert totals(derive_cards(rows, [])) == [16 * 1024] * 2


@pytest.mark.parametrize(("mode", "count", "memory"), [
    ("dpx_nps1", 2, "98296Mi"), ("qpx_nps1", 4, "49148Mi"), ("cpx_nps4", 8, "24574Mi"),
])  # fmt: skip
def test_amd_modes_cover_their_card(mode, count, memory):
    rows = [
        device(AMD, f"gpu-{card * 8 + n}-{128 + card * 8 + n}",
               {"type": "amdgpu-partition", "partitionProfile": mode,
                "parentPciAddr": f"0000:0{card}:00.0", "parentDeviceID": "29857"},
               memory)
        for card in (1, 2) for n in range(count)
    ]  # fmt: skip

    cards = derive_cards(rows, [])

    assert totals(cards) == [_mib(memory) * count] * 2
    assert not any(card.at_least for card in cards)


def test_amd_whole_and_partitioned_cards_on_one_node():
    whole = device(AMD, "gpu-0-128", {"type": "amdgpu", "pciAddr": "0000:01:00.0",
                                      "deviceID": "1"}, "192Gi")  # fmt: skip
    pieces = [
        device(AMD, f"gpu-{n}-{128 + n}", {"type": "amdgpu-partition",
               "parentPciAddr": "0000:02:00.0", "partitionProfile": "cpx_nps4"}, "24Gi")
        for n in range(1, 9)
    ]  # fmt: skip

    assert totals(derive_cards([whole, *pieces], [])) == [192 * 1024] * 2


@pytest.mark.parametrize("common", [{"uuid": "GPU-1"}, {PCI: "0000:61:00.0"}])
def test_two_drivers_of_one_card_are_one_card(common):
    rows = [
        device(NVIDIA, "gpu-0", {"type": "gpu", **common}, "81559Mi"),
        device(HAMI, "hami-gpu-0", {"type": "hami-gpu", **common}, "81559Mi", shared=True),
    ]  # fmt: skip

    (card,) = derive_cards(rows, [])

    assert card.total == 81559 * MIB
    assert card.kind == "shares"


@pytest.mark.parametrize("memory", ["", "0"])
def test_memory_shared_with_the_system_is_unknown(memory):
    row = device(NVIDIA, "gpu-0", {"type": "gpu", "productName": "NVIDIA GB10"}, memory)

    (card,) = derive_cards([row], [])

    assert card.total is None
    assert occupancy_of(card, []).available is None


def test_equal_addresses_on_two_nodes_are_two_cards():
    rows = [
        device(NVIDIA, "gpu-0", {"type": "gpu", PCI: "0000:1b:00.0"}, "80Gi", node=node)
        for node in ("a", "b")
    ]

    assert len(derive_cards(rows, [])) == 2


def test_topology_takes_lists_numbers_and_what_links_nodes():
    rows = [
        device(NVIDIA, f"gpu-{n}", {"type": "gpu", ROOT: root, NUMA: n // 2,
               "cliqueID": "c.1", "cuda": "x"}, "80Gi")
        for n, root in enumerate(["pci0000:15", ["pci0000:15", "pci0000:26"], "pci0000:26"])
    ]  # fmt: skip

    groups = groups_of(derive_cards(rows, []))

    assert [(g.kind, g.value, g.cards) for g in groups] == [
        ("link", "c.1", ("gpu-0", "gpu-1", "gpu-2")),
        ("numa", "0", ("gpu-0", "gpu-1")),
        ("numa", "1", ("gpu-2",)),
        ("pcie", "pci0000:15", ("gpu-0", "gpu-1")),
        ("pcie", "pci0000:26", ("gpu-1", "gpu-2")),
    ]

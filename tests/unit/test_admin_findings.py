"""What is said of monitors: requests with adminAccess."""

from __future__ import annotations

from dataclasses import replace

import pytest

from claims.domain.checks.admin import admin_findings
from claims.domain.checks.facts import AskFacts, Facts
from claims.domain.checks.world import build_world
from tests.unit.why_worlds import asked, device, exact, held, node, resource_slice

GATES = ("DRAAdminAccess", "DRAConsumableCapacity", "DRAPartitionableDevices")
SHARED = {"allowMultipleAllocations": True}
HALF = {"consumedCapacity": {"memory": "80Gi"}, "shareID": "s"}


def found(world, *requests):
    """Return the codes that requests with adminAccess come to, all devices matching."""
    claim = asked(*(exact(name, adminAccess=True) for name in requests))
    every = frozenset(world.devices)
    facts = Facts({ask.name: AskFacts(every, every) for ask in claim.asks})
    codes = [each.code for each in admin_findings(claim, facts, world)]
    return [code for code in codes if code != "admin.namespace_label"]


def world_of(*objects):
    return build_world([node("n"), *objects], minor=37, gates=GATES)


@pytest.mark.parametrize(
    ("admin", "codes"), [(False, ["admin.capacity_exhausted"]), (True, [])]
)
def test_what_another_monitor_has_of_a_device_takes_nothing_away(admin, codes):
    holder = held("a", "d", adminAccess=admin, **HALF)

    assert found(world_of(resource_slice("s", device("d", **SHARED)), holder), "r") == (
        codes
    )


@pytest.mark.parametrize(
    ("more", "codes"), [({}, ["admin.counters_exhausted"]), (SHARED, [])]
)
def test_a_device_of_which_a_share_is_held_has_its_counters_already(more, codes):
    counters = {"m": {"value": "1"}}
    both = device(
        "d", consumesCounters=[{"counterSet": "c", "counters": counters}], **more
    )
    card = resource_slice(
        "c", count=2, sharedCounters=[{"name": "c", "counters": counters}]
    )
    share = held("a", "d", consumedCapacity={"memory": "0"}, shareID="s")
    world = world_of(card, resource_slice("s", both, count=2), share)

    assert [code for code in found(world, "r") if "counters" in code] == codes


def on(name):
    """Return a node selector that selects one node by its label."""
    term = {"matchExpressions": [{"key": "l", "operator": "In", "values": [name]}]}
    return {"nodeSelectorTerms": [term]}


def test_devices_of_node_selectors_are_those_of_their_nodes():
    nodes = [node(name, l=name) for name in "ab"]
    slices = [resource_slice(n, device("d"), pool=n, nodeSelector=on(n)) for n in "ab"]

    assert found(world_of(*nodes, *slices), "one", "two") == ["admin.same_device_twice"]
    assert found(world_of(*nodes, *slices), "one") == []


class Counting(dict):
    """A mapping that counts how often it is read."""

    reads = 0

    def __getitem__(self, key):
        self.reads += 1
        return super().__getitem__(key)


def test_every_node_is_asked_for_its_own_devices_alone():
    names = [f"n{i}" for i in range(60)]
    world = world_of(
        *(node(name) for name in names),
        *(resource_slice(n, device("d"), pool=n, nodeName=n) for n in names),
    )
    counting = Counting(world.devices)

    codes = found(replace(world, devices=counting), "one", "two")

    assert codes == ["admin.same_device_twice"]
    assert counting.reads < 20 * len(names)

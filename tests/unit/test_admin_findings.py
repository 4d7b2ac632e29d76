"""What is said of monitors: requests with adminAccess."""

from __future__ import annotations

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

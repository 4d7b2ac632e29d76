"""Devices of the same capacity are asked once, however many there are."""

from __future__ import annotations

import pytest

from claims.domain.checks import claims
from claims.domain.checks.asks import asked_of
from claims.domain.checks.capacity import Alike
from claims.domain.checks.facts import AskFacts, Facts
from claims.domain.checks.world import build_world

MANY = 600


@pytest.fixture
def world():
    def device(i):
        memory = "80Gi" if i % 2 else "40Gi"
        return {
            "name": f"d{i:04}",
            "allowMultipleAllocations": True,
            "capacity": {"memory": {"value": memory}},
        }

    spec = {
        "driver": "gpu.example.com",
        "nodeName": "n1",
        "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
        "devices": [device(i) for i in range(MANY)],
    }
    body = {"kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec}
    return build_world([body], minor=37, gates=["DRAConsumableCapacity"])


def test_one_device_of_each_kind_is_taken(world):
    assert Alike(world).some(frozenset(world.devices)) == [
        "gpu.example.com/n1/d0000",
        "gpu.example.com/n1/d0001",
    ]


def test_whether_shares_go_together_is_asked_of_each_kind_once(world, monkeypatch):
    asked = asked_of(
        {
            "kind": "ResourceClaim",
            "spec": {
                "devices": {
                    "requests": [
                        {
                            "name": name,
                            "exactly": {
                                "deviceClassName": "shares",
                                "capacity": {"requests": {"memory": "60Gi"}},
                            },
                        }
                        for name in ("r", "s")
                    ]
                }
            },
        }
    )
    everything = frozenset(world.devices)
    facts = Facts({ask.name: AskFacts(everything, everything) for ask in asked.asks})
    real, calls = claims.can_share, []

    def counting(*arguments):
        calls.append(arguments)
        return real(*arguments)

    monkeypatch.setattr(claims, "can_share", counting)

    assert list(claims.distinct_findings(asked, facts, world)) == []
    assert len(calls) == 2

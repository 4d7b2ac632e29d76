"""What walks have found, each by itself, so that it stays known."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from claims.services.preview import preview
from tests.agreement import claims, fleets
from tests.agreement.conftest import OLDEST, SETTINGS
from tests.agreement.reading import read
from tests.cluster.client import Object, Refused
from tests.cluster.controlplane import ControlPlane
from tests.contract import objects

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]
OLD_WITH_GATES = SETTINGS[-1]
NODE = "two-pools"


@pytest.fixture
def plane() -> Iterator[ControlPlane]:
    """Start 1.34 with its gates on, and one node with two pools of two cards each."""
    setting = OLD_WITH_GATES
    with ControlPlane(
        OLDEST, gates=setting.gates, runtime_config=setting.served
    ) as plane:
        plane.apply([objects.namespace(claims.NAMESPACE)])
        plane.apply(fleets.classes(setting.features))
        plane.add_node(NODE)
        plane.apply([_slice(pool) for pool in ("first", "second")])
        yield plane


def _slice(pool: str) -> Object:
    plain = fleets.Features(34, shares=False, counters=False, taints=False)
    (made,) = fleets.whole_cards(Random(1), NODE, plain, count=2)
    made["metadata"]["name"] = pool
    made["spec"]["pool"]["name"] = pool
    return made


def _claim(name: str, count: int) -> Object:
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu", "count": count}}
    return objects.claim(name, claims.NAMESPACE, request)


def test_three_of_small_slices_crash_the_scheduler_of_1_34(plane, row, eventually):
    """With DRAConsumableCapacity on, its allocator takes a request's third device for
    the third of a slice, and panics where a slice has two; kube-scheduler goes with it.
    """
    cluster = row(plane, OLD_WITH_GATES)
    read(cluster)

    said = preview(cluster, [_claim("three", 3)]).nodes[NODE]
    assert said.outcome == "error"
    assert "index out of range" in said.message
    assert preview(cluster, [_claim("two", 2)]).nodes[NODE].outcome == "fits"

    plane.admin.create(_claim("three", 3))
    bad = plane.admin.create(claims.pod("bad", ["three"], None))
    eventually(plane.ended)
    assert plane.ended() == ["kube-scheduler"]
    assert "index out of range" in plane.log("kube-scheduler")

    plane.admin.delete({"kind": "Pod", **bad}, {"gracePeriodSeconds": 0})
    plane.revive()
    plane.admin.create(_claim("two", 2))
    plane.admin.create(claims.pod("good", ["two"], None))

    def bound() -> bool:
        try:
            pod = plane.admin.get("Pod", "good", claims.NAMESPACE)
        except Refused:
            return False
        return bool(pod["spec"].get("nodeName"))

    eventually(bound)

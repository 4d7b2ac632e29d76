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
TRIES = 60


# Slices of a pool each, on a node of their own, of so many cards.
NODES = {NODE: {"first": 2, "second": 2}, "three-pools": {"a": 2, "b": 5, "c": 1}}


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """Start 1.34 with its gates on, and nodes with pools of few cards."""
    setting = OLD_WITH_GATES
    with ControlPlane(
        OLDEST, gates=setting.gates, runtime_config=setting.served
    ) as plane:
        plane.apply([objects.namespace(claims.NAMESPACE)])
        plane.apply(fleets.classes(setting.features))
        for node, pools in NODES.items():
            plane.add_node(node)
            plane.apply([_slice(node, pool, pools[pool]) for pool in pools])
        yield plane


def _slice(node: str, pool: str, count: int) -> Object:
    plain = fleets.Features(34, shares=False, counters=False, taints=False)
    (made,) = fleets.whole_cards(Random(1), node, plain, count=count)
    made["metadata"]["name"] = pool
    made["spec"]["pool"]["name"] = pool
    for index, card in enumerate(made["spec"]["devices"]):
        card["attributes"]["spare"] = {"bool": pool == "a" and index == 1}
    return made


def _claim(name: str, count: int, *selectors: str) -> Object:
    exactly: Object = {"deviceClassName": "gpu", "count": count}
    if selectors:
        exactly["selectors"] = [{"cel": {"expression": each}} for each in selectors]
    request = {"name": "gpu", "exactly": exactly}
    return objects.claim(name, claims.NAMESPACE, request)


def _delete(plane: ControlPlane, kind: str, name: str) -> None:
    metadata = {"name": name, "namespace": claims.NAMESPACE}
    plane.admin.delete({"kind": kind, "metadata": metadata}, {"gracePeriodSeconds": 0})


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
    plane.admin.create(claims.pod("bad", ["three"], NODE))
    eventually(plane.ended)
    assert plane.ended() == ["kube-scheduler"]
    assert "index out of range" in plane.log("kube-scheduler")

    _delete(plane, "Pod", "bad")
    plane.revive()
    plane.admin.create(_claim("two", 2))
    plane.admin.create(claims.pod("good", ["two"], NODE))
    eventually(lambda: _is_bound(plane, "good"))


def _is_bound(plane: ControlPlane, name: str) -> bool:
    try:
        pod = plane.admin.get("Pod", name, claims.NAMESPACE)
    except Refused:
        return False
    return bool(pod["spec"].get("nodeName"))


def _claims(plane: ControlPlane) -> set[str]:
    items = plane.admin.list("ResourceClaim", claims.NAMESPACE)["items"]
    return {each["metadata"]["name"] for each in items}


def test_a_crash_that_hangs_on_the_order_of_pools_is_told_where_it_fits(
    plane, row, eventually
):
    """The second of two devices may be that of pool c's one-device slice, and then it
    panics: where pools come as a, c, b, of which the engine's own order is none.
    """
    node, chosen = "three-pools", f'!device.attributes["{fleets.GPU}"].spare'
    # The scheduler has them as they come, each time from another one on.
    for pool in NODES[node]:
        plane.admin.delete({"kind": "ResourceSlice", "metadata": {"name": pool}})
    plane.apply([_slice(node, pool, NODES[node][pool]) for pool in "acb"])
    cluster = row(plane, OLD_WITH_GATES)
    read(cluster)

    said = preview(cluster, [_claim("some", 2, chosen)]).nodes[node]
    assert said.outcome == "fits"
    assert "index out of range" in said.crash

    ended: list[str] = []
    for _ in range(TRIES):
        plane.admin.create(_claim("some", 2, chosen))
        plane.admin.create(claims.pod("some", ["some"], node))
        eventually(lambda: _is_bound(plane, "some") or plane.ended())
        ended = plane.ended()
        _delete(plane, "Pod", "some")
        _delete(plane, "ResourceClaim", "some")
        if ended:
            break
        eventually(lambda: "some" not in _claims(plane))
    assert ended == ["kube-scheduler"]
    plane.revive()

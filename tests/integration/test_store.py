from __future__ import annotations

import copy

import pytest
from django.db import connection

from inventory.domain.changes import Change, change_of
from inventory.models import Allocation, Cluster, Device, KubeObject, Pool
from inventory.services.store import (
    MANY,
    TooMuchChange,
    apply_changes,
    replace_kinds,
)

pytestmark = pytest.mark.django_db


def a_slice(name="s1", *, node="n1", pool="p1", version="1", devices=2, generation=1):
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": version},
        "spec": {
            "driver": "gpu.nvidia.com",
            "nodeName": node,
            "pool": {"name": pool, "generation": generation, "resourceSliceCount": 1},
            "devices": [
                {
                    "name": f"gpu-{i}",
                    "attributes": {"type": {"string": "gpu"}},
                    "capacity": {"memory": {"value": "80Gi"}},
                }
                for i in range(devices)
            ],
        },
    }


def a_claim(name="c1", device="gpu-0", version="1"):
    result = {
        "request": "r",
        "driver": "gpu.nvidia.com",
        "pool": "p1",
        "device": device,
    }
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {
            "name": name,
            "namespace": "ns",
            "uid": name,
            "resourceVersion": version,
        },
        "status": {"allocation": {"devices": {"results": [result]}}},
    }


@pytest.fixture
def cluster(now):
    return Cluster.objects.create(name="c", kind="live", kubernetes_version="1.37.2")


def test_apply_changes_derives_pool_devices_and_allocations(cluster, now):
    revision = apply_changes(cluster, map(change_of, [a_slice(), a_claim()]), now=now)

    assert revision == 1
    assert Pool.objects.get().verdict == "complete"
    assert list(
        Device.objects.order_by("name").values_list("name", "memory_bytes")
    ) == [
        ("gpu-0", 80 * 2**30),
        ("gpu-1", 80 * 2**30),
    ]
    assert Allocation.objects.get().device == "gpu-0"
    assert set(KubeObject.objects.values_list("revision", flat=True)) == {1}


def test_apply_changes_skips_what_is_already_stored(cluster, now):
    apply_changes(cluster, [change_of(a_slice())], now=now)

    assert apply_changes(cluster, [change_of(a_slice())], now=now) == 1


def test_apply_changes_replaces_devices_of_a_changed_slice(cluster, now):
    apply_changes(cluster, [change_of(a_slice())], now=now)

    revision = apply_changes(
        cluster, [change_of(a_slice(version="2", devices=3))], now=now
    )

    assert revision == 2
    assert Device.objects.count() == 3


def test_apply_changes_keeps_a_tombstone_and_the_allocation(cluster, now):
    apply_changes(cluster, map(change_of, [a_slice(), a_claim()]), now=now)

    apply_changes(cluster, [Change("ResourceSlice", "", "s1", None)], now=now)

    assert not Device.objects.exists()
    assert not Pool.objects.exists()
    assert Allocation.objects.get().device == "gpu-0"
    gone = KubeObject.objects.get(kind="ResourceSlice")
    assert (gone.deleted_at, gone.revision, gone.body) == (now, 2, {})


def test_apply_changes_brings_a_slice_back(cluster, now):
    apply_changes(cluster, [change_of(a_slice())], now=now)
    apply_changes(cluster, [Change("ResourceSlice", "", "s1", None)], now=now)

    apply_changes(cluster, [change_of(a_slice())], now=now)

    assert Device.objects.count() == 2
    assert KubeObject.objects.get().deleted_at is None


def test_apply_changes_moves_a_slice_between_pools(cluster, now):
    apply_changes(cluster, [change_of(a_slice())], now=now)

    apply_changes(cluster, [change_of(a_slice(version="2", pool="p2"))], now=now)

    assert Pool.objects.get().name == "p2"
    assert set(Device.objects.values_list("pool", flat=True)) == {"p2"}


def test_apply_changes_of_an_unallocated_claim_drops_its_allocations(cluster, now):
    apply_changes(cluster, [change_of(a_claim())], now=now)
    freed = copy.deepcopy(a_claim(version="2"))
    freed["status"] = {}

    apply_changes(cluster, [change_of(freed)], now=now)

    assert not Allocation.objects.exists()


def test_replace_kinds_buries_what_is_not_listed(cluster, now):
    apply_changes(
        cluster,
        map(change_of, [a_slice(), a_slice("s2", pool="p2"), a_claim()]),
        now=now,
    )

    replace_kinds(cluster, {"ResourceSlice": [a_slice()]}, now=now)

    assert set(Device.objects.values_list("pool", flat=True)) == {"p1"}
    assert Allocation.objects.count() == 1


def test_many_new_objects_are_stored_as_few_are(cluster, now):
    wanted = [
        a_slice(f"s{i}", node=f"n{i}", pool=f"p{i}", version="2")
        for i in range(MANY + 3)
    ]
    before = [a_slice(f"s{i}", node=f"n{i}", pool=f"p{i}") for i in range(3)]
    apply_changes(cluster, map(change_of, before), now=now)
    revision = replace_kinds(cluster, {"ResourceSlice": wanted}, now=now)
    stored = KubeObject.objects.values_list(
        *("name", "namespace", "uid", "resource_version", "pool", "body"),
        *("revision", "seen_at", "deleted_at"),
    )
    assert {row[0]: row[1:] for row in stored} == {
        f"s{i}": (
            *("", f"uid-s{i}", "2", f"gpu.nvidia.com/p{i}", body),
            *(revision, now, None),
        )
        for i, body in enumerate(wanted)
    }
    assert Pool.objects.count() == len(wanted)
    assert Device.objects.count() == 2 * len(wanted)


def test_replace_kinds_refuses_to_lose_many_devices(cluster, now):
    slices = [a_slice(f"s{i}", pool=f"p{i}", devices=4) for i in range(4)]
    apply_changes(cluster, map(change_of, slices), now=now)

    with pytest.raises(TooMuchChange, match="8 of 16 devices"):
        replace_kinds(cluster, {"ResourceSlice": slices[:2]}, now=now)

    assert Device.objects.count() == 16
    assert Cluster.objects.get().revision == 1


def test_replace_kinds_lets_pools_move_to_a_new_generation(cluster, now):
    slices = [a_slice(f"s{i}", pool=f"p{i}", devices=4) for i in range(4)]
    apply_changes(cluster, map(change_of, slices), now=now)
    moved = [a_slice(f"t{i}", pool=f"p{i}", devices=4, generation=2) for i in range(4)]

    replace_kinds(cluster, {"ResourceSlice": moved}, now=now)

    assert set(Device.objects.values_list("slice_name", flat=True)) == {
        "t0",
        "t1",
        "t2",
        "t3",
    }


def test_apply_changes_costs_the_same_for_one_and_for_many(
    cluster, now, django_assert_max_num_queries
):
    with django_assert_max_num_queries(20):
        apply_changes(
            cluster,
            [change_of(a_slice(f"s{i}", pool=f"p{i}")) for i in range(200)],
            now=now,
        )


@pytest.mark.django_db(transaction=True)
def test_apply_changes_tells_listeners_at_commit(cluster, now):
    with connection.cursor() as cursor:
        cursor.execute("LISTEN slicewise")

    apply_changes(cluster, [change_of(a_slice())], now=now)

    (note,) = list(connection.connection.notifies(timeout=5, stop_after=1))
    with connection.cursor() as cursor:
        cursor.execute("UNLISTEN *")
    assert note.payload == '{"cluster": "c", "revision": 1, "kinds": ["ResourceSlice"]}'

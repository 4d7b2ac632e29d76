"""Derive rows from what is stored of a cluster: pools and devices, allocations.

Inside the transaction that stored it, under the cluster's lock; see `store`.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import orjson
from django.db import connection
from django.db.models import Q

from inventory.domain import gates
from inventory.domain.parse import (
    DeviceValue,
    PoolValue,
    parse_allocations,
    parse_pool,
    pool_key,
)
from inventory.models import Allocation, Cluster, KubeObject, Pool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inventory.domain.changes import Change

BATCH = 500
POOLS_AT_ONCE = 200
_DEVICE_COLUMNS = (
    "cluster_id, driver, pool, name, slice_name, node_name, attributes, capacity,"
    " consumes_counters, taints, allow_multiple_allocations, memory_bytes"
)


def as_json(value: Any) -> str:
    """Return a value as Postgres takes it for jsonb."""
    return orjson.dumps(value).decode()


def derive_pools(cluster: Cluster, keys: set[str], news: list[Change]) -> None:
    """Derive Pool and Device rows again for pools given as `driver/pool`.

    Slices that just came are at hand; only their pools' others are read. A part at
    a time: the devices of a large cluster need not be in memory at once.
    """
    at_hand: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for change in news:
        if change.kind == "ResourceSlice" and change.body:
            at_hand[pool_key(change.body)].append(change.body)
    names = {change.name for change in news if change.kind == "ResourceSlice"}
    ordered = sorted(keys)
    for start in range(0, len(ordered), POOLS_AT_ONCE):
        part = ordered[start : start + POOLS_AT_ONCE]
        slices = {key: at_hand.pop(key, []) for key in part}
        _add_others(cluster, slices, names)
        _derive_some(cluster, slices)


def _add_others(
    cluster: Cluster, slices: dict[str, list[dict[str, Any]]], names: set[str]
) -> None:
    """Add the stored slices of these pools that are not among `names`."""
    rows = KubeObject.objects.filter(
        cluster=cluster, pool__in=list(slices), deleted_at=None
    )
    others = [pk for pk, name in rows.values_list("pk", "name") if name not in names]
    for key, body in rows.filter(pk__in=others).values_list("pool", "body"):
        slices[key].append(body)


def _derive_some(cluster: Cluster, slices: dict[str, list[dict[str, Any]]]) -> None:
    """Derive pools again; Postgres takes devices while the next are still read."""
    combined = gates.supported_minor(cluster.kubernetes_version) == gates.OLDEST_MINOR
    pools: list[Pool] = []

    def devices() -> Iterator[DeviceValue]:
        for bodies in filter(None, slices.values()):
            pool, found = parse_pool(bodies, combined_allowed=combined)
            pools.append(_pool_row(cluster, pool))
            yield from found

    _delete_pools(cluster, set(slices))
    _copy_devices(cluster, devices())
    Pool.objects.bulk_create(pools, batch_size=BATCH)


def _delete_pools(cluster: Cluster, keys: set[str]) -> None:
    pairs = [key.split("/", 1) for key in keys]
    drivers, names = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    with connection.cursor() as cursor:
        for table, column in (("inventory_pool", "name"), ("inventory_device", "pool")):
            cursor.execute(
                f"DELETE FROM {table} USING unnest(%s::text[], %s::text[]) AS k(d, p)"  # noqa: S608  two constants
                f" WHERE cluster_id = %s AND driver = k.d AND {column} = k.p",
                [drivers, names, cluster.pk],
            )


def _pool_row(cluster: Cluster, pool: PoolValue) -> Pool:
    return Pool(
        cluster=cluster,
        driver=pool.driver,
        name=pool.name,
        generation=pool.generation,
        expected_slice_count=pool.expected_slice_count,
        seen_slice_count=pool.seen_slice_count,
        node_name=pool.node_name,
        verdict=pool.verdict,
        problem=pool.problem,
    )


def _copy_devices(cluster: Cluster, devices: Iterator[DeviceValue]) -> None:
    """Write device rows by COPY: tens of thousands in a second."""
    with connection.cursor() as cursor:
        statement = f"COPY inventory_device ({_DEVICE_COLUMNS}) FROM STDIN"
        with cursor.copy(statement) as copy:
            for device in devices:
                copy.write_row(_device_row(cluster, device))


def _device_row(cluster: Cluster, device: DeviceValue) -> tuple[Any, ...]:
    return (
        cluster.pk,
        device.driver,
        device.pool,
        device.name,
        device.slice_name,
        device.node_name,
        as_json(device.attributes),
        as_json(device.capacity),
        as_json(device.consumes_counters),
        as_json(device.taints),
        device.allow_multiple_allocations,
        device.memory_bytes,
    )


def derive_allocations(cluster: Cluster, changes: list[Change]) -> None:
    """Replace the Allocation rows of the claims that changed."""
    for batch in _batches(changes):
        where = Q()
        for change in batch:
            where |= Q(claim_namespace=change.namespace, claim_name=change.name)
        Allocation.objects.filter(where, cluster=cluster).delete()
        Allocation.objects.bulk_create(
            row for change in batch for row in _allocation_rows(cluster, change)
        )


def _batches(changes: list[Change]) -> Iterator[list[Change]]:
    for start in range(0, len(changes), BATCH):
        yield changes[start : start + BATCH]


def _allocation_rows(cluster: Cluster, change: Change) -> Iterator[Allocation]:
    metadata = (change.body or {}).get("metadata") or {}
    for value in parse_allocations(change.body or {}):
        yield Allocation(
            cluster=cluster,
            claim_namespace=change.namespace,
            claim_name=change.name,
            claim_uid=str(metadata.get("uid") or ""),
            device_request=value.device_request,
            driver=value.driver,
            pool=value.pool,
            device=value.device,
            share_id=value.share_id,
            consumed_capacity=value.consumed_capacity,
            admin_access=value.admin_access,
        )

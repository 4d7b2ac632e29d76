"""Write what was seen of a cluster: objects, and what is derived from them.

One transaction a call: the cluster's revision rises by one (its row's lock puts
writers in a line), rows that changed carry the new revision, pools touched are
derived again, and listeners are told at commit. No network call in here.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import orjson
from django.db import connection, transaction
from django.db.models import F, Q
from django.utils.translation import gettext as _

from inventory.domain import gates
from inventory.domain.changes import Change, change_of, is_unsafe
from inventory.domain.parse import (
    DeviceValue,
    PoolValue,
    parse_allocations,
    parse_pool,
    pool_key,
)
from inventory.models import Allocation, Cluster, Device, KubeObject, Pool
from portal.core.errors import PortalError
from portal.core.wake import notify

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

BATCH = 500
POOLS_AT_ONCE = 200
_DEVICE_COLUMNS = (
    "cluster_id, driver, pool, name, slice_name, node_name, attributes, capacity,"
    " consumes_counters, taints, allow_multiple_allocations, memory_bytes"
)


class TooMuchChange(PortalError):
    """A list lacks an unlikely share of the devices; nothing was changed."""

    code = "inventory.too_much_change"


@transaction.atomic
def apply_changes(cluster: Cluster, changes: Iterable[Change], *, now: datetime) -> int:
    """Record objects as they now are and return the cluster's revision.

    Later changes of one object win. Objects that are already stored at that
    resourceVersion are skipped; where nothing is new the revision stays.
    """
    _lock(cluster)
    return _write(cluster, {change.key: change for change in changes}, now=now)


@transaction.atomic
def replace_kinds(
    cluster: Cluster,
    lists: dict[str, list[dict[str, Any]]],
    *,
    now: datetime,
    guard: bool = True,
) -> int:
    """Record whole lists: what is stored of these kinds and not listed is gone.

    Raises:
        TooMuchChange: More than 30 % of the devices would vanish; with
            `guard` only.
    """
    _lock(cluster)
    wanted = {
        change.key: change
        for bodies in lists.values()
        for change in map(change_of, bodies)
    }
    stored = KubeObject.objects.filter(
        cluster=cluster, kind__in=list(lists), deleted_at=None
    ).values_list("kind", "namespace", "name")
    gone = {key: Change(*key, None) for key in stored if key not in wanted}
    if guard:
        _raise_if_unsafe(cluster, gone, lists.get("ResourceSlice", []))
    return _write(cluster, {**wanted, **gone}, now=now)


def _lock(cluster: Cluster) -> None:
    Cluster.objects.select_for_update(no_key=True).get(pk=cluster.pk)


def _raise_if_unsafe(
    cluster: Cluster, gone: dict[Any, Change], slices: list[dict[str, Any]]
) -> None:
    """Refuse to lose many devices, unless their pools have newer slices."""
    names = [change.name for change in gone.values() if change.kind == "ResourceSlice"]
    if not names:
        return
    replaced = {pool_key(body) for body in slices}
    vanishing = sum(
        f"{driver}/{pool}" not in replaced
        for driver, pool in Device.objects.filter(
            cluster=cluster, slice_name__in=names
        ).values_list("driver", "pool")
    )
    count = Device.objects.filter(cluster=cluster).count()
    if is_unsafe(device_count=count, vanishing_count=vanishing):
        raise TooMuchChange(
            _(
                "%(vanishing)d of %(count)d devices would vanish at once, so this list"
                " was not taken over. Check the cluster; if it is right, say"
                " “accept” on the cluster's page."
            )
            % {"vanishing": vanishing, "count": count}
        )


def _write(
    cluster: Cluster, changes: dict[tuple[str, str, str], Change], *, now: datetime
) -> int:
    stored = _stored(cluster, changes)
    news = [
        change for change in changes.values() if _is_new(change, stored.get(change.key))
    ]
    if not news:
        cluster.refresh_from_db(fields=["revision"])
        return cluster.revision
    Cluster.objects.filter(pk=cluster.pk).update(revision=F("revision") + 1)
    cluster.refresh_from_db(fields=["revision"])
    _write_objects(cluster, news, stored, now=now)
    pools = {stored[c.key][3] for c in news if c.key in stored} | {
        pool_key(c.body) for c in news if c.kind == "ResourceSlice" and c.body
    }
    _derive_pools(cluster, pools - {""}, news)
    _derive_allocations(cluster, [c for c in news if c.kind == "ResourceClaim"])
    kinds = sorted({change.kind for change in news})
    notify(cluster=cluster.name, revision=cluster.revision, kinds=kinds)
    return cluster.revision


_Stored = dict[tuple[str, str, str], tuple[str, str, bool, str, bool]]


def _stored(cluster: Cluster, changes: dict[tuple[str, str, str], Change]) -> _Stored:
    """Return key → (uid, resourceVersion, gone, pool, same).

    Objects without a version are compared whole, one after the other.
    """
    by_kind: dict[str, set[str]] = defaultdict(set)
    for kind, _namespace, name in changes:
        by_kind[kind].add(name)
    where = Q()
    for kind, names in by_kind.items():
        where |= Q(kind=kind, name__in=names)
    if not by_kind:
        return {}
    rows = KubeObject.objects.filter(where, cluster=cluster)
    unversioned = rows.filter(resource_version="").values_list(
        "pk", "kind", "namespace", "name", "body"
    )
    same = {
        pk
        for pk, kind, namespace, name, body in unversioned.iterator(chunk_size=BATCH)
        if (change := changes.get((kind, namespace, name))) and change.body == body
    }
    return {
        (kind, namespace, name): (uid, version, bool(gone), pool, pk in same)
        for pk, kind, namespace, name, uid, version, gone, pool in rows.values_list(
            "pk",
            "kind",
            "namespace",
            "name",
            "uid",
            "resource_version",
            "deleted_at",
            "pool",
        )
    }


def _is_new(change: Change, stored: tuple[str, str, bool, str, bool] | None) -> bool:
    if stored is None:
        return change.body is not None
    uid, version, gone, _pool, same = stored
    if change.body is None:
        return not gone
    metadata = change.body.get("metadata") or {}
    if gone or not version:
        return gone or not same
    return (uid, version) != (metadata.get("uid"), metadata.get("resourceVersion"))


# One statement for one row and for hundreds, sent as one JSON document.
_UPSERT = """
INSERT INTO inventory_kubeobject
  (cluster_id, kind, namespace, name, uid, resource_version, pool, body, revision,
   seen_at, deleted_at)
SELECT %(cluster)s, kind, namespace, name, uid, version, pool, body, %(revision)s,
       %(now)s, CASE WHEN gone THEN %(now)s::timestamptz END
FROM jsonb_to_recordset(%(rows)s::jsonb)
  AS incoming(kind text, namespace text, name text, uid text, version text, pool text,
              body jsonb, gone boolean)
ON CONFLICT (cluster_id, kind, namespace, name) DO UPDATE SET
  uid = EXCLUDED.uid, resource_version = EXCLUDED.resource_version,
  pool = EXCLUDED.pool, body = EXCLUDED.body, revision = EXCLUDED.revision,
  seen_at = EXCLUDED.seen_at, deleted_at = EXCLUDED.deleted_at
"""


def _write_objects(
    cluster: Cluster, news: list[Change], stored: _Stored, *, now: datetime
) -> None:
    for start in range(0, len(news), BATCH):
        rows = [_row(change, stored) for change in news[start : start + BATCH]]
        values: dict[str, Any] = {
            "cluster": cluster.pk,
            "revision": cluster.revision,
            "now": now,
            "rows": _json(rows),
        }
        with connection.cursor() as cursor:
            cursor.execute(_UPSERT, values)


def _row(change: Change, stored: _Stored) -> dict[str, Any]:
    metadata = (change.body or {}).get("metadata") or {}
    return {
        "kind": change.kind,
        "namespace": change.namespace,
        "name": change.name,
        "uid": str(metadata.get("uid") or ""),
        "version": str(metadata.get("resourceVersion") or ""),
        "pool": _pool_of(change, stored),
        "body": change.body or {},
        "gone": change.body is None,
    }


def _pool_of(change: Change, stored: _Stored) -> str:
    """Return the pool that an object is of; a slice that went keeps its own."""
    if change.body is not None and change.kind == "ResourceSlice":
        return pool_key(change.body)
    return stored[change.key][3] if change.key in stored else ""


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()


def _derive_pools(cluster: Cluster, keys: set[str], news: list[Change]) -> None:
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
    combined = gates.supported_minor(cluster.kubernetes_version) == gates.OLDEST_MINOR
    parsed = [
        parse_pool(bodies, combined_allowed=combined)
        for bodies in slices.values()
        if bodies
    ]
    _delete_pools(cluster, set(slices))
    Pool.objects.bulk_create(
        [_pool_row(cluster, pool) for pool, _devices in parsed], batch_size=BATCH
    )
    _copy_devices(cluster, itertools.chain.from_iterable(d for _pool, d in parsed))


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
        _json(device.attributes),
        _json(device.capacity),
        _json(device.consumes_counters),
        _json(device.taints),
        device.allow_multiple_allocations,
        device.memory_bytes,
    )


def _derive_allocations(cluster: Cluster, changes: list[Change]) -> None:
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

"""Write what was seen of a cluster: objects, and what is derived from them.

One transaction a call: the cluster's revision rises by one (its row's lock puts
writers in a line), rows that changed carry the new revision, pools touched are
derived again, and listeners are told at commit. No network call in here.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from django.db import connection, transaction
from django.db.models import F, Q
from django.utils.translation import gettext as _

from inventory.domain.changes import Change, change_of, is_unsafe
from inventory.domain.parse import pool_key
from inventory.models import Cluster, Device, KubeObject
from inventory.services.deriving import (
    BATCH,
    as_json,
    derive_allocations,
    derive_pools,
)
from portal.core.errors import PortalError
from portal.core.wake import notify

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime


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
    derive_pools(cluster, pools - {""}, news)
    derive_allocations(cluster, [c for c in news if c.kind == "ResourceClaim"])
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


# From so many on, objects that are new are copied: a third of the time.
MANY = 50
_OBJECT_COLUMNS = (
    "cluster_id, kind, namespace, name, uid, resource_version, pool, body, revision,"
    " seen_at"
)
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
    added = [change for change in news if change.key not in stored]
    if len(added) >= MANY:
        _copy_objects(cluster, added, stored, now=now)
        news = [change for change in news if change.key in stored]
    for start in range(0, len(news), BATCH):
        rows = [_row(change, stored) for change in news[start : start + BATCH]]
        values: dict[str, Any] = {
            "cluster": cluster.pk,
            "revision": cluster.revision,
            "now": now,
            "rows": as_json(rows),
        }
        with connection.cursor() as cursor:
            cursor.execute(_UPSERT, values)


def _copy_objects(
    cluster: Cluster, added: list[Change], stored: _Stored, *, now: datetime
) -> None:
    """Write objects that no row is of; the cluster's lock keeps others from them."""
    statement = f"COPY inventory_kubeobject ({_OBJECT_COLUMNS}) FROM STDIN"
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for change in added:
            row = _row(change, stored)
            kept = [row[name] for name in ("kind", "namespace", "name", "uid")]
            body = as_json(row["body"])
            kept += [row["version"], row["pool"], body, cluster.revision, now]
            copy.write_row((cluster.pk, *kept))


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

"""What the engine needs of a cluster, and everything of it after a revision."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from django.db import connection

from inventory.domain.engine import Row, Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inventory.models import Cluster

# Kinds that decide where a claim fits; the engine ignores all others.
ENGINE_KINDS = [
    "DeviceClass",
    "ResourceSlice",
    "DeviceTaintRule",
    "Node",
    "ResourceClaim",
]

# One statement, so that the revision and the rows are of the same moment.
_ROWS_SINCE = """
SELECT c.revision, o.kind, o.namespace, o.name,
       CASE WHEN o.deleted_at IS NULL THEN o.body::text END
FROM inventory_cluster c
LEFT JOIN inventory_kubeobject o
  ON o.cluster_id = c.id AND o.revision > %(since)s AND o.kind = ANY(%(kinds)s)
  AND (%(since)s > 0 OR o.deleted_at IS NULL)
WHERE c.id = %(cluster)s
"""


def snapshot_of(cluster: Cluster) -> Snapshot:
    """Return the value by which calls to the engine name a cluster as it now is.

    Makes no query; rows are read only when an engine turns out to be behind.
    """
    return Snapshot(
        # Named so that no other database's cluster, past or present, is meant.
        cluster_id=f"{cluster.pk}-{cluster.created_at.timestamp():.6f}",
        revision=cluster.revision,
        rows_since=partial(rows_since, cluster.pk),
    )


def rows_since(cluster_pk: int, revision: int) -> tuple[int, Iterable[Row]]:
    """Return the cluster's revision and the rows that changed after `revision`.

    After 0 that is everything that is there; after another, tombstones too, as
    rows without an object. One query.
    """
    values: dict[str, int | list[str]] = {
        "since": revision,
        "kinds": ENGINE_KINDS,
        "cluster": cluster_pk,
    }
    with connection.cursor() as cursor:
        cursor.execute(_ROWS_SINCE, values)
        found = cursor.fetchall()
    rows = [
        Row(kind, namespace, name, body)
        for _revision, kind, namespace, name, body in found
        if kind is not None
    ]
    return (found[0][0] if found else 0), rows

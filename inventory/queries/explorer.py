"""The devices explorer: a page of devices, and the attribute values really seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db import connection

from inventory.queries import devices
from inventory.queries.cards import fleet_of
from inventory.queries.device_search import DeviceSearch, search_page
from inventory.queries.devices import DevicePage
from portal.core.keyset import BadCursor

if TYPE_CHECKING:
    from inventory.domain.visibility import Viewer
    from inventory.models import Cluster

VALUES = 100


@dataclass(frozen=True, slots=True)
class Value:
    """A value of an attribute, and how many devices of the cluster have it."""

    text: str
    type: str
    count: int


def explorer_page(
    cluster: Cluster, viewer: Viewer, search: DeviceSearch, after: str
) -> DevicePage:
    """Return the page of devices behind a cursor; of no cursor of ours, the first.

    Makes two queries where the cluster is unchanged.
    """
    limit = devices.DEVICES_PER_PAGE
    try:
        page = search_page(cluster, viewer, search, cursor=after, limit=limit)
    except BadCursor:
        page = search_page(cluster, viewer, search, cursor="", limit=limit)
    fleet = fleet_of(cluster)
    return DevicePage(
        rows=page.items,
        following=page.following,
        drivers=sorted({driver for driver, _kind in fleet.kinds}),
        kinds=sorted({kind for _driver, kind in fleet.kinds if kind}),
        count=fleet.device_count,
        complete=fleet.complete,
        revision=fleet.revision,
    )


def keys_seen(cluster: Cluster) -> list[str]:
    """Return the full key of every attribute that a device publishes; one query."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT jsonb_object_keys(attributes) FROM inventory_device"
            " WHERE cluster_id = %s ORDER BY 1",
            [cluster.pk],
        )
        return [key for (key,) in cursor.fetchall()]


def values_seen(cluster: Cluster, key: str) -> list[Value]:
    """Return the values of an attribute, the most frequent first; one query.

    A list counts once for each of its elements.
    """
    with connection.cursor() as cursor:
        cursor.execute(_VALUES, {"key": key, "cluster": cluster.pk, "most": VALUES})
        return [Value(*row) for row in cursor.fetchall()]


_VALUES = """
    SELECT element.text, entry.key, count(*)
    FROM inventory_device
    CROSS JOIN jsonb_each(CASE jsonb_typeof(attributes -> %(key)s)
        WHEN 'object' THEN attributes -> %(key)s ELSE '{}' END) AS entry
    CROSS JOIN jsonb_array_elements_text(CASE jsonb_typeof(entry.value)
        WHEN 'array' THEN entry.value ELSE jsonb_build_array(entry.value) END)
        AS element(text)
    WHERE cluster_id = %(cluster)s
    GROUP BY 1, 2 ORDER BY 3 DESC, 1 LIMIT %(most)s
"""

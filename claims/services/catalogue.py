"""What a cluster's devices really publish, for whoever writes a request by hand.

Attributes and capacities with their values, taints, and what devices wait for once
they are allocated; all from the inventory, none of it guessed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db import connection
from django.db.models import Max
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from inventory.domain.taints import parse_rule
from inventory.models import KubeObject
from inventory.queries.explorer import Value, values_seen
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from inventory.gateways.engine import Engine
    from inventory.models import Cluster

MOST_KEYS = 400
MOST_VALUES = 6
MOST_TAINTS = 12
MOST_BOUND = 5000


@dataclass(frozen=True, slots=True)
class SeenKey:
    """An attribute or a capacity that devices of a driver publish.

    Attributes:
        space: "attributes" or "capacity".
        domain, name: of its full key.
        kind: string, int, bool, version or quantity; "" for a list.
        values: up to six of them, the most frequent first.
        count: devices that have it.
    """

    driver: str
    space: str
    domain: str
    name: str
    kind: str
    values: tuple[str, ...]
    count: int

    @property
    def expression(self) -> str:
        """How CEL names it."""
        return f"device.{self.space}[{json.dumps(self.domain)}].{self.name}"

    @property
    def doc(self) -> str:
        """Its kind, values and how many devices have it, in a line."""
        devices = ngettext(
            "%(n)s device of %(driver)s", "%(n)s devices of %(driver)s", self.count
        ) % {"n": f"{self.count:,}", "driver": self.driver}
        parts = [self.kind or _("list"), devices]
        if self.values:
            more = " …" if len(self.values) >= MOST_VALUES else ""
            parts.append(", ".join(self.values) + more)
        return " · ".join(parts)


# One entry a cluster and process, of the newest slices seen.
_KEPT: dict[tuple[int, object], tuple[int | None, list[SeenKey]]] = {}


def seen_keys(cluster: Cluster) -> list[SeenKey]:
    """Return every key that devices publish, by driver.

    One query, and one more after slices changed.
    """
    slices = KubeObject.objects.filter(cluster=cluster, kind="ResourceSlice")
    newest = slices.aggregate(newest=Max("revision"))["newest"]
    place = (cluster.pk, cluster.created_at)
    kept = _KEPT.get(place)
    if kept is None or kept[0] != newest:
        with connection.cursor() as cursor:
            cursor.execute(_KEYS, {"cluster": cluster.pk, "most": MOST_KEYS})
            found = [_seen(*row) for row in cursor.fetchall()]
        kept = _KEPT[place] = (newest, found)
    return kept[1]


def _seen(
    driver: str, space: str, key: str, kind: str, count: int, values: Any
) -> SeenKey:
    domain, _slash, name = key.rpartition("/")
    found = json.loads(values) if isinstance(values, str) else values
    shown = tuple(str(each) for each in found[:MOST_VALUES] if each is not None)
    known = kind if kind in _KINDS else ""
    kind = "quantity" if space == "capacity" else known
    return SeenKey(driver, space, domain, name, kind, shown, count)


_KINDS = frozenset({"string", "int", "bool", "version"})
_KEYS = """
    WITH entry AS (
        SELECT driver, 'attributes' AS space, a.key AS key, v.key AS kind,
               v.value #>> '{}' AS text
        FROM inventory_device,
             jsonb_each(attributes) AS a,
             jsonb_each(CASE jsonb_typeof(a.value)
                 WHEN 'object' THEN a.value ELSE '{}' END) AS v
        WHERE cluster_id = %(cluster)s
        UNION ALL
        SELECT driver, 'capacity', c.key, 'quantity', c.value ->> 'value'
        FROM inventory_device,
             jsonb_each(capacity) AS c
        WHERE cluster_id = %(cluster)s AND jsonb_typeof(c.value) = 'object'
    ), counted AS (
        SELECT driver, space, key, kind, text, count(*) AS n
        FROM entry GROUP BY 1, 2, 3, 4, 5
    )
    SELECT driver, space, key, kind, sum(n)::int,
           jsonb_agg(text ORDER BY n DESC, text)
    FROM counted GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3 LIMIT %(most)s
"""


def counted_values(cluster: Cluster, seen: SeenKey) -> list[Value]:
    """Return the values of a key, the most frequent first; one query."""
    key = f"{seen.domain}/{seen.name}"
    if seen.space == "attributes":
        found: list[Value] = values_seen(cluster, key)
        return found
    with connection.cursor() as cursor:
        cursor.execute(_AMOUNTS, [key, cluster.pk, seen.driver, key])
        return [Value(text, "quantity", count) for text, count in cursor.fetchall()]


_AMOUNTS = """
    SELECT capacity -> %s ->> 'value', count(*) FROM inventory_device
    WHERE cluster_id = %s AND driver = %s
      AND capacity -> %s ->> 'value' IS NOT NULL
    GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 100
"""


@dataclass(frozen=True, slots=True)
class SeenTaint:
    """A taint that a device has or a rule adds, and on how many devices it was seen."""

    key: str
    value: str
    effect: str

    @property
    def text(self) -> str:
        """As people write it: `key=value:Effect`."""
        value = f"={self.value}" if self.value else ""
        return f"{self.key}{value}:{self.effect}"


def seen_taints(cluster: Cluster) -> list[SeenTaint]:
    """Return the taints of devices and of rules, sorted; two queries."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT t ->> 'key', coalesce(t ->> 'value', ''), t ->> 'effect'"
            " FROM inventory_device, jsonb_array_elements(taints) AS t"
            " WHERE cluster_id = %s LIMIT 100",
            [cluster.pk],
        )
        found = {SeenTaint(*map(str, row)) for row in cursor.fetchall()}
    rules = KubeObject.objects.filter(
        cluster=cluster, kind="DeviceTaintRule", deleted_at=None
    ).values_list("name", "body")
    for name, body in rules:
        if rule := parse_rule(name, body.get("spec")):
            taint = rule.taint
            found.add(SeenTaint(taint.key, taint.value, taint.effect))
    real = (each for each in found if each.effect != "None")
    return sorted(real, key=lambda each: each.text)[:MOST_TAINTS]


def binding_conditions(cluster: Cluster) -> dict[str, tuple[str, ...]]:
    """Return driver/pool/device → what it waits for once allocated; one query."""
    with connection.cursor() as cursor:
        cursor.execute(_BINDING, [cluster.pk, MOST_BOUND])
        return {
            f"{driver}/{pool}/{device}": tuple(json.loads(names))
            for driver, pool, device, names in cursor.fetchall()
        }


_BINDING = """
SELECT body->'spec'->>'driver', body->'spec'->'pool'->>'name', device->>'name',
       device->>'bindingConditions'
FROM inventory_kubeobject,
     jsonb_array_elements(CASE jsonb_typeof(body->'spec'->'devices')
         WHEN 'array' THEN body->'spec'->'devices' ELSE '[]' END) AS device
WHERE cluster_id = %s AND kind = 'ResourceSlice' AND deleted_at IS NULL
      AND jsonb_typeof(device->'bindingConditions') = 'array'
ORDER BY 1, 2, 3 LIMIT %s
"""


def binding_within(
    engine: Engine, within: tuple[str, ...], known: dict[str, tuple[str, ...]]
) -> tuple[str, ...]:
    """Return the conditions of those devices that a class selects."""
    if not known:
        return ()
    try:
        matches = engine.evaluate(within or ("true",), listing=True).matches
    except PortalError:
        return ()
    names = [name for each in matches for name in known.get(each, ())]
    return tuple(dict.fromkeys(names))

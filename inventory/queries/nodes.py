"""The nodes of a cluster with what their cards sum up to."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inventory.domain.totals import Totals, totals_of
from inventory.models import KubeObject
from inventory.queries.cards import fleet_of
from portal.core.keyset import Page, decoded, page_of, rows_after

if TYPE_CHECKING:
    from inventory.domain.occupancy import Occupancy
    from inventory.models import Cluster

KEY = ("name",)
KEY_TYPES = (str,)


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A Node; `ready` is None where it does not say."""

    name: str
    ready: bool | None
    cordoned: bool
    taints: tuple[dict[str, Any], ...]
    labels: dict[str, str]
    totals: Totals


def node_page(cluster: Cluster, *, text: str, cursor: str, limit: int) -> Page[NodeRow]:
    """Return a page of Nodes by name; one query where the cluster is unchanged.

    Raises:
        BadCursor: It is none of this list.
    """
    rows = KubeObject.objects.filter(cluster=cluster, kind="Node", deleted_at=None)
    if text:
        rows = rows.filter(name__icontains=text)
    found = list(rows_after(rows, KEY, decoded(cursor, KEY_TYPES))[: limit + 1])
    page = page_of(found, limit, lambda row: (row.name,))
    fleet = fleet_of(cluster)
    wanted = {row.name for row in page.items}
    cards: dict[str, list[Occupancy]] = defaultdict(list)
    for occupancy in fleet.occupancies:
        if occupancy.card.node in wanted:
            cards[occupancy.card.node].append(occupancy)
    items = [
        _node(row.name, row.body, totals_of(cards[row.name], complete=fleet.complete))
        for row in page.items
    ]
    return Page(items, page.following)


def _node(name: str, body: Any, totals: Totals) -> NodeRow:
    spec = _dict(_dict(body).get("spec"))
    status = _dict(_dict(body).get("status"))
    labels = _dict(_dict(_dict(body).get("metadata")).get("labels"))
    return NodeRow(
        name=name,
        ready=_ready(status.get("conditions")),
        cordoned=spec.get("unschedulable") is True,
        taints=tuple(t for t in spec.get("taints") or [] if isinstance(t, dict)),
        labels={str(key): str(value) for key, value in labels.items()},
        totals=totals,
    )


def _ready(conditions: object) -> bool | None:
    for condition in conditions if isinstance(conditions, list) else []:
        if isinstance(condition, dict) and condition.get("type") == "Ready":
            return condition.get("status") == "True"
    return None


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}

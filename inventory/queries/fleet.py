"""The GPUs page and the overview: cards by node, filtered, a page at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from inventory.domain.fleet import Fleet, PoolFacts
from inventory.domain.topology import Group, groups_of
from inventory.domain.usage import Usage, held_by
from inventory.models import KubeObject
from inventory.queries.cards import fleet_of
from inventory.queries.gpu_filter import GpuFilter, Reach, matching_occupancies
from inventory.queries.rows import CardRow, Holder, card_row, holder_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from inventory.domain.cards import Card
    from inventory.domain.fragmentation import Fragmentation
    from inventory.domain.occupancy import Occupancy
    from inventory.domain.totals import Totals
    from inventory.domain.visibility import Viewer
    from inventory.models import Cluster
    from inventory.queries.meters import MeterPage

CARDS_PER_PAGE = 40
NOWHERE = Reach()
NO_OWNERS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class NodeState:
    """A Node, as far as its cards need it."""

    ready: bool
    cordoned: bool


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """The cards of a node, or of a pool that several nodes can reach."""

    name: str
    product: str  # "" unless cards are grouped by it
    attached: bool  # to one node
    state: NodeState | None
    cards: list[CardRow]
    topology: list[Group]
    pools: list[PoolFacts]


@dataclass(frozen=True, slots=True)
class Manner:
    """How cards are shown: from which group on, grouped how, and with what is measured."""

    start: str = ""
    by_product: bool = False
    meters: MeterPage | None = None


@dataclass(frozen=True, slots=True)
class GpuPage:
    """One page of cards, whole nodes at a time."""

    groups: list[NodeGroup]
    totals: Totals
    products: list[str]
    drivers: list[str]
    matched_cards: int
    matched_nodes: int
    first_node: int
    group_count: int
    previous: str | None
    following: str | None
    revision: int


@dataclass(frozen=True, slots=True)
class Unpublished:
    """A device that a claim holds and that no slice publishes now."""

    driver: str
    pool: str
    device: str
    holder: Holder


@dataclass(frozen=True, slots=True)
class ProductRow:
    """The cards of one product."""

    name: str
    totals: Totals
    fragmentation: Fragmentation
    # Of allocated, what is this person's own; such as "12.5%".
    own_width: str


@dataclass(frozen=True, slots=True)
class TenantRow:
    """What a tenant holds; `name` is "" for namespaces of none."""

    name: str
    usage: Usage
    mine: bool


@dataclass(frozen=True, slots=True)
class Overview:
    """A cluster's cards in sums, and what needs attention."""

    totals: Totals
    own: Usage
    own_width: str
    fragmentation: Fragmentation
    products: list[ProductRow]
    tenants: list[TenantRow]
    troubled: list[PoolFacts]
    unpublished: list[Unpublished]
    pools: int
    complete: bool
    revision: int
    # Cards that are held and compute nothing, the longest first; None: not measured.
    idle: list[CardRow] | None


def overview(
    cluster: Cluster,
    viewer: Viewer,
    owners: Mapping[str, str] = NO_OWNERS,
    meters: MeterPage | None = None,
) -> Overview:
    """Return the sums of a cluster; no query where it is unchanged.

    Args:
        cluster: the cluster.
        viewer: who looks at it.
        owners: namespace → tenant, as far as this person may know them.
        meters: what cards use, where that is measured.
    """
    fleet = fleet_of(cluster)
    own = _own(fleet.occupancies, viewer)
    return Overview(
        totals=fleet.totals,
        own=own,
        own_width=_width(own, fleet.totals),
        fragmentation=fleet.fragmentation,
        products=list(_products(fleet, viewer)),
        tenants=_tenants(fleet, viewer, owners),
        troubled=[
            p for _key, p in sorted(fleet.pools.items()) if p.verdict != "complete"
        ],
        unpublished=[
            Unpublished(h.driver, h.pool, h.device, holder_of(h, viewer))
            for h in fleet.unpublished
        ],
        pools=len(fleet.pools),
        complete=fleet.complete,
        revision=fleet.revision,
        idle=_idle(fleet, viewer, meters) if meters and meters.fresh else None,
    )


def _idle(fleet: Fleet, viewer: Viewer, meters: MeterPage) -> list[CardRow]:
    """Return the idle cards whose holders a person may see."""
    idle = [o for o in fleet.occupancies if meters.idle_since(o.card.key)]
    rows = [card_row(occupancy, viewer, meters) for occupancy in idle]
    seen = [(row.meter.idle_since, row) for row in rows if row.meter]
    return [row for since, row in sorted(seen, key=lambda each: str(each[0])) if since]


def _own(occupancies: Sequence[Occupancy], viewer: Viewer) -> Usage:
    usage = held_by(occupancies, lambda hold: viewer.owns(hold.namespace))
    return usage.get(True, Usage(0, at_least=False, cards=0))


def _width(usage: Usage, totals: Totals) -> str:
    return f"{100 * usage.allocated / (totals.total or 1):.1f}%"


def _products(fleet: Fleet, viewer: Viewer) -> Iterator[ProductRow]:
    for name, cards in fleet.by_product.items():
        totals = fleet.products[name]
        width = _width(_own(cards, viewer), totals)
        yield ProductRow(name, totals, fleet.fragmentation_by_product[name], width)


def _tenants(
    fleet: Fleet, viewer: Viewer, owners: Mapping[str, str]
) -> list[TenantRow]:
    """Return who holds how much, most first; only what this person may see."""
    seen = held_by(
        fleet.occupancies,
        lambda hold: (
            (owners.get(hold.namespace, ""), viewer.owns(hold.namespace))
            if viewer.sees(hold.namespace)
            else None
        ),
    )
    rows = [TenantRow(*key[:1], usage, key[1]) for key, usage in seen.items() if key]
    return sorted(rows, key=lambda row: (-row.usage.allocated, row.name))


def gpu_page(
    cluster: Cluster,
    viewer: Viewer,
    wanted: GpuFilter,
    manner: Manner,
    reach: Reach = NOWHERE,
) -> GpuPage:
    """Return the page of cards that begins at the group `manner.start`, or at the first.

    Groups are nodes, or, by product, the nodes of each product. Makes one query
    where the cluster is unchanged, eight where it changed.
    """
    fleet = fleet_of(cluster)
    groups = _matching(fleet, viewer, wanted, reach, by_product=manner.by_product)
    names = list(groups)
    starts = _page_starts(groups)
    page = max(
        (n for n, at in enumerate(starts) if names and names[at] <= manner.start),
        default=0,
    )
    begin = starts[page] if starts else 0
    end = starts[page + 1] if page + 1 < len(starts) else len(names)
    shown = [groups[name] for name in names[begin:end]]
    row_of = partial(card_row, viewer=viewer, meters=manner.meters)
    return GpuPage(
        groups=_groups(cluster, fleet, shown, row_of, by_product=manner.by_product),
        totals=fleet.totals,
        products=[name for name in fleet.products if name],
        drivers=sorted({card.driver for u in fleet.units.values() for card in u.cards}),
        matched_cards=sum(len(cards) for cards in groups.values()),
        matched_nodes=len({_place(cards[0].card) for cards in groups.values()}),
        first_node=begin + 1,
        group_count=len(names),
        previous=names[starts[page - 1]] if page else None,
        following=names[end] if end < len(names) else None,
        revision=fleet.revision,
    )


def matching_cards(
    cluster: Cluster,
    viewer: Viewer,
    wanted: GpuFilter,
    reach: Reach,
    meters: MeterPage | None = None,
) -> Iterator[CardRow]:
    """Yield every card that a filter leaves, by node; no query if unchanged."""
    groups = _matching(fleet_of(cluster), viewer, wanted, reach, by_product=False)
    for cards in groups.values():
        for occupancy in cards:
            yield card_row(occupancy, viewer, meters)


def _place(card: Card) -> str:
    return card.node or f"{card.driver}/{card.pool}"


def _matching(
    fleet: Fleet, viewer: Viewer, wanted: GpuFilter, reach: Reach, *, by_product: bool
) -> dict[str, list[Occupancy]]:
    groups: dict[str, list[Occupancy]] = {}
    for occupancy in matching_occupancies(fleet, viewer, wanted, reach):
        card = occupancy.card
        name = f"{card.product} / {_place(card)}" if by_product else _place(card)
        groups.setdefault(name, []).append(occupancy)
    return dict(sorted(groups.items()))


def _page_starts(groups: dict[str, list[Occupancy]]) -> list[int]:
    """Return the indices of the nodes at which pages begin."""
    starts: list[int] = []
    room = 0
    for index, cards in enumerate(groups.values()):
        if not starts or len(cards) > room:
            starts.append(index)
            room = CARDS_PER_PAGE
        room -= len(cards)
    return starts


def _groups(
    cluster: Cluster,
    fleet: Fleet,
    shown: list[list[Occupancy]],
    row_of: Callable[[Occupancy], CardRow],
    *,
    by_product: bool,
) -> list[NodeGroup]:
    nodes = _nodes(cluster, [_place(cards[0].card) for cards in shown])
    return [
        NodeGroup(
            name=_place(cards[0].card),
            product=cards[0].card.product if by_product else "",
            attached=bool(cards[0].card.node),
            state=nodes.get(_place(cards[0].card)),
            cards=[row_of(occupancy) for occupancy in cards],
            topology=groups_of(o.card for o in cards),
            pools=list(_troubled(fleet, cards)),
        )
        for cards in shown
    ]


def _troubled(fleet: Fleet, cards: list[Occupancy]) -> Iterator[PoolFacts]:
    keys = sorted({key for occupancy in cards for key in occupancy.card.pools})
    for key in keys:
        pool = fleet.pools.get(key)
        if pool and pool.verdict != "complete":
            yield pool


def _nodes(cluster: Cluster, names: list[str]) -> dict[str, NodeState]:
    """Return the Nodes among some names; one query."""
    rows = KubeObject.objects.filter(
        cluster=cluster, kind="Node", namespace="", name__in=names, deleted_at=None
    ).values_list("name", "body__spec__unschedulable", "body__status__conditions")
    return {
        name: NodeState(_ready(conditions), unschedulable is True)
        for name, unschedulable, conditions in rows
    }


def _ready(conditions: object) -> bool:
    """Return whether a Node is ready; one without conditions is taken to be."""
    for condition in conditions if isinstance(conditions, list) else []:
        if isinstance(condition, dict) and condition.get("type") == "Ready":
            return condition.get("status") == "True"
    return True

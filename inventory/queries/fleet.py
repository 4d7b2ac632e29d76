"""The GPUs page and the overview: cards by node, filtered, a page at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from inventory.domain.fleet import Fleet, PoolFacts
from inventory.domain.quantity import GIB
from inventory.domain.usage import Usage, held_by
from inventory.models import KubeObject
from inventory.queries.cards import fleet_of
from inventory.queries.rows import CardRow, Holder, card_row, holder_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from inventory.domain.cards import Card
    from inventory.domain.fragmentation import Fragmentation
    from inventory.domain.occupancy import Occupancy
    from inventory.domain.totals import Totals
    from inventory.domain.visibility import Viewer
    from inventory.models import Cluster

CARDS_PER_PAGE = 40
NO_OWNERS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class GpuFilter:
    """What a person wants to see of a cluster's cards; the default is everything."""

    text: str = ""
    product: str = ""
    free_gib: float = 0
    tainted: bool = False
    mine: bool = False
    device_class: str = ""
    tenant: str = ""

    @property
    def active(self) -> bool:
        """Whether it leaves anything out."""
        return self != GpuFilter()


@dataclass(frozen=True, slots=True)
class Reach:
    """What the filters of class and tenant mean in a cluster, for one person.

    Attributes:
        devices: (driver, pool, device) that the class selects; None for no class.
        owners: namespace → tenant, of those whose names this person may see.
    """

    devices: frozenset[tuple[str, str, str]] | None = None
    owners: Mapping[str, str] = field(default_factory=dict)


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
    pools: list[PoolFacts]


@dataclass(frozen=True, slots=True)
class GpuPage:
    """One page of cards, whole nodes at a time."""

    groups: list[NodeGroup]
    totals: Totals
    products: list[str]
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


def overview(
    cluster: Cluster, viewer: Viewer, owners: Mapping[str, str] = NO_OWNERS
) -> Overview:
    """Return the sums of a cluster; no query where it is unchanged.

    Args:
        cluster: the cluster.
        viewer: who looks at it.
        owners: namespace → tenant, as far as this person may know them.
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
    )


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
    start: str,
    *,
    reach: Reach = Reach(),
    by_product: bool = False,
) -> GpuPage:
    """Return the page of cards that begins at the group `start`, or at the first.

    Groups are nodes, or, by product, the nodes of each product. Makes one query
    where the cluster is unchanged, eight where it changed.
    """
    fleet = fleet_of(cluster)
    groups = _matching(fleet, viewer, wanted, reach, by_product=by_product)
    names = list(groups)
    starts = _page_starts(groups)
    page = max(
        (n for n, at in enumerate(starts) if names and names[at] <= start), default=0
    )
    begin = starts[page] if starts else 0
    end = starts[page + 1] if page + 1 < len(starts) else len(names)
    shown = [groups[name] for name in names[begin:end]]
    return GpuPage(
        groups=_groups(cluster, fleet, viewer, shown, by_product=by_product),
        totals=fleet.totals,
        products=[name for name in fleet.products if name],
        matched_cards=sum(len(cards) for cards in groups.values()),
        matched_nodes=len({_place(cards[0].card) for cards in groups.values()}),
        first_node=begin + 1,
        group_count=len(names),
        previous=names[starts[page - 1]] if page else None,
        following=names[end] if end < len(names) else None,
        revision=fleet.revision,
    )


def matching_cards(
    cluster: Cluster, viewer: Viewer, wanted: GpuFilter, reach: Reach
) -> Iterator[CardRow]:
    """Yield every card that a filter leaves, by node; no query if unchanged."""
    groups = _matching(fleet_of(cluster), viewer, wanted, reach, by_product=False)
    for cards in groups.values():
        for occupancy in cards:
            yield card_row(occupancy, viewer)


def _place(card: Card) -> str:
    return card.node or f"{card.driver}/{card.pool}"


def _matching(
    fleet: Fleet, viewer: Viewer, wanted: GpuFilter, reach: Reach, *, by_product: bool
) -> dict[str, list[Occupancy]]:
    groups: dict[str, list[Occupancy]] = {}
    for occupancy in fleet.occupancies:
        if _matches(occupancy, viewer, wanted) and _reached(occupancy, wanted, reach):
            card = occupancy.card
            name = f"{card.product} / {_place(card)}" if by_product else _place(card)
            groups.setdefault(name, []).append(occupancy)
    return dict(sorted(groups.items()))


def _reached(occupancy: Occupancy, wanted: GpuFilter, reach: Reach) -> bool:
    """Whether the class selects a part of a card, and the tenant holds one."""
    if wanted.device_class and not (
        reach.devices and any(p.key in reach.devices for p in occupancy.card.parts)
    ):
        return False
    return not wanted.tenant or any(
        reach.owners.get(hold.namespace) == wanted.tenant for hold in occupancy.holds
    )


def _matches(occupancy: Occupancy, viewer: Viewer, wanted: GpuFilter) -> bool:
    card = occupancy.card
    return (
        (not wanted.product or card.product == wanted.product)
        and (not wanted.tainted or bool(card.taints))
        and (not wanted.free_gib or (occupancy.largest or 0) >= wanted.free_gib * GIB)
        and (not wanted.mine or any(viewer.owns(h.namespace) for h in occupancy.holds))
        and (not wanted.text or wanted.text.lower() in _haystack(occupancy, viewer))
    )


def _haystack(occupancy: Occupancy, viewer: Viewer) -> str:
    """Return what the text filter looks in; never a name that may not be seen."""
    card = occupancy.card
    claims = [
        f"{hold.namespace}/{hold.claim}"
        for hold in occupancy.holds
        if viewer.sees(hold.namespace)
    ]
    words = [card.node, card.pool, card.driver, card.name, card.product, *claims]
    return "\n".join(words).lower()


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
    viewer: Viewer,
    shown: list[list[Occupancy]],
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
            cards=[card_row(occupancy, viewer) for occupancy in cards],
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

"""Cards in pages, for whoever reads them one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inventory.domain.quantity import GIB
from inventory.queries.cards import fleet_of
from portal.core.keyset import Page, list_page

if TYPE_CHECKING:
    from inventory.domain.occupancy import Occupancy
    from inventory.domain.visibility import Viewer
    from inventory.models import Cluster

KEY_TYPES = (str, str, str, str, int)
CardKey = tuple[str, str, str, str, int]


@dataclass(frozen=True, slots=True)
class CardFilter:
    """What is wanted of a cluster's cards; the default is everything."""

    node: str = ""
    product: str = ""
    free_gib: float = 0
    tainted: bool = False
    mine: bool = False


def card_page(
    cluster: Cluster, viewer: Viewer, wanted: CardFilter, *, cursor: str, limit: int
) -> Page[Occupancy]:
    """Return a page of cards by node, driver, pool and name; no query if unchanged.

    Raises:
        BadCursor: It is none of this list.
    """
    found = [o for o in fleet_of(cluster).occupancies if _matches(o, viewer, wanted)]
    counts: dict[tuple[str, str, str, str], int] = {}
    keys: dict[int, CardKey] = {}
    for occupancy in found:
        card = occupancy.card
        name = (card.node, card.driver, card.pool, card.name)
        counts[name] = counts.get(name, 0) + 1
        keys[id(occupancy)] = (*name, counts[name])
    return list_page(
        found, lambda o: keys[id(o)], KEY_TYPES, cursor=cursor, limit=limit
    )


def _matches(occupancy: Occupancy, viewer: Viewer, wanted: CardFilter) -> bool:
    card = occupancy.card
    return (
        (not wanted.node or card.node == wanted.node)
        and (not wanted.product or card.product == wanted.product)
        and (not wanted.free_gib or (occupancy.largest or 0) >= wanted.free_gib * GIB)
        and (not wanted.tainted or bool(card.taints))
        and (not wanted.mine or any(viewer.owns(h.namespace) for h in occupancy.holds))
    )

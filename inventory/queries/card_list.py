"""Cards in pages, for whoever reads them one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inventory.queries.cards import fleet_of
from inventory.queries.gpu_filter import matching_occupancies
from portal.core.keyset import Page, list_page

if TYPE_CHECKING:
    from inventory.domain.occupancy import Occupancy
    from inventory.domain.visibility import Viewer
    from inventory.models import Cluster
    from inventory.queries.gpu_filter import GpuFilter, Reach

KEY_TYPES = (str, str, str, str, int)
CardKey = tuple[str, str, str, str, int]


def card_page(
    cluster: Cluster,
    viewer: Viewer,
    wanted: GpuFilter,
    reach: Reach,
    *,
    cursor: str,
    limit: int,
) -> Page[Occupancy]:
    """Return a page of cards by node, driver, pool and name; no query if unchanged.

    Raises:
        BadCursor: It is none of this list.
    """
    found = list(matching_occupancies(fleet_of(cluster), viewer, wanted, reach))
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

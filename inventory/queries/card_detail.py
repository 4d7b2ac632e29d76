"""One card: who holds what of it, what still fits, what is near it, its past."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inventory.domain.fragmentation import Fragmentation, fragmentation_of
from inventory.domain.topology import kind_of
from inventory.queries.cards import fleet_of
from inventory.queries.history import card_steps
from inventory.queries.holdings import Holding, holdings
from inventory.queries.meters import meters_of
from inventory.queries.rows import CardRow, PlacementRow, card_row, placement_rows

if TYPE_CHECKING:
    import datetime as dt

    from inventory.domain.cards import Card
    from inventory.domain.fleet import Fleet
    from inventory.domain.history import Step
    from inventory.domain.occupancy import Occupancy
    from inventory.domain.visibility import Viewer
    from inventory.models import Cluster

DeviceKey = tuple[str, str, str]
MOST_NEIGHBOURS = 72


@dataclass(frozen=True, slots=True)
class Neighbours:
    """A place that a card shares with others.

    Attributes:
        kind: pcie, numa or link.
        others: cards of the same node at that place; of a link, of the cluster.
        count: how many others there are; `others` holds at most MOST_NEIGHBOURS.
    """

    kind: str
    key: str
    value: str
    others: tuple[Card, ...]
    count: int


@dataclass(frozen=True, slots=True)
class CardDetail:
    """A card with everything that is known of it."""

    card: CardRow
    placements: list[PlacementRow]
    holdings: list[Holding]
    fits: Fragmentation
    neighbours: list[Neighbours]
    # Of 30 days, by time.
    steps: list[Step]
    revision: int


def card_detail(
    cluster: Cluster, viewer: Viewer, key: DeviceKey, now: dt.datetime
) -> CardDetail | None:
    """Return a card by its key or that of one of its parts, or None; two queries."""
    fleet = fleet_of(cluster)
    occupancy = fleet.occupancy(key) or _by_name(fleet, key)
    if occupancy is None:
        return None
    return CardDetail(
        card=card_row(occupancy, viewer, meters_of(cluster, now)),
        placements=placement_rows(occupancy, viewer),
        holdings=holdings(cluster, occupancy.holds, viewer),
        fits=fragmentation_of([occupancy], {}),
        neighbours=neighbours_of(fleet, occupancy.card),
        steps=card_steps(cluster, occupancy.card.key, now),
        revision=fleet.revision,
    )


def _by_name(fleet: Fleet, key: DeviceKey) -> Occupancy | None:
    unit = fleet.unit_of(key)
    for card in unit.cards if unit else ():
        if card.key == key:
            return fleet.use[id(card)][1]
    return None


def neighbours_of(fleet: Fleet, card: Card) -> list[Neighbours]:
    """Return the places of a card with the others that are there; no query."""
    found = []
    for key, value in card.topology:
        kind = kind_of(key)
        others = [
            o.card
            for o in fleet.occupancies
            if o.card is not card
            and (kind == "link" or o.card.node == card.node)
            and (key, value) in o.card.topology
        ]
        shown = tuple(others[:MOST_NEIGHBOURS])
        found.append(Neighbours(kind, key, value, shown, len(others)))
    return found

"""Which of a cluster's cards a person wants to see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from inventory.domain.quantity import GIB

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inventory.domain.fleet import Fleet
    from inventory.domain.occupancy import Occupancy
    from inventory.domain.visibility import Viewer


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
    driver: str = ""
    node: str = ""

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


def matching_occupancies(
    fleet: Fleet, viewer: Viewer, wanted: GpuFilter, reach: Reach
) -> Iterator[Occupancy]:
    """Yield the cards that a filter leaves, by unit."""
    for occupancy in fleet.occupancies:
        if (
            _is_such(occupancy, wanted)
            and _is_held_so(occupancy, viewer, wanted, reach)
            and _is_reached(occupancy, wanted, reach)
            and _holds_text(occupancy, viewer, wanted.text.lower())
        ):
            yield occupancy


def _is_such(occupancy: Occupancy, wanted: GpuFilter) -> bool:
    card = occupancy.card
    return (
        (not wanted.product or card.product == wanted.product)
        and (not wanted.node or card.node == wanted.node)
        and (not wanted.tainted or bool(card.taints))
        and (not wanted.free_gib or (occupancy.largest or 0) >= wanted.free_gib * GIB)
        and (not wanted.driver or any(d == wanted.driver for d, _pool in card.pools))
    )


def _is_held_so(
    occupancy: Occupancy, viewer: Viewer, wanted: GpuFilter, reach: Reach
) -> bool:
    spaces = {hold.namespace for hold in occupancy.holds}
    return (not wanted.mine or any(map(viewer.owns, spaces))) and (
        not wanted.tenant
        or any(reach.owners.get(space) == wanted.tenant for space in spaces)
    )


def _is_reached(occupancy: Occupancy, wanted: GpuFilter, reach: Reach) -> bool:
    """Whether the class selects a part of a card."""
    if not wanted.device_class:
        return True
    devices = reach.devices or frozenset()
    return any(part.key in devices for part in occupancy.card.parts)


def _holds_text(occupancy: Occupancy, viewer: Viewer, text: str) -> bool:
    """Look for a text; never in a name that may not be seen."""
    if not text:
        return True
    card = occupancy.card
    claims = [
        f"{hold.namespace}/{hold.claim}"
        for hold in occupancy.holds
        if viewer.sees(hold.namespace)
    ]
    words = [card.node, card.pool, card.driver, card.name, card.product, *claims]
    return text in "\n".join(words).lower()

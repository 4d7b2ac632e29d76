"""How many bytes of cards claims hold, summed by whoever holds them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from inventory.domain.holds import is_whole_hold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from inventory.domain.cards import Card
    from inventory.domain.holds import Hold, Placement
    from inventory.domain.occupancy import Occupancy

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Usage:
    """What somebody holds: bytes (a lower bound where `at_least`) on some cards."""

    allocated: int
    at_least: bool
    cards: int


def held_by(
    occupancies: Iterable[Occupancy], key_of: Callable[[Hold], Key]
) -> dict[Key, Usage]:
    """Return what is held, by a key of its holder; administrative access holds nothing.

    Bytes of one card never sum up to more than the card has.
    """
    allocated: dict[Key, int] = defaultdict(int)
    unsure: set[Key] = set()
    cards: dict[Key, int] = defaultdict(int)
    for occupancy in occupancies:
        here: dict[Key, int] = defaultdict(int)
        for hold, size in hold_sizes(occupancy):
            key = key_of(hold)
            here[key] += size or 0
            if size is None:
                unsure.add(key)
        for key, size in here.items():
            allocated[key] += min(size, occupancy.card.total or size)
            cards[key] += 1
    return {key: Usage(allocated[key], key in unsure, cards[key]) for key in cards}


def hold_sizes(occupancy: Occupancy) -> Iterator[tuple[Hold, int | None]]:
    """Yield what is held of a card and its bytes, None where nobody says how many."""
    for placement in occupancy.placements:
        for hold in placement.holds:
            yield hold, _size(occupancy.card, placement, hold)


def _size(card: Card, placement: Placement, hold: Hold) -> int | None:
    part = placement.part
    if part.shared and hold.consumed:
        return hold.memory
    if is_whole_hold(part, hold):
        return card.total if len(placement.holds) == 1 else None
    return part.memory

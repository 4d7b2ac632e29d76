"""Sums over cards that say where they are only a lower bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from inventory.domain.occupancy import Occupancy


@dataclass(frozen=True, slots=True)
class Totals:
    """What some cards sum up to; bytes over cards whose memory is published.

    `at_least` says that there is more memory than `total`, `allocated_at_least`
    that more may be allocated than `allocated`.
    """

    cards: int
    unknown_cards: int
    cards_in_use: int
    cards_free: int
    # Of which some may still be in use.
    cards_unavailable: int
    cards_unavailable_in_use: int
    total: int
    at_least: bool
    allocated: int
    allocated_at_least: bool
    available: int
    unavailable: int
    largest: int
    largest_count: int
    # Whether all cards are known: else each count is a lower bound.
    complete: bool = True

    @property
    def is_lacking(self) -> bool:
        """Whether there may be more cards, in use or free, than are counted."""
        return not self.complete

    @property
    def used_width(self) -> str:
        """Allocated of total, such as "59.8%"."""
        return f"{100 * self.allocated / (self.total or 1):.1f}%"

    @property
    def unavailable_width(self) -> str:
        """Unavailable of total, such as "12.5%"."""
        return f"{100 * self.unavailable / (self.total or 1):.1f}%"

    @property
    def percent(self) -> float | None:
        """Allocated of total in percent, or None where nothing is published."""
        return 100 * self.allocated / self.total if self.total else None


def totals_of(occupancies: Collection[Occupancy], *, complete: bool = True) -> Totals:
    """Return what cards sum up to; `complete` False: there may be more cards."""
    unknown = sum(o.card.total is None for o in occupancies)
    pieces = [o.largest or 0 for o in occupancies]
    largest = max(pieces, default=0)
    return Totals(
        cards=len(occupancies),
        unknown_cards=unknown,
        cards_in_use=sum(o.in_use for o in occupancies),
        cards_free=sum(o.usable and not o.in_use for o in occupancies),
        cards_unavailable=sum(not o.usable for o in occupancies),
        cards_unavailable_in_use=sum(not o.usable and o.in_use for o in occupancies),
        total=sum(o.card.total or 0 for o in occupancies),
        at_least=bool(unknown)
        or not complete
        or any(o.card.at_least for o in occupancies),
        allocated=sum(o.allocated or 0 for o in occupancies),
        allocated_at_least=any(o.in_use and not o.metered for o in occupancies),
        available=sum(o.available or 0 for o in occupancies),
        unavailable=sum(o.unavailable or 0 for o in occupancies),
        largest=largest,
        largest_count=pieces.count(largest) if largest else 0,
        complete=complete,
    )

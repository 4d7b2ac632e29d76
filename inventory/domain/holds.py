"""What claims hold of a card, and the pieces that a card is drawn in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inventory.domain.gpus import amount

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from inventory.domain.cards import Card, Part
    from inventory.domain.gpus import Taint


@dataclass(frozen=True, slots=True)
class Hold:
    """One device, or one share of it, that a claim holds."""

    namespace: str
    claim: str
    request: str
    driver: str
    pool: str
    device: str
    share: str = ""
    # ((key, quantity), …); empty where the whole device is held.
    consumed: tuple[tuple[str, str], ...] = ()
    admin: bool = False

    @property
    def memory(self) -> int | None:
        """Bytes of memory that the share consumes, or None where it says nothing."""
        return self._consumed("memory")

    @property
    def shares(self) -> int | None:
        """How many of the capacity `shares` it consumes, or None."""
        return self._consumed("shares")

    def _consumed(self, name: str) -> int | None:
        for key, quantity in self.consumed:
            if key.rpartition("/")[2].lower() == name:
                value = amount(quantity)
                return None if value is None else int(value)
        return None


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a card, or a part of it, cannot be had. `code` is taint or a pool's."""

    code: str
    detail: str = ""
    taint: Taint | None = None


@dataclass(frozen=True, slots=True)
class Placement:
    """One way to use a card, and whether it can be had now."""

    part: Part
    state: str  # possible | blocked | taken | unavailable
    holds: tuple[Hold, ...] = ()


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a card's bar, in its units; state taken, free, blocked, unavailable."""

    start: float
    size: float
    state: str
    label: str = ""
    holds: tuple[Hold, ...] = ()


def shared_memory(holds: Sequence[Hold]) -> int:
    """Return the bytes that shares consume together."""
    return sum(hold.memory or 0 for hold in holds)


def is_whole_hold(part: Part, hold: Hold) -> bool:
    """Return whether a hold of a part takes its whole card."""
    return part.role != "partition" and not (part.shared and hold.consumed)


def held_memory(part: Part, holds: Sequence[Hold]) -> int | None:
    """Return the bytes that holds of one device take, None where nobody says."""
    if not part.shared or any(not hold.consumed for hold in holds):
        return part.memory
    return shared_memory(holds)


def compute_held(part: Part, card: Card) -> int:
    """Return the compute slices that a part occupies when it is held."""
    return part.compute if part.role == "partition" else card.compute_count


def cells_held(part: Part, card: Card) -> Iterable[int]:
    """Return the memory slices that a part occupies when it is held."""
    whole = part.role != "partition" and not part.uses
    return range(card.cell_count) if whole else part.cells

"""How broken up a fleet's memory is: by what can be had in one piece now.

Exact, from whole numbers of bytes: a severity from 0 to 3, how well cards that are
held whole are used (η), and on how many cards each partition profile still fits.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inventory.domain.holds import is_whole_hold
from inventory.domain.occupancy import largest_piece
from inventory.domain.quantity import GIB

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from inventory.domain.holds import Hold, Placement
    from inventory.domain.occupancy import Occupancy

    # Bytes that each device of a request needs: (namespace, claim, request) → bytes.
    Needs = Mapping[tuple[str, str, str], int | None]

DeviceKey = tuple[str, str, str]

LARGE = 40 * GIB
SMALL = 16 * GIB
# Cards below this size have their thresholds scaled by their size.
FULL_CARD = 80 * GIB


@dataclass(frozen=True, slots=True)
class Piece:
    """The largest piece of one card that can be had now, and the card's size.

    Bytes; `largest` 0 where nothing can be had; None where it is not published.
    """

    largest: int | None
    total: int | None = FULL_CARD

    @property
    def scaled(self) -> bool:
        """Whether the thresholds are lower for this card."""
        return self.total is not None and self.total < FULL_CARD

    def reaches(self, threshold: int) -> bool:
        """Return whether the piece has `threshold` bytes, scaled by the card's size."""
        size = min(self.total or FULL_CARD, FULL_CARD)
        return (self.largest or 0) * FULL_CARD >= threshold * size


def severity(pieces: Collection[Piece], asked: int = 1) -> int | None:
    """Return how broken up cards are, 0 (whole) to 3 (full), or None of no card.

    Tested in the order 0, 3, 1, 2: 0 where at least half of the cards have 40 GiB
    in one piece; 3 where nothing is free; 1 where pieces of 16 GiB exist on as
    many cards as are asked; else 2. Cards without a published size count to
    neither, but as long as one of them can be had, something is free.

    Args:
        pieces: one a card.
        asked: how many cards are asked for; 1 outside a claim.
    """
    known = [piece for piece in pieces if piece.largest is not None]
    if not known:
        return None
    if 2 * sum(piece.reaches(LARGE) for piece in known) >= len(known):
        return 0
    if all(piece.largest == 0 for piece in pieces):
        return 3
    return 1 if sum(piece.reaches(SMALL) for piece in known) >= asked else 2


@dataclass(frozen=True, slots=True)
class Efficiency:
    """Cards that are held whole, and how much of them their claims need; bytes.

    `cards` and `held` count only those whose claims say what they need;
    `unknown_cards` counts the others.
    """

    cards: int
    unknown_cards: int
    held: int
    needed: int

    @property
    def eta(self) -> float | None:
        """Needed of held, 0 to 1; None where no claim says what it needs."""
        return self.needed / self.held if self.held else None

    @property
    def percent(self) -> float | None:
        """η in percent, or None."""
        return None if self.eta is None else 100 * self.eta

    @property
    def stranded(self) -> int:
        """Bytes that are held and not needed."""
        return self.held - self.needed


def efficiency(whole: Iterable[tuple[int, int | None]]) -> Efficiency:
    """Return how well cards held whole are used.

    Args:
        whole: (size, bytes needed or None where nobody says), one a card.
    """
    cards = list(whole)
    known = [(size, min(need, size)) for size, need in cards if need is not None]
    return Efficiency(
        cards=len(known),
        unknown_cards=len(cards) - len(known),
        held=sum(size for size, _need in known),
        needed=sum(need for _size, need in known),
    )


@dataclass(frozen=True, slots=True)
class Profile:
    """A partition profile that can be had now, and on how many cards."""

    name: str
    memory: int | None
    cards: int


@dataclass(frozen=True, slots=True)
class Fragmentation:
    """What some cards still give in one piece; bytes.

    Attributes:
        severity: 0 to 3, None where no card publishes its memory.
        scaled: a card is smaller than 80 GiB, so thresholds follow its size.
        unknown_cards: cards whose free piece has no published size.
        large_cards, small_cards: cards with a piece of 40 and of 16 GiB (scaled).
        largest: the largest piece; 0 where nothing is free, None where unknown.
        largest_cards: on how many cards there is one of that size.
        profiles: partition profiles that fit now, the largest first.
        unplaced: free bytes of memory slices that no partition can use.
        whole: how cards that are held whole are used.
    """

    cards: int
    severity: int | None
    scaled: bool
    unknown_cards: int
    large_cards: int
    small_cards: int
    largest: int | None
    largest_cards: int
    profiles: tuple[Profile, ...]
    unplaced: int
    whole: Efficiency


def fragmentation_of(
    occupancies: Sequence[Occupancy],
    needs: Needs,
    *,
    within: Collection[DeviceKey] | None = None,
    asked: int = 1,
) -> Fragmentation:
    """Return how broken up some cards are.

    Args:
        occupancies: the cards and their use.
        needs: what each device of a claim's request needs.
        within: only these devices can be asked for, as those of a class; cards
            without one of them are left out.
        asked: how many cards are asked for.
    """
    cards = [(o, offered) for o in occupancies if (offered := _offered(o, within))]
    pieces = [
        Piece(largest_piece(o.placements, offered), o.card.total)
        for o, offered in cards
    ]
    known = [piece for piece in pieces if piece.largest is not None]
    sizes = [piece.largest or 0 for piece in known]
    largest = max(sizes, default=None)
    return Fragmentation(
        cards=len(cards),
        severity=severity(pieces, asked),
        scaled=any(piece.scaled for piece in known),
        unknown_cards=len(pieces) - len(known),
        large_cards=sum(piece.reaches(LARGE) for piece in known),
        small_cards=sum(piece.reaches(SMALL) for piece in known),
        largest=largest,
        largest_cards=sizes.count(largest) if largest else 0,
        profiles=_profiles(offered for _o, offered in cards),
        unplaced=sum(_unplaced(o) for o, _offered in cards),
        whole=efficiency(w for o, _offered in cards if (w := whole_use(o, needs))),
    )


def matching(
    occupancies: Iterable[Occupancy], devices: Collection[DeviceKey]
) -> list[Occupancy]:
    """Return the cards of which one of some devices is a part."""
    return [o for o in occupancies if any(part.key in devices for part in o.card.parts)]


def _offered(
    occupancy: Occupancy, within: Collection[DeviceKey] | None
) -> tuple[Placement, ...]:
    if within is None:
        return occupancy.placements
    return tuple(p for p in occupancy.placements if p.part.key in within)


def _profiles(cards: Iterable[tuple[Placement, ...]]) -> tuple[Profile, ...]:
    counts: Counter[str] = Counter()
    memory: dict[str, int | None] = {}
    for placements in cards:
        fits = [p.part for p in placements if p.state == "possible" and p.part.profile]
        counts.update({part.profile for part in fits})
        memory.update({part.profile: part.memory for part in fits})
    found = [Profile(name, memory[name], counts[name]) for name in counts]
    return tuple(sorted(found, key=lambda p: (-(p.memory or 0), p.name)))


def _unplaced(occupancy: Occupancy) -> int:
    """Return the free bytes of a usable card's slices that no placement covers."""
    card = occupancy.card
    if not occupancy.usable or not card.cell_count or not card.total:
        return 0
    return card.total * occupancy.cells_unavailable // card.cell_count


def whole_use(occupancy: Occupancy, needs: Needs) -> tuple[int, int | None] | None:
    """Return (size, bytes needed) of a card that is held whole, None of another."""
    total = occupancy.card.total
    holds = [
        hold
        for p in occupancy.placements
        for hold in p.holds
        if is_whole_hold(p.part, hold)
    ]
    if not holds or total is None:
        return None
    return total, _needed(holds, needs)


def _needed(holds: Sequence[Hold], needs: Needs) -> int | None:
    amounts = [needs.get((h.namespace, h.claim, h.request)) for h in holds]
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if len(known) == len(amounts) else None

"""Claims whose move would free a larger piece of a card, found from occupancy alone.

What is found here may help; that it does, and where the moved claim would go, is
the engine's word.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inventory.domain.holds import held_memory
from inventory.domain.occupancy import free_pieces, occupancy_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from inventory.domain.cards import Card, Part
    from inventory.domain.occupancy import Occupancy

ClaimKey = tuple[str, str]
CardKind = tuple[str, str]  # product, how it is cut up

MOST_CANDIDATES = 40
# Of one kind of card: cards that are worked out without one of their claims.
MOST_WORKED_OUT = 400
MOST_OF_PIECE = 12
MOST_PIECES = 3
MOST_NODES = 48


@dataclass(frozen=True, slots=True)
class Larger:
    """A piece that could be had after a move.

    Attributes:
        profile: of a partition; "" of a part that has none.
        role: whole, partition or passthrough.
        size: bytes.
        parts: the ways to have it, all of one card.
    """

    profile: str
    role: str
    size: int
    parts: tuple[Part, ...]

    @property
    def name(self) -> str:
        """The profile, or else the role."""
        return self.profile or self.role


@dataclass(frozen=True, slots=True)
class Candidate:
    """One claim to be moved from one card.

    Attributes:
        largest: bytes of the largest piece that any card of its kind gives now.
        moved: bytes that the claim holds, of all cards; None where nobody says.
        least: bytes of the smallest device or share that it holds of the card.
        pieces: what could be had then and is larger, the largest first.
    """

    card: Card
    claim: ClaimKey
    largest: int
    moved: int | None
    least: int
    pieces: tuple[Larger, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """Candidates, the best first, and how many claims were not looked at."""

    candidates: tuple[Candidate, ...]
    more: int


def candidates_among(occupancies: Sequence[Occupancy]) -> Found:
    """Return the claims of which each, moved, might free a larger piece of its card.

    Larger is what exceeds the largest piece of all cards of the kind: of the same
    product, cut up in the same way, so that who asks for one can be given another.
    Of each sort of piece those that move the least memory come first.

    Args:
        occupancies: all cards of a cluster.
    """
    moved = _moved(occupancies)
    groups: dict[tuple[CardKind, str], list[Candidate]] = defaultdict(list)
    more = 0
    for kind, cards in by_kind(occupancies).items():
        found, left = _of_kind(cards, moved)
        more += left
        for each in found:
            groups[kind, each.pieces[0].name].append(each)
    ranked = sorted(groups.values(), key=lambda of: -of[0].pieces[0].size)
    ordered = [of[i] for i in range(MOST_OF_PIECE) for of in ranked if i < len(of)]
    kept = ordered[:MOST_CANDIDATES]
    return Found(tuple(kept), more + sum(map(len, ranked)) - len(kept))


def by_kind(occupancies: Iterable[Occupancy]) -> dict[CardKind, list[Occupancy]]:
    """Return (product, how it is cut up) → its cards, sorted."""
    groups: dict[CardKind, list[Occupancy]] = defaultdict(list)
    for occupancy in occupancies:
        groups[occupancy.card.product, occupancy.card.kind].append(occupancy)
    return {kind: groups[kind] for kind in sorted(groups)}


def places_for(candidate: Candidate, occupancies: Iterable[Occupancy]) -> list[str]:
    """Return other nodes with room for what is to be moved, the tightest first.

    So that the move breaks no large piece that is free elsewhere; 48 at most.
    """
    room: dict[str, int] = {}
    for occupancy in occupancies:
        node, largest = occupancy.card.node, occupancy.largest
        if not node or node == candidate.card.node:
            continue
        if largest is None or largest >= max(candidate.least, 1):
            room[node] = max(room.get(node, 0), largest or 0)
    return sorted(room, key=lambda node: (room[node], node))[:MOST_NODES]


def _of_kind(
    cards: Sequence[Occupancy], moved: Mapping[ClaimKey, int | None]
) -> tuple[list[Candidate], int]:
    """Return the candidates of one kind of card, and how many were not worked out."""
    largest = max((o.largest or 0 for o in cards), default=0)
    pairs = [
        (o, claim)
        for o in cards
        if o.usable and (o.card.total or 0) > largest
        for claim in _holders(o)
    ]
    pairs.sort(key=lambda pair: (_rank(moved[pair[1]]), pair[1], pair[0].card.key))
    tried = pairs[:MOST_WORKED_OUT]
    found = [
        Candidate(o.card, claim, largest, moved[claim], _least(o, claim), pieces)
        for o, claim in tried
        if (pieces := _pieces_without(o, claim, largest))
    ]
    return found, len(pairs) - len(tried)


def _rank(moved: int | None) -> tuple[bool, int]:
    return moved is None, moved or 0


def _pieces_without(
    occupancy: Occupancy, claim: ClaimKey, largest: int
) -> tuple[Larger, ...]:
    """Return the pieces above a size that a card gives without a claim."""
    kept = [h for h in occupancy.holds if (h.namespace, h.claim) != claim]
    problems = [reason for reason in occupancy.reasons if reason.taint is None]
    after = occupancy_of(occupancy.card, kept, problems).placements
    ways: dict[tuple[int, str, str], list[Part]] = defaultdict(list)
    for part, size in free_pieces(after, after):
        if size > largest:
            ways[-size, part.profile, part.role].append(part)
    ordered = sorted(ways)[:MOST_PIECES]
    return tuple(
        Larger(profile, role, -size, tuple(ways[size, profile, role]))
        for size, profile, role in ordered
    )


def _holders(occupancy: Occupancy) -> list[ClaimKey]:
    found = {(h.namespace, h.claim) for h in occupancy.holds if not h.admin}
    return sorted(found)


def _parts_of(occupancy: Occupancy) -> Iterator[tuple[ClaimKey, int | None]]:
    """Yield each claim with the bytes of a device or share that it holds."""
    for placement in occupancy.placements:
        for hold in placement.holds:
            size = held_memory(placement.part, (hold,))
            yield (hold.namespace, hold.claim), size


def _least(occupancy: Occupancy, claim: ClaimKey) -> int:
    return min(
        (size or 0 for of, size in _parts_of(occupancy) if of == claim), default=0
    )


def _moved(occupancies: Iterable[Occupancy]) -> dict[ClaimKey, int | None]:
    """Return the bytes that each claim holds, None where a part of it is unknown."""
    total: dict[ClaimKey, int | None] = {}
    for occupancy in occupancies:
        for claim, size in _parts_of(occupancy):
            before = total.get(claim, 0)
            total[claim] = None if size is None or before is None else before + size
    return total

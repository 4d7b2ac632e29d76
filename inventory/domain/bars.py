"""A card as a bar: what is taken, what fits, what fits nowhere, in its own units."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from inventory.domain.holds import (
    Hold,
    Placement,
    Segment,
    cells_held,
    compute_held,
    held_memory,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inventory.domain.cards import Card


@dataclass(frozen=True, slots=True)
class Bar:
    """A card's pieces in order; `units` is its length: slices, bytes, or one whole."""

    segments: tuple[Segment, ...]
    units: float

    @property
    def blocked(self) -> float:
        """How much is free, but has no placement."""
        return sum(s.size for s in self.segments if s.state == "blocked")

    @property
    def taken(self) -> int:
        """How many pieces are held."""
        return sum(s.state == "taken" for s in self.segments)


def bar_of(card: Card, placements: Sequence[Placement]) -> Bar:
    """Return the bar of a card whose placements are as given."""
    if card.cell_count:
        return Bar(tuple(_cell_bar(card, placements)), card.cell_count)
    if card.kind in ("static", "dynamic") and card.total:
        return Bar(tuple(_piece_bar(card, placements)), card.total)
    if any(part.shared for part in card.parts) and card.total:
        return Bar(tuple(_share_bar(card, placements)), card.total)
    return Bar((_whole_segment(placements),), 1)


def compute_bar_of(card: Card, placements: Sequence[Placement]) -> Bar | None:
    """Return a card's compute slices one by one, or None where it is not cut so.

    Which of them a partition has is not published: those in use come first.
    """
    units = card.compute_count
    if not units:
        return None
    taken = [
        ("taken", p.holds)
        for p in placements
        if p.holds
        for _ in range(compute_held(p.part, card))
    ][:units]
    rest = _rest_state(placements)
    slices = [*taken, *[(rest, ())] * (units - len(taken))]
    segments = (
        Segment(n, 1, state, "", holds) for n, (state, holds) in enumerate(slices)
    )
    return Bar(tuple(segments), units)


def _whole_segment(placements: Sequence[Placement]) -> Segment:
    holds = tuple(hold for p in placements for hold in p.holds)
    return Segment(0, 1, _overall(placements, holds), "", holds)


def _overall(placements: Sequence[Placement], holds: Sequence[Hold]) -> str:
    if holds:
        return "taken"
    states = {p.state for p in placements}
    return "free" if "possible" in states else "unavailable"


def _share_bar(card: Card, placements: Sequence[Placement]) -> list[Segment]:
    """Shares one after the other, then what is left."""
    total, at = float(card.total or 0), 0.0
    segments: list[Segment] = []
    for hold in (hold for p in placements for hold in p.holds):
        whole = total - at
        size = min(_share_size(card, hold, whole), whole)
        segments.append(Segment(at, size, "taken", "", (hold,)))
        at += size
    if at < total:
        rest = [replace(p, holds=()) for p in placements if p.state != "taken"]
        segments.append(Segment(at, total - at, _overall(rest, ())))
    return segments


def _share_size(card: Card, hold: Hold, whole: float) -> float:
    if not hold.consumed:
        return whole
    if hold.memory:
        return hold.memory
    of = max((part.share_count or 0 for part in card.parts), default=0)
    total = float(card.total or 0)
    return total * (hold.shares or 0) / of if of else total / 100


def _piece_bar(card: Card, placements: Sequence[Placement]) -> list[Segment]:
    """Partitions that have a size but no place, one after the other, then the rest."""
    total, at = float(card.total or 0), 0.0
    fixed = card.kind == "static"
    segments: list[Segment] = []
    for p in _pieces(placements, fixed=fixed):
        size = min(held_memory(p.part, p.holds) or 0, total - at)
        segments.append(Segment(at, size, _piece_state(p), p.part.profile, p.holds))
        at += size
    if at < total:
        rest = "unavailable" if fixed else _rest_state(placements)
        segments.append(Segment(at, total - at, rest))
    return segments


def _pieces(placements: Sequence[Placement], *, fixed: bool) -> list[Placement]:
    """Fixed partitions are all drawn, those made on demand when they are held."""
    whole = [p for p in placements if p.holds and p.part.role != "partition"]
    if whole or not fixed:
        return whole or [p for p in placements if p.holds]
    return [p for p in placements if p.part.role == "partition"]


def _piece_state(p: Placement) -> str:
    if p.holds:
        return "taken"
    return "free" if p.state == "possible" else p.state


def _rest_state(placements: Sequence[Placement]) -> str:
    states = {p.state for p in placements}
    if "possible" in states:
        return "free"
    return "blocked" if "blocked" in states else "unavailable"


# State, label, holds and the piece that a cell belongs to.
_Cell = tuple[str, str, tuple[Hold, ...], int]


def _cell_bar(card: Card, placements: Sequence[Placement]) -> list[Segment]:
    """Memory slices: what is taken, the largest that fit, and what fits nowhere."""
    rest = "unavailable" if _rest_state(placements) == "unavailable" else "blocked"
    cells: list[_Cell] = [
        (rest, "", (), -1 if rest == "unavailable" else -1 - index)
        for index in range(card.cell_count)
    ]
    _draw_free(cells, [p for p in placements if p.state == "possible" and not p.holds])
    for n, p in enumerate(placements):
        if p.holds:
            for cell in cells_held(p.part, card):
                cells[cell] = ("taken", p.part.profile, p.holds, 1000 + n)
    return _runs(cells)


def _draw_free(cells: list[_Cell], possible: Sequence[Placement]) -> None:
    """Label free cells with the largest partitions that fit side by side."""
    free = {cell for p in possible for cell in p.part.cells}
    for cell in free:
        cells[cell] = ("free", "", (), -1000 - cell)
    named = [p for p in possible if p.part.role == "partition"]
    for n, p in enumerate(sorted(named, key=_largest_first)):
        if p.part.cells and free.issuperset(p.part.cells):
            free.difference_update(p.part.cells)
            for cell in p.part.cells:
                cells[cell] = ("free", p.part.profile, (), n + 1)


def _largest_first(p: Placement) -> tuple[int, bool, float]:
    """Most slices first; plain profiles before those with media engines (`+me`)."""
    used = float(sum(p.part.uses.values()))
    return -len(p.part.cells), "+" in p.part.profile, -used


def _runs(cells: list[tuple[str, str, tuple[Hold, ...], int]]) -> list[Segment]:
    """Join neighbouring cells that belong to one piece."""
    segments: list[Segment] = []
    last = None
    for index, (state, label, holds, piece) in enumerate(cells):
        if piece == last:
            tail = segments[-1]
            segments[-1] = replace(tail, size=tail.size + 1)
        else:
            segments.append(Segment(index, 1, state, label, holds))
        last = piece
    return segments

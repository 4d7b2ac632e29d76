"""What of a card is taken, by whom, and what can still be had.

Follows the allocator: counters are charged once a device, shares add up, an
administrative claim charges nothing, a taint or a faulty pool takes what is
left. MIG is drawn from memory-slice counters, never from sums of memory: five
free slices may have no placement.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inventory.domain.holds import (
    Hold,
    Placement,
    Reason,
    cells_held,
    held_memory,
    is_whole_hold,
    shared_memory,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from inventory.domain.cards import Card, Part
    from inventory.domain.gpus import Amounts

DeviceKey = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Occupancy:
    """A card and its use; bytes, None where the card's memory is not published.

    `metered` is false where something holds the card without saying how much
    memory it takes: `allocated` is then a lower bound.
    """

    card: Card
    usable: bool
    allocated: int | None
    available: int | None
    unavailable: int | None
    metered: bool
    largest: int | None
    taken_cells: frozenset[int]
    placements: tuple[Placement, ...]
    holds: tuple[Hold, ...]
    reasons: tuple[Reason, ...]

    @property
    def in_use(self) -> bool:
        """Whether any claim is charged for a part of it."""
        return any(not hold.admin for hold in self.holds)

    @property
    def cells_taken(self) -> int:
        """How many memory slices are held."""
        return len(self.taken_cells)

    @property
    def cells_unavailable(self) -> int:
        """How many memory slices nobody holds and no placement that is free covers."""
        reached = {
            cell
            for p in self.placements
            if p.state == "possible"
            for cell in (p.part.cells or range(self.card.cell_count))
        }
        return self.card.cell_count - len(self.taken_cells | reached)

    def state_of(self, driver: str, pool: str, device: str) -> str:
        """Return a part's state: possible, blocked, taken or unavailable; "" for none."""
        for p in self.placements:
            if (p.part.driver, p.part.pool, p.part.name) == (driver, pool, device):
                return p.state
        return ""

    @property
    def share_count(self) -> tuple[int, int] | None:
        """(taken, of) where the driver counts shares, else None."""
        of = max((part.share_count or 0 for part in self.card.parts), default=0)
        if not of:
            return None
        return sum(h.shares or 0 for h in self.holds if not h.admin), of


@dataclass(frozen=True, slots=True)
class _Charge:
    """Holds by device of one card, without administrative ones."""

    by_device: dict[DeviceKey, tuple[Hold, ...]]

    def of(self, part: Part) -> tuple[Hold, ...]:
        return self.by_device.get((part.driver, part.pool, part.name), ())


def occupancy_of(
    card: Card, holds: Sequence[Hold], problems: Iterable[Reason] = ()
) -> Occupancy:
    """Return what of a card is taken and what can be had.

    Args:
        card: the card.
        holds: every allocation of one of its devices.
        problems: why its pools are not usable, if they are not.
    """
    charge = _Charge(_by_device(holds))
    troubled = tuple(problems)
    placements = tuple(_placements(card, charge, pool_down=bool(troubled)))
    blocked = bool(troubled) or all(part.blocked for part in card.parts)
    taints = tuple(Reason("taint", taint=t) for t in card.taints if t.blocks)
    allocated, metered = _allocated(card, charge)
    available = _available(card, placements, allocated)
    return Occupancy(
        card=card,
        usable=not blocked,
        allocated=allocated,
        available=available,
        unavailable=_rest(card.total, allocated, available),
        metered=metered,
        largest=largest_piece(placements),
        taken_cells=frozenset(_taken_cells(card, charge)),
        placements=placements,
        holds=tuple(holds),
        reasons=troubled + taints,
    )


def _by_device(holds: Sequence[Hold]) -> dict[DeviceKey, tuple[Hold, ...]]:
    found: dict[DeviceKey, list[Hold]] = defaultdict(list)
    for hold in holds:
        if not hold.admin:
            found[(hold.driver, hold.pool, hold.device)].append(hold)
    return {key: tuple(of) for key, of in found.items()}


def _rest(
    total: int | None, allocated: int | None, available: int | None
) -> int | None:
    if total is None or allocated is None or available is None:
        return None
    return max(total - allocated - available, 0)


def _free_counters(card: Card, charge: _Charge) -> Amounts:
    """Return what is left of the card's counters; each held device counts once."""
    left = dict(card.counters)
    for part in card.parts:
        if charge.of(part):
            for name, used in part.uses.items():
                left[name] = left.get(name, 0) - used
    return left


def _placements(card: Card, charge: _Charge, *, pool_down: bool) -> Iterable[Placement]:
    left = _free_counters(card, charge)
    for part in card.parts:
        holds = charge.of(part)
        if holds and not (part.shared and _room(part, holds)):
            state = "taken"
        elif pool_down or part.blocked:
            state = "unavailable"
        else:
            fits = holds or _fits(card, part, left, charge)
            state = "possible" if fits else "blocked"
        yield Placement(part, state, holds)


def _fits(card: Card, part: Part, left: Amounts, charge: _Charge) -> bool:
    """Counters decide where there are any, else whether another face is held."""
    if part.uses:
        return all(left.get(name, 0) >= used for name, used in part.uses.items())
    rivals = [
        p for p in card.parts if part.role != "partition" or p.role != "partition"
    ]
    return not any(charge.of(rival) for rival in rivals)


def _room(part: Part, holds: Sequence[Hold]) -> bool:
    """Whether a shared device can take one more share."""
    if any(not hold.consumed for hold in holds):
        return False
    if part.share_count is not None:
        return sum(hold.shares or 0 for hold in holds) < part.share_count
    return part.memory is None or shared_memory(holds) < part.memory


def _allocated(card: Card, charge: _Charge) -> tuple[int | None, bool]:
    """Return allocated bytes and whether they are all that is allocated."""
    held = [(part, holds) for part in card.parts if (holds := charge.of(part))]
    if not held:
        return (0 if card.total is not None else None), True
    if card.total is None:
        return None, False
    metered = all(_metered(part, holds) for part, holds in held)
    if any(is_whole_hold(part, hold) for part, holds in held for hold in holds):
        return card.total, metered
    known = [held_memory(part, holds) for part, holds in held]
    unknown = any(memory is None for memory in known)
    return min(sum(m or 0 for m in known), card.total), metered and not unknown


def _metered(part: Part, holds: Sequence[Hold]) -> bool:
    return not part.shared or all(not h.consumed or h.memory for h in holds)


def _available(
    card: Card, placements: Sequence[Placement], allocated: int | None
) -> int | None:
    """Return the bytes that a claim without tolerations could still get part of."""
    if card.total is None or allocated is None:
        return None
    possible = [p for p in placements if p.state == "possible"]
    if not possible:
        return 0
    if card.kind == "static" and not any(p.part.role == "whole" for p in possible):
        pieces = [p.part.memory or 0 for p in possible if p.part.role == "partition"]
        return min(sum(pieces), card.total - allocated)
    return card.total - allocated


def largest_piece(
    placements: Sequence[Placement], offered: Sequence[Placement] | None = None
) -> int | None:
    """Return the bytes of the largest piece that can be had now; None: unknown.

    Args:
        placements: all of a card.
        offered: those of them that may be asked for; all by default.
    """
    wanted = placements if offered is None else offered
    sizes = [size for _part, size in free_pieces(placements, wanted)]
    anything = any(p.state == "possible" for p in wanted)
    return max(sizes, default=None if anything else 0)


def free_pieces(
    placements: Sequence[Placement], offered: Sequence[Placement]
) -> list[tuple[Part, int]]:
    """Return what of a card can be had now, each with its bytes; of unknown size none.

    Arguments as for `largest_piece`.
    """
    held_partition = any(p.holds for p in placements if p.part.role == "partition")
    return [
        (p.part, p.part.memory - (shared_memory(p.holds) if p.part.shared else 0))
        for p in offered
        if p.state == "possible"
        and p.part.memory is not None
        and not (held_partition and p.part.role == "whole" and not p.part.uses)
    ]


def _taken_cells(card: Card, charge: _Charge) -> set[int]:
    taken: set[int] = set()
    for part in card.parts:
        if charge.of(part):
            taken.update(cells_held(part, card))
    return taken

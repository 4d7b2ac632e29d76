"""A card as one person may see it: the names of others are left out here, once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inventory.domain.bars import Bar, bar_of, compute_bar_of
from inventory.domain.quantity import GIB

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable

    from inventory.domain.gpus import Taint
    from inventory.domain.holds import Hold, Reason, Segment
    from inventory.domain.occupancy import Occupancy
    from inventory.domain.visibility import Viewer
    from inventory.queries.meters import MeterPage


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a part; `claim` and `namespace` are "" where they may not be named."""

    namespace: str
    claim: str
    device: str
    request: str
    mine: bool
    admin: bool
    # Bytes that a share consumes, None where the whole device is held.
    memory: int | None

    @property
    def named(self) -> bool:
        """Whether this person may see who it is."""
        return bool(self.claim)


@dataclass(frozen=True, slots=True)
class Piece:
    """A rectangle of a card's bar; positions in percent of its length."""

    x: str
    width: str
    middle: str
    # mine | other | free | blocked | down | unknown
    mark: str
    label: str
    title: str


@dataclass(frozen=True, slots=True)
class PlacementRow:
    """One way to use a card, and who has it."""

    device: str
    driver: str
    pool: str
    profile: str
    role: str
    memory: int | None
    cells: str
    # Compute slices, 0 where it has none of its own.
    compute: int
    state: str
    holders: tuple[Holder, ...]


@dataclass(frozen=True, slots=True)
class MeterRow:
    """What a card really uses; bytes and percent, None where nobody told.

    Attributes:
        idle_since: it is held, and computes nothing since.
    """

    used: int | None
    utilisation: float | None
    idle_since: dt.datetime | None


@dataclass(frozen=True, slots=True)
class CardRow:
    """A card for a page. Everything in it may be shown to the person it is made for."""

    node: str
    name: str
    driver: str
    pool: str
    device: str
    product: str
    kind: str
    total: int | None
    at_least: bool
    allocated: int | None
    metered: bool
    available: int | None
    # Neither allocated nor to be had; None where unknown.
    unavailable: int | None
    largest: int | None
    in_use: bool
    usable: bool
    cell_count: int
    cells_taken: int
    # Neither taken nor in a placement that can be had.
    cells_unavailable: int
    blocked_cells: int
    # (taken, of); None where it is not cut into compute slices.
    compute: tuple[int, int] | None
    compute_pieces: tuple[Piece, ...]
    shares: tuple[int, int] | None
    double_advertised: bool
    largest_profile: str
    reasons: tuple[Reason, ...]
    notes: tuple[Taint, ...]
    pieces: tuple[Piece, ...]
    holders: tuple[Holder, ...]
    hidden: int
    # Of the hidden: administrative access, which uses nothing.
    hidden_watchers: int
    # (full key, value) of where it sits.
    topology: tuple[tuple[str, str], ...]
    # None where nobody measures it, or where it would tell of others.
    meter: MeterRow | None

    @property
    def only_watched(self) -> bool:
        """Whether nobody uses it, and a monitor looks at it."""
        watched = self.hidden_watchers or any(h.admin for h in self.holders)
        return bool(watched) and not self.in_use


def holder_of(hold: Hold, viewer: Viewer) -> Holder:
    """Return a hold as a person may see it."""
    seen = viewer.sees(hold.namespace)
    return Holder(
        namespace=hold.namespace if seen else "",
        claim=hold.claim if seen else "",
        device=hold.device,
        request=hold.request if seen else "",
        mine=viewer.owns(hold.namespace),
        admin=hold.admin,
        memory=hold.memory if hold.consumed else None,
    )


def card_row(
    occupancy: Occupancy, viewer: Viewer, meters: MeterPage | None = None
) -> CardRow:
    """Return a card as a person may see it."""
    card = occupancy.card
    bar = bar_of(card, occupancy.placements)
    compute = compute_bar_of(card, occupancy.placements)
    holders = _distinct(holder_of(hold, viewer) for hold in occupancy.holds)
    return CardRow(
        node=card.node,
        name=card.name,
        driver=card.driver,
        pool=card.pool,
        device=_home(occupancy),
        product=card.product,
        kind=card.kind,
        total=card.total,
        at_least=card.at_least,
        allocated=occupancy.allocated,
        metered=occupancy.metered,
        available=occupancy.available,
        unavailable=occupancy.unavailable,
        largest=occupancy.largest,
        in_use=occupancy.in_use,
        usable=occupancy.usable,
        cell_count=card.cell_count,
        cells_taken=occupancy.cells_taken,
        cells_unavailable=occupancy.cells_unavailable,
        blocked_cells=int(bar.blocked) if card.cell_count else 0,
        compute=(compute.taken, int(compute.units)) if compute else None,
        compute_pieces=tuple(_piece(s, compute, viewer) for s in compute.segments)
        if compute
        else (),
        shares=occupancy.share_count,
        double_advertised=card.double_advertised,
        largest_profile=_largest_profile(occupancy),
        reasons=occupancy.reasons,
        notes=tuple(taint for taint in card.taints if not taint.blocks),
        pieces=tuple(_piece(s, bar, viewer) for s in bar.segments),
        holders=tuple(holder for holder in holders if holder.named),
        hidden=sum(not holder.named for holder in holders),
        hidden_watchers=hidden_watchers(holders),
        topology=card.topology,
        meter=_meter(occupancy, viewer, meters),
    )


def _meter(
    occupancy: Occupancy, viewer: Viewer, meters: MeterPage | None
) -> MeterRow | None:
    """Return what a card uses, where that tells of nobody that may not be seen."""
    if meters is None:
        return None
    if any(not h.admin and not viewer.sees(h.namespace) for h in occupancy.holds):
        return None
    key = occupancy.card.key
    reading = meters.of(key)
    if reading is None:
        return MeterRow(None, None, None)
    return MeterRow(reading.used, reading.utilisation, meters.idle_since(key))


def hidden_watchers(holders: Iterable[Holder]) -> int:
    """Return how many of the holders that may not be named only watch."""
    return sum(holder.admin and not holder.named for holder in holders)


def placement_rows(occupancy: Occupancy, viewer: Viewer) -> list[PlacementRow]:
    """Return every way to use a card, as a person may see it."""
    return [
        PlacementRow(
            device=p.part.name,
            driver=p.part.driver,
            pool=p.part.pool,
            profile=p.part.profile,
            role=p.part.role,
            memory=p.part.memory,
            cells=_span(p.part.cells),
            compute=p.part.compute,
            state=p.state,
            holders=tuple(holder_of(hold, viewer) for hold in p.holds),
        )
        for p in occupancy.placements
    ]


def _span(cells: tuple[int, ...]) -> str:
    if not cells:
        return ""
    return f"{cells[0]}–{cells[-1]}" if len(cells) > 1 else str(cells[0])


def _home(occupancy: Occupancy) -> str:
    """Return the device that a card's page is about, "" where none is published."""
    parts = occupancy.card.parts
    whole = [part.name for part in parts if part.role == "whole"]
    return whole[0] if whole else next((part.name for part in parts), "")


def _distinct(holders: Iterable[Holder]) -> list[Holder]:
    """Name a claim once a card; holders that are not named stay one each."""
    found: dict[tuple[object, ...], Holder] = {}
    for n, holder in enumerate(holders):
        key = (holder.namespace, holder.claim, holder.admin) if holder.named else (n,)
        found.setdefault(key, holder)
    return list(found.values())


def _largest_profile(occupancy: Occupancy) -> str:
    possible = [
        p.part
        for p in occupancy.placements
        if p.state == "possible" and p.part.memory == occupancy.largest
    ]
    pieces = [part for part in possible if part.role == "partition"]
    if len(pieces) < len(possible) or not pieces:
        return ""
    plain = [part for part in pieces if "+" not in part.profile] or pieces
    return max(plain, key=lambda part: sum(part.uses.values())).profile


def _piece(segment: Segment, bar: Bar, viewer: Viewer) -> Piece:
    start = 100 * segment.start / bar.units
    size = 100 * segment.size / bar.units
    holders = [holder_of(hold, viewer) for hold in segment.holds]
    return Piece(
        x=_percent(start),
        width=_percent(size),
        middle=_percent(start + size / 2),
        mark=_mark(segment, holders),
        label=_label(segment, bar, size),
        title=", ".join(f"{h.namespace}/{h.claim}" for h in holders if h.named),
    )


def _percent(value: float) -> str:
    return f"{value:.2f}%"


def _mark(segment: Segment, holders: list[Holder]) -> str:
    if segment.state == "taken":
        return "mine" if any(holder.mine for holder in holders) else "other"
    return "down" if segment.state == "unavailable" else segment.state


def _label(segment: Segment, bar: Bar, percent: float) -> str:
    """Return a piece's text where there is room for it."""
    if segment.label:
        return segment.label.partition(".")[0] if percent < 20 else segment.label
    shared = segment.holds and bar.units > 1
    if shared and segment.state == "taken" and percent >= 8:
        return f"{segment.size / GIB:.0f}"
    return ""

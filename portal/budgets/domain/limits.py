"""Limits, what is taken of them, and what one more request would do to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from portal.budgets.domain.amounts import NOTHING, UNITS, Amounts, Measure, largest

if TYPE_CHECKING:
    from collections.abc import Iterable


class Level(StrEnum):
    """How a limit stands."""

    FREE = "free"  # there is none
    WITHIN = "within"
    SOFT = "soft"  # over the soft limit, which warns
    HARD = "hard"  # over the hard limit, or not known to be within it


@dataclass(frozen=True, slots=True)
class Limit:
    """A soft and a hard limit in a measure's unit; None for none."""

    soft: int | None = None
    hard: int | None = None


NONE = Limit()


@dataclass(frozen=True, slots=True)
class Open:
    """A booking that counts: what was asked, for how long, and what it holds.

    What no booking knows of is one of nothing, without an end.

    Attributes:
        booked: what it may take at most.
        held: what its claims hold now; a template's can be more than was booked.
        waits: what those of its claims ask for that hold nothing yet.
        until: when it ends by itself; None for never.
    """

    booked: Amounts
    held: Amounts
    waits: Amounts = NOTHING
    until: datetime | None = None

    @property
    def counted(self) -> Amounts:
        """The larger of both, measure by measure."""
        both = largest([self.booked, self.held + self.waits])
        # What it holds is known, whatever was not known when it was asked.
        unsure = (self.held + self.waits).vram_at_least or (
            self.booked.vram_at_least and self.held == NOTHING
        )
        return Amounts(
            vram=both.vram,
            cards=both.cards,
            slices=both.slices,
            gpus=both.gpus,
            vram_at_least=unsure,
        )


@dataclass(frozen=True, slots=True)
class Taken:
    """What is taken of a budget at a moment.

    Attributes:
        used: what claims hold now, whoever made them.
        counted: what counts against limits: bookings, or more where more is held,
            and what is held without a request of the portal.
        hours: cards times hours that were held this month so far; a lower bound
            where `hours_at_least`.
        hours_ahead: what open bookings will hold until they end, this month.
    """

    used: Amounts
    counted: Amounts
    hours: float = 0.0
    hours_at_least: bool = False
    hours_ahead: float = 0.0

    def of(self, measure: Measure) -> float:
        """Return what counts of a measure."""
        if measure is Measure.HOURS:
            return self.hours + self.hours_ahead
        return self.counted.of(measure)

    def used_of(self, measure: Measure) -> float:
        """Return what is in use of a measure; of hours, those that are over."""
        return self.hours if measure is Measure.HOURS else self.used.of(measure)

    def is_at_least(self, measure: Measure) -> bool:
        """Return whether more may be taken."""
        if measure is Measure.VRAM:
            return self.counted.vram_at_least
        return measure is Measure.HOURS and self.hours_at_least


@dataclass(frozen=True, slots=True)
class Figure:
    """One limit and one request against it, in the measure's own unit.

    Attributes:
        unit: what one of a limit is in it: bytes of a GiB, else 1.
        asked_unknown: how much is asked is not known.
    """

    measure: Measure
    limit: Limit
    unit: int
    used: float
    taken: float
    at_least: bool
    asked: float = 0.0
    asked_unknown: bool = False

    @property
    def soft(self) -> float | None:
        """The soft limit in the measure's unit."""
        return None if self.limit.soft is None else self.limit.soft * self.unit

    @property
    def hard(self) -> float | None:
        """The hard limit in the measure's unit."""
        return None if self.limit.hard is None else self.limit.hard * self.unit

    @property
    def most(self) -> float | None:
        """The limit that says how much there is: the hard one, else the soft one."""
        return self.soft if self.hard is None else self.hard

    @property
    def left(self) -> float | None:
        """What is left before the request; None without a limit."""
        return None if self.most is None else max(0.0, self.most - self.taken)

    @property
    def asks(self) -> bool:
        """Whether the request takes anything of it, as far as is known."""
        return self.asked > 0 or self.asked_unknown

    @property
    def level(self) -> Level:
        """How the limit stands with the request; one that asks nothing is within."""
        if self.most is None:
            return Level.FREE
        if self.asks and self.is_over(self.hard):
            return Level.HARD
        return Level.SOFT if self.is_over(self.soft) else Level.WITHIN

    def is_over(self, limit: float | None) -> bool:
        """Return whether what is taken with the request is over a limit."""
        if limit is None:
            return False
        return self.taken + self.asked > limit or self.asked_unknown

    @property
    def stands(self) -> Level:
        """How the limit stands without any request."""
        if self.most is None:
            return Level.FREE
        if self.hard is not None and self.taken > self.hard:
            return Level.HARD
        over = self.soft is not None and self.taken > self.soft
        return Level.SOFT if over else Level.WITHIN


def figures(
    limits: Mapping[Measure, Limit],
    taken: Taken,
    need: Amounts = NOTHING,
    hours: float = 0.0,
) -> list[Figure]:
    """Return each measure of a budget, and what a request asks of it."""
    return [
        Figure(
            measure=measure,
            limit=limits.get(measure, NONE),
            unit=UNITS.get(measure, 1),
            used=taken.used_of(measure),
            taken=taken.of(measure),
            at_least=taken.is_at_least(measure),
            asked=hours if measure is Measure.HOURS else need.of(measure),
            asked_unknown=measure is Measure.VRAM and need.vram_at_least,
        )
        for measure in Measure
    ]


def taken_of(
    opened: Iterable[Open],
    *,
    now: datetime,
    month_end: datetime,
    hours: float = 0.0,
    hours_at_least: bool = False,
) -> Taken:
    """Return what is taken: by open bookings, and by what no booking knows of."""
    used = counted = NOTHING
    ahead = 0.0
    for one in opened:
        used, counted = used + one.held, counted + one.counted
        ahead += hours_ahead(one.counted.gpus, one.until, now, month_end)
    return Taken(used, counted, hours, hours_at_least, ahead)


def hours_ahead(
    gpus: int, until: datetime | None, now: datetime, month_end: datetime
) -> float:
    """Return cards times hours from now until something ends, or the month does."""
    end = month_end if until is None else min(until, month_end)
    return gpus * max(0.0, (end - now).total_seconds() / 3600)


def month_of(moment: datetime) -> tuple[datetime, datetime]:
    """Return beginning and end of a moment's month, in its own time zone."""
    first = moment.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    following = (first + timedelta(days=32)).replace(day=1)
    return first, following

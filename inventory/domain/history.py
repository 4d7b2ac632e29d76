"""What is kept of the past, and how it is read: steps of time with a value each.

A sample is taken at the beginning of every five-minute slot. For two days all are
kept, for 40 days those of full hours, for two years those of midnight (UTC).
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inventory.domain.totals import Totals, totals_of
from inventory.domain.usage import Usage, held_by

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from inventory.domain.fleet import Fleet
    from inventory.domain.occupancy import Occupancy

SLOT = dt.timedelta(minutes=5)
# Older than this, only samples of full hours, of midnight, and none are kept.
HOURLY_AFTER = dt.timedelta(days=2)
DAILY_AFTER = dt.timedelta(days=40)
GONE_AFTER = dt.timedelta(days=730)
SPANS_GONE_AFTER = dt.timedelta(days=31)


def slot_of(moment: dt.datetime) -> dt.datetime:
    """Return the beginning of the slot that a moment in UTC is in."""
    return moment.replace(minute=moment.minute // 5 * 5, second=0, microsecond=0)


@dataclass(frozen=True, slots=True)
class Sample:
    """What some cards sum up to; bytes, None where unknown."""

    scope: str
    key: str
    cards: int
    total: int | None
    allocated: int | None
    available: int | None
    at_least: bool


def samples_of(fleet: Fleet, owners: Mapping[str, str]) -> list[Sample]:
    """Return the sums of a whole fleet, by product, by pool and by tenant.

    Args:
        fleet: its cards and their use.
        owners: namespace → tenant; what others hold counts to no tenant.
    """
    pools: dict[str, list[Occupancy]] = defaultdict(list)
    for occupancy in fleet.occupancies:
        for driver, pool in occupancy.card.pools:
            pools[f"{driver}/{pool}"].append(occupancy)
    held = held_by(fleet.occupancies, lambda hold: owners.get(hold.namespace, ""))
    tenants = sorted({*owners.values(), *held} - {""})
    nothing = Usage(0, at_least=False, cards=0)
    return [
        sample("cluster", "", fleet.totals),
        *(sample("product", name, sums) for name, sums in fleet.products.items()),
        *(sample("pool", name, totals_of(cards)) for name, cards in pools.items()),
        *(_of_tenant(name, held.get(name, nothing)) for name in tenants),
    ]


def sample(scope: str, key: str, totals: Totals) -> Sample:
    """Return what some cards sum up to as a sample."""
    known = totals.cards > totals.unknown_cards or not totals.cards
    return Sample(
        scope,
        key,
        totals.cards,
        totals.total if known else None,
        totals.allocated if known else None,
        totals.available if known else None,
        totals.allocated_at_least,
    )


def _of_tenant(name: str, usage: Usage) -> Sample:
    return Sample(
        "tenant", name, usage.cards, None, usage.allocated, None, usage.at_least
    )


@dataclass(frozen=True, slots=True)
class Step:
    """From `start` to `end` the values stayed; bytes, None where unknown."""

    start: dt.datetime
    end: dt.datetime
    allocated: int | None
    total: int | None = None
    at_least: bool = False


def steps_of(
    samples: Sequence[tuple[dt.datetime, int | None, int | None, bool]],
    now: dt.datetime,
) -> list[Step]:
    """Return samples (at, allocated, total, at_least), by time, as steps.

    Each stands until the next; where that is missing, until it was due.
    """
    steps = []
    ends = [*(each[0] for each in samples[1:]), now]
    for (at, allocated, total, at_least), following in zip(samples, ends, strict=False):
        due = at + _spacing(at, now)
        # One lost sample is forgiven, a longer gap is shown.
        end = following if following <= due + SLOT else due
        steps.append(Step(at, min(end, now), allocated, total, at_least))
    return steps


def _spacing(at: dt.datetime, now: dt.datetime) -> dt.timedelta:
    """Return how far samples of an age are apart."""
    if now - at > DAILY_AFTER:
        return dt.timedelta(days=1)
    return dt.timedelta(hours=1) if now - at > HOURLY_AFTER else SLOT


def joined(spans: Sequence[Step], now: dt.datetime) -> list[Step]:
    """Return spans, by time, each until the next begins, if that is soon."""
    ends = [*(span.start for span in spans[1:]), now]
    return [
        Step(
            span.start,
            following if following - span.end <= 2 * SLOT else span.end,
            span.allocated,
            span.total,
            span.at_least,
        )
        for span, following in zip(spans, ends, strict=False)
    ]


@dataclass(frozen=True, slots=True)
class Bucket:
    """A row of a chart's table; bytes, None where nothing is known of it."""

    start: dt.datetime
    mean: int | None
    peak: int | None
    total: int | None
    at_least: bool


def buckets_of(
    steps: Iterable[Step], start: dt.datetime, width: dt.timedelta, count: int
) -> list[Bucket]:
    """Return `count` buckets of a width: mean over time, peak, last total."""
    found: list[Bucket] = []
    known = [step for step in steps if step.allocated is not None]
    for index in range(count):
        begin = start + index * width
        end = begin + width
        inside = [step for step in known if step.start < end and step.end > begin]
        weights = [
            (min(step.end, end) - max(step.start, begin)).total_seconds()
            for step in inside
        ]
        weighted = sum(
            (step.allocated or 0) * weight
            for step, weight in zip(inside, weights, strict=True)
        )
        found.append(
            Bucket(
                begin,
                round(weighted / sum(weights)) if inside else None,
                max((step.allocated or 0 for step in inside), default=None),
                inside[-1].total if inside else None,
                any(step.at_least for step in inside),
            )
        )
    return found

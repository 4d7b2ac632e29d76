"""The past of a cluster: by product, class, pool and tenant, and of one card."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db.models import Max

from inventory.domain.charts import Drawing, drawing_of
from inventory.domain.history import Bucket, Step, buckets_of, joined, steps_of
from inventory.models import CardSpan, HistorySample
from portal.core.keyset import Page, decoded, page_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from django.db.models import QuerySet

    from inventory.models import Cluster

CHARTS = 12
DAY = 24
MONTH = 720
# Hours shown → hours of a row of the table.
WIDTHS = {DAY: 1, 168: 12, MONTH: 24}
CHUNK = 2_000
# As long as the name of a card is kept.
LONGEST_NAME = 63


@dataclass(frozen=True, slots=True)
class HistoryFilter:
    """Which past a person wants to see, back from now."""

    by: str = "cluster"
    text: str = ""
    hours: int = DAY


@dataclass(frozen=True, slots=True)
class Chart:
    """One line of history: the drawing, and the same as rows."""

    key: str
    drawing: Drawing
    buckets: tuple[Bucket, ...]
    # The newest sample's; None where unknown.
    allocated: int | None
    total: int | None
    at_least: bool
    begin: dt.datetime
    end: dt.datetime

    @property
    def known(self) -> bool:
        """Whether anything is known of this time."""
        return any(bucket.peak is not None for bucket in self.buckets)


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """The charts that fit on a page, most allocated first, and how many there are."""

    charts: list[Chart]
    count: int


def history_page(
    cluster: Cluster,
    wanted: HistoryFilter,
    tenants: Collection[str] | None,
    now: dt.datetime,
) -> HistoryPage:
    """Return the past of a cluster; two queries.

    Args:
        cluster: the cluster.
        wanted: which past.
        tenants: whose figures this person may see; None for everybody's.
        now: the moment at which charts end.
    """
    rows = _rows(cluster, wanted, tenants, now)
    peaks = rows.values_list("key").annotate(peak=Max("allocated")).order_by("key")
    keys = sorted(peaks, key=lambda each: (-(each[1] or 0), each[0]))
    shown = [key for key, _peak in keys[:CHARTS]]
    found: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    columns = ("key", "at", "allocated", "total", "at_least")
    for key, *rest in rows.filter(key__in=shown).order_by("at").values_list(*columns):
        found[key].append(tuple(rest))
    charts = [_chart(key, steps_of(found[key], now), wanted, now) for key in shown]
    return HistoryPage(charts, len(keys))


def history_rows(
    cluster: Cluster,
    wanted: HistoryFilter,
    tenants: Collection[str] | None,
    now: dt.datetime,
) -> Iterator[HistorySample]:
    """Yield the samples themselves, by time; no more than a chunk is in memory."""
    rows = _rows(cluster, wanted, tenants, now).order_by("at", "key")
    return rows.iterator(chunk_size=CHUNK)


@dataclass(frozen=True, slots=True)
class Series:
    """One line of history as it was sampled."""

    key: str
    samples: list[HistorySample]


def series_page(
    cluster: Cluster,
    wanted: HistoryFilter,
    tenants: Collection[str] | None,
    now: dt.datetime,
    *,
    cursor: str,
    limit: int,
) -> Page[Series]:
    """Return a page of lines by key, with all their samples; two queries.

    Raises:
        BadCursor: It is none of this list.
    """
    rows = _rows(cluster, wanted, tenants, now)
    after = decoded(cursor, (str,))
    keys = rows.filter(key__gt=after[0]) if after else rows
    found = list(
        keys.order_by("key").values_list("key", flat=True).distinct()[: limit + 1]
    )
    page = page_of(found, limit, lambda key: (key,))
    samples: dict[str, list[HistorySample]] = {key: [] for key in page.items}
    for row in rows.filter(key__in=page.items).order_by("at"):
        samples[row.key].append(row)
    return Page([Series(*item) for item in samples.items()], page.following)


def key_history(cluster: Cluster, by: str, key: str, now: dt.datetime) -> list[Chart]:
    """Return the last day and the last 30 days of one key; one query."""
    wanted = HistoryFilter(by=by, hours=MONTH)
    columns = ("at", "allocated", "total", "at_least")
    rows = _rows(cluster, wanted, None, now).filter(key=key).order_by("at")
    steps = steps_of(list(rows.values_list(*columns)), now)
    return [
        _chart(key, steps, HistoryFilter(hours=hours), now) for hours in (DAY, MONTH)
    ]


def card_steps(
    cluster: Cluster, key: tuple[str, str, str], now: dt.datetime
) -> list[Step]:
    """Return how a card was used in the last 30 days, by time; one query."""
    driver, pool, card = key
    spans = CardSpan.objects.filter(
        cluster=cluster,
        driver=driver,
        pool=pool,
        card=card[:LONGEST_NAME],
        until__gte=now - dt.timedelta(hours=MONTH),
    ).order_by("since")
    columns = ("since", "until", "allocated", "total", "at_least")
    return joined([Step(*row) for row in spans.values_list(*columns)], now)


def card_history(
    cluster: Cluster, key: tuple[str, str, str], now: dt.datetime
) -> list[Chart]:
    """Return a card's last day and last 30 days; one query."""
    steps = card_steps(cluster, key, now)
    return [
        _chart("", steps, HistoryFilter(hours=hours), now) for hours in (DAY, MONTH)
    ]


def _rows(
    cluster: Cluster,
    wanted: HistoryFilter,
    tenants: Collection[str] | None,
    now: dt.datetime,
) -> QuerySet[HistorySample]:
    rows = HistorySample.objects.filter(
        cluster=cluster,
        scope=wanted.by,
        at__gt=now - dt.timedelta(hours=wanted.hours),
        at__lte=now,
    )
    if wanted.text:
        rows = rows.filter(key__icontains=wanted.text)
    if wanted.by == "tenant" and tenants is not None:
        rows = rows.filter(key__in=tenants)
    return rows


def _chart(
    key: str, steps: list[Step], wanted: HistoryFilter, now: dt.datetime
) -> Chart:
    begin = now - dt.timedelta(hours=wanted.hours)
    hours = WIDTHS[wanted.hours]
    width, count = dt.timedelta(hours=hours), wanted.hours // hours
    last = steps[-1] if steps and steps[-1].end >= now else None
    return Chart(
        key=key,
        drawing=drawing_of(steps, begin, now),
        buckets=tuple(reversed(buckets_of(steps, begin, width, count))),
        allocated=last.allocated if last else None,
        total=last.total if last else None,
        at_least=last.at_least if last else False,
        begin=begin,
        end=now,
    )

"""Keep the past: one sample a slot of every cluster that is being read."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import structlog
from django.db import connection, transaction

from inventory.domain.fragmentation import matching
from inventory.domain.history import (
    DAILY_AFTER,
    GONE_AFTER,
    HOURLY_AFTER,
    SLOT,
    SPANS_GONE_AFTER,
    Sample,
    sample,
    samples_of,
    slot_of,
)
from inventory.domain.totals import totals_of
from inventory.models import CardSpan, Cluster, HistorySample
from inventory.queries.cards import fleet_of
from inventory.queries.classes import class_rows
from inventory.queries.clusters import COLUMNS, owners_of
from inventory.queries.history import LONGEST_NAME
from inventory.services.availability import class_uses
from inventory.services.pool_history import thin_pools, write_pool_spans

if TYPE_CHECKING:
    from inventory.domain.fleet import Fleet

logger = structlog.get_logger(__name__)

BATCH = 1_000
# A cluster that was not heard for so long is not sampled: its state is not known.
HEARD_WITHIN = 2 * SLOT

CardKey = tuple[str, str, str]
# Total, allocated, whether that is a lower bound.
CardUse = tuple[int | None, int | None, bool]


def record_all(*, now: dt.datetime) -> int:
    """Sample every cluster that is being read; returns how many were sampled.

    Doing it twice in a slot is doing it once.
    """
    heard = Cluster.objects.only(*COLUMNS).filter(
        kind__in=[Cluster.Kind.LIVE, Cluster.Kind.SIMULATED],
        heard_at__gte=now - HEARD_WITHIN,
    )
    return sum(record(cluster, now=now) for cluster in heard)


def record(cluster: Cluster, *, now: dt.datetime) -> bool:
    """Sample one cluster for this slot, and thin what is older.

    Returns:
        Whether this call did it: False where the slot was sampled before.
    """
    slot = slot_of(now)
    taken = HistorySample.objects.filter(cluster=cluster, scope="cluster", at=slot)
    if taken.exists():
        return False
    fleet = fleet_of(cluster)
    whole, *others = samples_of(fleet, owners_of(cluster.name))
    others += _classes(cluster, fleet)
    with transaction.atomic():
        _row, first = HistorySample.objects.get_or_create(
            cluster=cluster, scope="cluster", key="", at=slot, defaults=_values(whole)
        )
        if first:
            _write(cluster, slot, others)
            _write_spans(cluster, slot, fleet)
            write_pool_spans(cluster, slot)
    if first and slot.minute == 0:
        thin(cluster, now=slot)
    return first


def _classes(cluster: Cluster, fleet: Fleet) -> list[Sample]:
    """Return the sums of the cards that each class reaches; none of unknown ones."""
    uses = class_uses(cluster, fleet, class_rows(cluster))
    return [
        sample(
            "class",
            use.row.facts.name,
            totals_of(matching(fleet.occupancies, use.devices)),
        )
        for use in uses
        if use.devices is not None
    ]


def _values(of: Sample) -> dict[str, int | bool | None]:
    return {
        "cards": of.cards,
        "total": of.total,
        "allocated": of.allocated,
        "available": of.available,
        "at_least": of.at_least,
    }


def _write(cluster: Cluster, slot: dt.datetime, samples: list[Sample]) -> None:
    HistorySample.objects.bulk_create(
        (
            HistorySample(
                cluster=cluster, scope=s.scope, key=s.key[:320], at=slot, **_values(s)
            )
            for s in samples
        ),
        batch_size=BATCH,
        ignore_conflicts=True,
    )


def _uses(fleet: Fleet) -> dict[CardKey, CardUse]:
    return {
        _cut(occupancy.card.key): (
            occupancy.card.total,
            occupancy.allocated,
            occupancy.in_use and not occupancy.metered,
        )
        for occupancy in fleet.occupancies
    }


def _cut(key: CardKey) -> CardKey:
    driver, pool, name = key
    return driver, pool, name[:LONGEST_NAME]


def _write_spans(cluster: Cluster, slot: dt.datetime, fleet: Fleet) -> None:
    """Let the spans of unchanged cards go on, end the others and begin new ones."""
    uses = _uses(fleet)
    going: list[int] = []
    ended: list[int] = []
    newest = CardSpan.objects.filter(cluster=cluster, is_newest=True).values_list(
        "pk", "until", "driver", "pool", "card", "total", "allocated", "at_least"
    )
    for pk, until, driver, pool, card, *use in newest:
        key = driver, pool, card
        if slot - until <= 2 * SLOT and uses.get(key) == tuple(use):
            going.append(pk)
            del uses[key]
        else:
            ended.append(pk)
    CardSpan.objects.filter(pk__in=going).update(until=slot)
    CardSpan.objects.filter(pk__in=ended).update(is_newest=False)
    CardSpan.objects.bulk_create(
        (
            CardSpan(
                cluster=cluster,
                driver=key[0],
                pool=key[1],
                card=key[2],
                since=slot,
                until=slot,
                total=total,
                allocated=allocated,
                at_least=at_least,
            )
            for key, (total, allocated, at_least) in uses.items()
        ),
        batch_size=BATCH,
    )


_THIN = """
    DELETE FROM inventory_historysample
    WHERE cluster_id = %(cluster)s AND (
        at < %(gone)s
        OR (at < %(hourly)s AND date_part('minute', at AT TIME ZONE 'UTC') <> 0)
        OR (at < %(daily)s AND date_part('hour', at AT TIME ZONE 'UTC') <> 0)
    )
"""


def thin(cluster: Cluster, *, now: dt.datetime) -> int:
    """Remove samples that are too old for how close they are; returns how many."""
    moments = {
        "hourly": now - HOURLY_AFTER,
        "daily": now - DAILY_AFTER,
        "gone": now - GONE_AFTER,
    }
    with connection.cursor() as cursor:
        cursor.execute(_THIN, {"cluster": cluster.pk, **moments})
        count = int(cursor.rowcount)
    CardSpan.objects.filter(
        cluster=cluster, is_newest=False, until__lt=now - SPANS_GONE_AFTER
    ).delete()
    thin_pools(cluster, now=now)
    return count

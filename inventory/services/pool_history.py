"""Keep how each pool was published: one span as long as nothing of it changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inventory.domain.history import SLOT, SPANS_GONE_AFTER
from inventory.models import Pool, PoolSpan

if TYPE_CHECKING:
    import datetime as dt

    from inventory.models import Cluster

BATCH = 1_000
_FIELDS = (
    *("generation", "expected_slice_count", "seen_slice_count"),
    *("verdict", "problem"),
)


def write_pool_spans(cluster: Cluster, slot: dt.datetime) -> None:
    """Let the spans of unchanged pools go on, end the others and begin new ones."""
    pools = {
        row[:2]: row[2:]
        for row in Pool.objects.filter(cluster=cluster).values_list(
            "driver", "name", *_FIELDS
        )
    }
    going: list[int] = []
    ended: list[int] = []
    newest = PoolSpan.objects.filter(cluster=cluster, is_newest=True)
    for pk, until, driver, pool, *was in newest.values_list(
        "pk", "until", "driver", "pool", *_FIELDS
    ):
        key = driver, pool
        if slot - until <= 2 * SLOT and pools.get(key) == tuple(was):
            going.append(pk)
            del pools[key]
        else:
            ended.append(pk)
    PoolSpan.objects.filter(pk__in=going).update(until=slot)
    PoolSpan.objects.filter(pk__in=ended).update(is_newest=False)
    PoolSpan.objects.bulk_create(
        (
            PoolSpan(
                cluster=cluster,
                driver=driver,
                pool=pool,
                since=slot,
                until=slot,
                **dict(zip(_FIELDS, values, strict=True)),
            )
            for (driver, pool), values in pools.items()
        ),
        batch_size=BATCH,
    )


def thin_pools(cluster: Cluster, *, now: dt.datetime) -> None:
    """Remove the spans that are too old."""
    PoolSpan.objects.filter(
        cluster=cluster, is_newest=False, until__lt=now - SPANS_GONE_AFTER
    ).delete()

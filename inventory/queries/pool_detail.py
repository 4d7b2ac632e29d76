"""One pool: its slices, what they add up to, and how it was published before."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import Count

from inventory.models import Device, KubeObject, Pool, PoolSpan
from inventory.queries.cards import fleet_of
from inventory.queries.history import MONTH, Chart, key_history

if TYPE_CHECKING:
    from inventory.domain.fragmentation import Fragmentation
    from inventory.models import Cluster

MOST_SPANS = 200


@dataclass(frozen=True, slots=True)
class SliceRow:
    """A ResourceSlice of a pool.

    Attributes:
        devices: how many it publishes; None where its generation does not count.
        seen_at: when it was read as it is now.
    """

    name: str
    generation: int | None
    counts: bool
    devices: int | None
    seen_at: dt.datetime


@dataclass(frozen=True, slots=True)
class PoolDetail:
    """A pool with everything that is known of it."""

    pool: Pool
    slices: list[SliceRow]
    devices: int
    fragmentation: Fragmentation | None
    # The newest first, of 30 days.
    spans: list[PoolSpan]
    charts: list[Chart]
    revision: int

    @property
    def missing(self) -> int:
        """How many slices of its generation are not seen."""
        return max(self.pool.expected_slice_count - self.pool.seen_slice_count, 0)


def pool_detail(
    cluster: Cluster, driver: str, name: str, now: dt.datetime
) -> PoolDetail | None:
    """Return a pool by driver and name, or None; five queries."""
    pool = Pool.objects.filter(cluster=cluster, driver=driver, name=name).first()
    if pool is None:
        return None
    counts = dict(
        Device.objects.filter(cluster=cluster, driver=driver, pool=name)
        .order_by()
        .values_list("slice_name")
        .annotate(Count("pk"))
    )
    spans = PoolSpan.objects.filter(
        cluster=cluster,
        driver=driver,
        pool=name,
        until__gte=now - dt.timedelta(hours=MONTH),
    )
    fleet = fleet_of(cluster)
    return PoolDetail(
        pool=pool,
        slices=_slices(cluster, pool, counts),
        devices=sum(counts.values()),
        fragmentation=fleet.fragmentation_by_pool.get((driver, name)),
        spans=list(spans.order_by("-since")[:MOST_SPANS]),
        charts=key_history(cluster, "pool", f"{driver}/{name}"[:320], now),
        revision=fleet.revision,
    )


def _slices(cluster: Cluster, pool: Pool, counts: dict[str, int]) -> list[SliceRow]:
    rows = KubeObject.objects.filter(
        cluster=cluster,
        kind="ResourceSlice",
        deleted_at=None,
        pool=f"{pool.driver}/{pool.name}",
    ).order_by("name")
    found = []
    for name, generation, seen in rows.values_list(
        "name", "body__spec__pool__generation", "seen_at"
    ):
        current = generation == pool.generation
        devices = counts.get(name, 0) if current else None
        found.append(SliceRow(name, generation, current, devices, seen))
    return found

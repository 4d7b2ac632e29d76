"""The pools of a cluster and whether each can be used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import Case, Count, IntegerField, Q, Value, When

from inventory.models import Device, Pool
from portal.core.keyset import Page, decoded, page_of, rows_after

if TYPE_CHECKING:
    from inventory.models import Cluster

POOLS_PER_PAGE = 100


@dataclass(frozen=True, slots=True)
class PoolRow:
    """A pool and how many devices it publishes."""

    pool: Pool
    devices: int


@dataclass(frozen=True, slots=True)
class PoolPage:
    """A page of pools, those that need attention first."""

    rows: list[PoolRow]
    count: int
    troubled: int
    number: int
    pages: int

    @property
    def previous(self) -> int | None:
        """The number of the page before, or None."""
        return self.number - 1 if self.number > 1 else None

    @property
    def following(self) -> int | None:
        """The number of the page after, or None."""
        return self.number + 1 if self.number < self.pages else None


def pool_page(cluster: Cluster, *, text: str, number: int) -> PoolPage:
    """Return a page of the pools whose name, driver or node contains a text.

    Makes three queries.
    """
    worst = Case(
        When(verdict="complete", then=Value(1)),
        default=Value(0),
        output_field=IntegerField(),
    )
    rows = Pool.objects.filter(cluster=cluster)
    if text:
        rows = rows.filter(
            Q(name__icontains=text)
            | Q(driver__icontains=text)
            | Q(node_name__icontains=text)
        )
    counts = rows.aggregate(all=Count("pk"), bad=Count("pk", ~Q(verdict="complete")))
    pages = max(1, -(-counts["all"] // POOLS_PER_PAGE))
    number = min(max(number, 1), pages)
    begin = (number - 1) * POOLS_PER_PAGE
    pools = list(rows.order_by(worst, "driver", "name")[begin : begin + POOLS_PER_PAGE])
    devices = _device_counts(cluster, pools)
    return PoolPage(
        rows=[
            PoolRow(pool, devices.get((pool.driver, pool.name), 0)) for pool in pools
        ],
        count=counts["all"],
        troubled=counts["bad"],
        number=number,
        pages=pages,
    )


@dataclass(frozen=True, slots=True)
class PoolFilter:
    """What is wanted of a cluster's pools; empty means all."""

    text: str = ""
    driver: str = ""
    node: str = ""
    verdict: str = ""


def pool_keyset(
    cluster: Cluster, wanted: PoolFilter, *, cursor: str, limit: int
) -> Page[PoolRow]:
    """Return a page of pools by driver and name; two queries.

    Raises:
        BadCursor: It is none of this list.
    """
    exact = {
        "driver": wanted.driver,
        "node_name": wanted.node,
        "verdict": wanted.verdict,
    }
    rows = Pool.objects.filter(
        cluster=cluster, **{name: value for name, value in exact.items() if value}
    )
    if wanted.text:
        rows = rows.filter(name__icontains=wanted.text)
    key = decoded(cursor, (str, str))
    found = list(rows_after(rows, ("driver", "name"), key)[: limit + 1])
    page = page_of(found, limit, lambda pool: (pool.driver, pool.name))
    devices = _device_counts(cluster, page.items)
    items = [
        PoolRow(pool, devices.get((pool.driver, pool.name), 0)) for pool in page.items
    ]
    return Page(items, page.following)


def _device_counts(cluster: Cluster, pools: list[Pool]) -> dict[tuple[str, str], int]:
    found = (
        Device.objects.filter(
            cluster=cluster,
            driver__in={pool.driver for pool in pools},
            pool__in={pool.name for pool in pools},
        )
        .values_list("driver", "pool")
        .annotate(count=Count("pk"))
        .order_by()
    )
    return {(driver, pool): count for driver, pool, count in found}

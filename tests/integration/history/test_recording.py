"""Samples: one a slot, none of what is not known, thinned by age."""

from __future__ import annotations

import datetime as dt

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from inventory.gateways.engine_process import EngineUnavailable
from inventory.models import CardSpan, Cluster, HistorySample
from inventory.queries.cards import fleet_of
from inventory.services.history import record, record_all, thin
from inventory.services.store import Change, apply_changes
from inventory.tasks import record_history
from tests.integration.pages.conftest import claim, result, share

FIVE = dt.timedelta(minutes=5)


def samples(scope: str) -> dict[str, HistorySample]:
    rows = HistorySample.objects.filter(scope=scope).order_by("at")
    return {row.key: row for row in rows}


def test_record_writes_every_sum(read_cluster, now):
    cluster = read_cluster(now)

    assert record(cluster, now=now)

    whole = samples("cluster")[""]
    totals = fleet_of(cluster).totals
    assert (whole.at, whole.cards, whole.allocated) == (
        now,
        totals.cards,
        totals.allocated,
    )
    assert samples("product").keys() == fleet_of(cluster).products.keys()
    assert samples("pool")["gpu.nvidia.com/gpu-t4-a"].cards == 1
    assert samples("pool")["gpu.nvidia.com/spark-01"].allocated is None
    assert samples("class")["mig.nvidia.com"].cards == 2
    assert samples("tenant").keys() == {"orchid", "maple"}


def test_record_counts_tenants_by_hand(read_cluster, now):
    record(read_cluster(now), now=now)

    found = samples("tenant")
    mib = 1024**2
    # A partition, a share, a whole L40S; the GB10 publishes no memory.
    assert found["orchid"].allocated == (9984 + 16 * 1024 + 46068) * mib
    assert found["orchid"].at_least
    assert found["maple"].allocated == (9984 + 26 * 1024 + 46068) * mib
    assert not found["maple"].at_least


def test_record_does_it_once_a_slot(read_cluster, now):
    cluster = read_cluster(now)

    done = [record(cluster, now=now + dt.timedelta(minutes=n)) for n in range(6)]

    assert done == [True, False, False, False, False, True]
    assert HistorySample.objects.filter(scope="cluster").count() == 2


def test_record_costs_the_same_for_one_pool_and_for_many(load_fleets, held_claims, now):
    small = load_fleets("nvidia-t4-l40s", name="small")
    large = load_fleets("nvidia-h100-full-8gpu", "nvidia-h100-dynamic-mig-k8s135",
                        "nvidia-l40s-consumable-shares", name="large",
                        extra=held_claims)  # fmt: skip
    counts = []
    for cluster in (small, large):
        record(cluster, now=now + FIVE)
        with CaptureQueriesContext(connection) as captured:
            record(cluster, now=now + 2 * FIVE)
        counts.append(len(captured))

    assert counts[0] == counts[1]


def test_record_all_leaves_out_what_was_not_heard(read_cluster, now):
    read_cluster(now - dt.timedelta(minutes=11))
    Cluster.objects.create(name="dump", kind="offline", heard_at=now)

    assert record_all(now=now) == 0
    assert not HistorySample.objects.exists()


def test_record_without_the_engine_has_no_class(read_cluster, now, monkeypatch):
    def fail(*args, **kwargs):
        raise EngineUnavailable("The engine does not answer; try again in a moment.")

    monkeypatch.setattr("inventory.gateways.engine.Engine.evaluate", fail)

    assert record(read_cluster(now), now=now)
    assert not samples("class")
    assert samples("pool")


def test_task_records(read_cluster):
    from django.utils import timezone

    read_cluster(timezone.now())

    record_history()

    assert samples("cluster")


def held(cluster: Cluster, now, name: str, memory: str, number: int) -> None:
    body = claim(
        "ai-serving", name, result("gpu-h100-share-a", "gpu-1", **share(memory, number))
    )
    apply_changes(cluster, [Change("ResourceClaim", "ai-serving", name, body)], now=now)
    cluster.refresh_from_db()


def spans(card: str) -> list[tuple[dt.datetime, dt.datetime, int | None]]:
    rows = CardSpan.objects.filter(pool="gpu-h100-share-a", card=card)
    return list(rows.order_by("since").values_list("since", "until", "allocated"))


def test_spans_go_on_until_the_card_changes(read_cluster, now):
    cluster = read_cluster(now)
    for n in range(3):
        record(cluster, now=now + n * FIVE)
    held(cluster, now, "orchid-new", "8Gi", 7)
    for n in range(3, 5):
        record(cluster, now=now + n * FIVE)

    assert spans("gpu-1") == [
        (now, now + 2 * FIVE, 0),
        (now + 3 * FIVE, now + 4 * FIVE, 8 * 2**30),
    ]
    assert CardSpan.objects.filter(card="gpu-1", pool="gpu-h100-share-a",
                                   is_newest=True).count() == 1  # fmt: skip


def test_spans_begin_anew_after_a_gap(read_cluster, now):
    cluster = read_cluster(now)
    record(cluster, now=now)
    record(cluster, now=now + 4 * FIVE)

    assert [span[:2] for span in spans("gpu-1")] == [
        (now, now),
        (now + 4 * FIVE, now + 4 * FIVE),
    ]


def test_spans_end_with_their_card(read_cluster, now):
    cluster = read_cluster(now)
    record(cluster, now=now)
    slices = fleet_of(cluster).pools
    assert ("gpu.nvidia.com", "gpu-t4-a") in slices
    name = cluster.objects_seen.get(pool="gpu.nvidia.com/gpu-t4-a").name
    apply_changes(cluster, [Change("ResourceSlice", "", name, None)], now=now)
    cluster.refresh_from_db()
    record(cluster, now=now + FIVE)

    assert not CardSpan.objects.filter(pool="gpu-t4-a", is_newest=True).exists()
    assert CardSpan.objects.filter(pool="gpu-t4-a").count() == 1


@pytest.mark.parametrize(
    ("age", "minute", "kept"),
    [
        (dt.timedelta(days=1), 5, True),
        (dt.timedelta(days=3), 5, False),
        (dt.timedelta(days=3), 0, True),
        (dt.timedelta(days=50), 0, False),
        (dt.timedelta(days=50, hours=9), 0, True),  # midnight
        (dt.timedelta(days=800, hours=9), 0, False),
    ],
)
def test_thin_keeps_by_age(age, minute, kept, read_cluster, now):
    at = (now - age).replace(minute=minute)
    HistorySample.objects.create(
        cluster=read_cluster(now), scope="pool", key="a", at=at, cards=1
    )

    thin(Cluster.objects.get(name="demo"), now=now)

    assert HistorySample.objects.exists() == kept


def test_thin_drops_old_spans_but_the_newest(read_cluster, now):
    cluster = read_cluster(now)
    record(cluster, now=now - dt.timedelta(days=60))
    count = CardSpan.objects.count()
    CardSpan.objects.filter(pool="gpu-t4-a").update(is_newest=False)

    thin(cluster, now=now)

    assert CardSpan.objects.count() == count - 1

"""100,000 devices: the last page as fast as the first, streams in bounded memory."""

from __future__ import annotations

import resource

import pytest
from django.db import connection
from django.test import AsyncClient
from django.test.utils import CaptureQueriesContext

from inventory.domain.visibility import Viewer
from inventory.models import Cluster
from inventory.queries.device_search import DeviceSearch, search_page
from inventory.queries.devices import DeviceFilter
from portal.core.keyset import encoded

COUNT, PER_POOL = 100_000, 100
POOLS = """
INSERT INTO inventory_pool (cluster_id, driver, name, generation,
  expected_slice_count, seen_slice_count, node_name, verdict, problem)
SELECT %s, 'net.example.com', 'node-' || to_char(n, 'FM0000'), 1, 1, 1,
  'node-' || to_char(n, 'FM0000'), 'complete', ''
FROM generate_series(0, %s) n
"""
DEVICES = """
INSERT INTO inventory_device (cluster_id, driver, pool, name, slice_name, node_name,
  attributes, capacity, consumes_counters, taints, allow_multiple_allocations)
SELECT %s, 'net.example.com', 'node-' || to_char(n / %s, 'FM0000'),
  'nic-' || to_char(n %% %s, 'FM000'), 'slice', 'node-' || to_char(n / %s, 'FM0000'),
  '{"net.example.com/mtu": {"int": 9000}}', '{}', '[]', '[]', false
FROM generate_series(0, %s) n
"""


@pytest.fixture
def large(db, now):
    """Return a cluster of 100,000 devices in 1,000 pools."""
    cluster = Cluster.objects.create(
        name="demo",
        kind="offline",
        kubernetes_version="1.37.2",
        revision=1,
        heard_at=now,
    )
    with connection.cursor() as cursor:
        cursor.execute(POOLS, [cluster.pk, COUNT // PER_POOL - 1])
        values = [cluster.pk, PER_POOL, PER_POOL, PER_POOL, COUNT - 1]
        cursor.execute(DEVICES, values)
        cursor.execute("ANALYZE inventory_device")
    return cluster


def rows_read(do):
    """Return the most rows that a step of any of the queries went through."""
    with CaptureQueriesContext(connection) as captured:
        do()
    with connection.cursor() as cursor:
        plans = []
        for query in captured:
            cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {query['sql']}")
            plans.append(cursor.fetchone()[0][0]["Plan"])
    return max(map(_most, plans))


def _most(plan):
    own = (plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)) * plan[
        "Actual Loops"
    ]
    return max([own, *map(_most, plan.get("Plans", []))])


def peak_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.mark.slow
def test_late_pages_and_whole_streams_cost_no_more_for_their_size(large, call, ada):
    def page(cursor):
        search = DeviceSearch(DeviceFilter())
        viewer = Viewer(frozenset())
        return search_page(large, viewer, search, cursor=cursor, limit=50)

    late = encoded(["net.example.com", "node-0999", "nic-049", 2**62])
    assert page("").items[0].device.name == "nic-000"
    assert page(late).items[-1].device.name == "nic-099"
    # What is read is a page, not all that is before it.
    assert rows_read(lambda: page("")) < 5 * PER_POOL
    assert rows_read(lambda: page(late)) < 5 * PER_POOL

    for kind, more in (("ndjson", 0), ("csv", 1)):
        before = peak_bytes()
        answer = call(ada).get(f"clusters/demo/devices.{kind}")
        lines = sum(part.count(b"\n") for part in answer.streaming_content)
        assert lines == COUNT + more
        grown = peak_bytes() - before
        assert grown < 48 * 2**20, f"{kind}: {grown / 2**20:.0f} MiB"


@pytest.fixture
def small(transactional_db, load_fleets, call, ada):
    """Return a token, and a cluster in the database that other threads see."""
    load_fleets("nvidia-t4-l40s")
    return call(ada).token


@pytest.mark.django_db(transaction=True)
async def test_a_stream_is_not_collected_under_asgi(small):
    answer = await AsyncClient().get(
        "/api/v1/clusters/demo/devices.ndjson",
        headers={"Authorization": f"Bearer {small}"},
    )

    assert answer.is_async
    parts = [part async for part in answer.streaming_content]
    assert b"".join(parts).count(b"\n") == 5

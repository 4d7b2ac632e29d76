"""100,000 devices: the last page as fast as the first, streams in bounded memory."""

from __future__ import annotations

import tracemalloc

import pytest
from django.db import connection
from django.test import AsyncClient
from django.test.utils import CaptureQueriesContext

from inventory.domain.visibility import Viewer
from inventory.queries.device_search import DeviceSearch, search_page
from inventory.queries.devices import DeviceFilter
from portal.core.keyset import encoded
from tests.integration.api.sizes import COUNT, PER_POOL, begin, fill, peak


@pytest.fixture
def large(db, now):
    """Return a cluster of 100,000 devices in 1,000 pools."""
    return fill("demo", COUNT, now)


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
        before = begin()
        answer = call(ada).get(f"clusters/demo/devices.{kind}")
        lines = sum(part.count(b"\n") for part in answer.streaming_content)
        assert lines == COUNT + more
        grown = peak() - before
        assert grown < 48 * 2**20, f"{kind}: {grown / 2**20:.0f} MiB"


def traced(caller, cluster, kind):
    """Return the lines of a stream, and the most bytes that Python held for it."""
    tracemalloc.start()
    try:
        answer = caller.get(f"clusters/{cluster}/devices.{kind}")
        lines = sum(part.count(b"\n") for part in answer.streaming_content)
        return lines, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("kind", "head"), [("ndjson", 0), ("csv", 1)])
def test_four_times_the_rows_take_no_more_memory(kind, head, call, ada, now):
    caller = call(ada)
    fill("few", 2_000, now)
    fill("many", 8_000, now)
    for name in ("few", "many"):  # what is kept of a cluster once it was asked for
        caller.get(f"clusters/{name}/devices?limit=1")
    list(caller.get(f"clusters/few/devices.{kind}").streaming_content)

    few, less = traced(caller, "few", kind)
    many, more = traced(caller, "many", kind)

    assert (few - head, many - head) == (2_000, 8_000)
    assert more < 1.25 * less, f"{less / 2**20:.1f} MiB, then {more / 2**20:.1f} MiB"


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

"""Each request is applied once and none is lost, whatever dies on the way.

Real processes are killed: worker, Valkey, API server. What was seen is the table
in docs/faults.md, written by `SLICEWISE_WRITE_DOCS=1`.
"""

from __future__ import annotations

import threading
import time

import pytest
from django.db import connection
from django.utils import timezone

from claims.domain.lifecycle import State
from claims.models import ClaimRequest
from claims.services.working import sweep
from tests.faults.counting import all_are
from tests.faults.table import HEALED_SECONDS
from tests.faults.world import until

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("point", ["before-create", "created", "recorded"])
def test_worker_killed(world, ask, healed, point):
    names = {
        "before-create": "worker killed before it creates",
        "created": "worker killed after it created, before it recorded",
        "recorded": "worker killed after it recorded",
    }
    worker = world.start_worker(fault=point)
    claim_requests = [ask() for _ in range(2)]
    until(lambda: not world.is_running(worker), seconds=30)
    since = time.monotonic()
    assert not all_are(claim_requests, State.ACTIVE)

    world.start_worker()

    healed(names[point], claim_requests, since=since)


def test_valkey_gone(world, ask, healed):
    world.start_worker()
    first = ask()
    until(lambda: all_are([first], State.ACTIVE), seconds=HEALED_SECONDS)
    world.kill_valkey()
    since = time.monotonic()

    claim_requests = [ask() for _ in range(3)]

    healed("Valkey gone, and still gone", claim_requests, since=since)


def test_worker_goes_on_when_valkey_is_back(world, ask, healed):
    world.start_worker()
    first = ask()
    until(lambda: all_are([first], State.ACTIVE), seconds=HEALED_SECONDS)
    world.kill_valkey()
    second = ask()
    world.start_valkey()
    since = time.monotonic()

    healed("Valkey killed and back, empty", [first, second, ask()], since=since)


def test_api_server_down(world, ask, healed):
    claim_requests = [ask() for _ in range(3)]
    world.kill_server()
    world.start_worker()

    def says_why():
        rows = ClaimRequest.objects.exclude(message="").filter(state=State.APPLYING)
        return rows.exclude(retry_at=None).count() == len(claim_requests)

    until(says_why, seconds=30)
    world.start_server()
    since = time.monotonic()

    healed("API server killed and started again", claim_requests, since=since)


def test_messages_twenty_times(world, ask, healed):
    from portal.celery import app

    claim_requests = [ask() for _ in range(3)]
    for one in claim_requests:
        for _ in range(20):
            app.send_task("claims.apply", kwargs={"claim_request_id": one.pk})
    since = time.monotonic()

    world.start_worker()
    world.start_worker()

    healed("each message twenty times, two workers", claim_requests, since=since)


def test_two_sweeps_at_once(world, ask, healed):
    claim_requests = [ask() for _ in range(10)]
    since = time.monotonic()
    counts = []

    def run():
        counts.append(sweep(clock=timezone.now))
        connection.close()

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sum(counts) == len(claim_requests)
    healed("two sweeps at once", claim_requests, since=since)


def test_one_poisoned_row_among_good_ones(world, ask, healed):
    poisoned = ask()
    type(poisoned.plan).objects.filter(pk=poisoned.plan_id).update(manifest=[])
    claim_requests = [ask() for _ in range(2)]
    since = time.monotonic()

    world.start_worker()

    healed(
        "a row that cannot be worked on before good ones", claim_requests, since=since
    )
    until(lambda: "unexpected" in _message(poisoned), seconds=HEALED_SECONDS)
    assert poisoned.retry_at is not None


def _message(claim_request):
    claim_request.refresh_from_db()
    return claim_request.message

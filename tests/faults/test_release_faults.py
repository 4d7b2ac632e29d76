"""What is released, or ended by order, is seen gone and recorded once, whatever dies.

Each request has a pod, so that there is something to end besides the template.
"""

from __future__ import annotations

import datetime as dt
import time

import pytest
from django.utils import timezone

from claims.domain.lifecycle import State
from claims.domain.manifest import request_id_of
from claims.models import ClaimRequest
from claims.services.releasing import release
from claims.services.starting import start_pod
from claims.services.working import work_on
from tests.faults import table
from tests.faults.counting import all_are, moves_too_many, objects, states_of
from tests.faults.table import HEALED_SECONDS, Seen
from tests.faults.world import until

pytestmark = pytest.mark.slow

MADE = ("ResourceClaimTemplate", "ResourceClaim", "Pod")


@pytest.fixture
def active(world, ask):
    """Return a function that has requests applied, each with a pod and its claim."""

    def do(count):
        claim_requests = [ask() for _ in range(count)]
        for one in claim_requests:
            assert work_on(one.pk, now=timezone.now())
            one.refresh_from_db()
            start_pod(one)
        until(
            lambda: len(objects(world, "ResourceClaim")) == count,
            seconds=HEALED_SECONDS,
        )
        return claim_requests

    return do


@pytest.fixture
def gone(world):
    """Return a function that waits for the end, counts, and fails on any remains."""

    def check(name, claim_requests, *, since):
        until(lambda: all_are(claim_requests, State.RELEASED), seconds=HEALED_SECONDS)
        found = Seen(
            count=len(claim_requests),
            state=", ".join(sorted(states_of(claim_requests))),
            healed_seconds=time.monotonic() - since,
            duplicates=moves_too_many(claim_requests, State.RELEASED),
            lost=sum(len(objects(world, kind)) for kind in MADE),
        )
        table.tell(name, found)
        assert found.state == "Released"

    return check


def release_all(world, claim_requests):
    pods = {request_id_of(body): body["metadata"] for body in objects(world, "Pod")}
    for one in claim_requests:
        pod = pods[str(one.public_id)]
        release(
            one,
            user=one.requester,
            pods=[(pod["name"], pod["uid"])],
            request_id="fault-test-id",
            now=timezone.now(),
        )


def end_now(claim_requests):
    """Have the time of requests be over."""
    rows = ClaimRequest.objects.filter(pk__in=[one.pk for one in claim_requests])
    rows.update(expires_at=timezone.now() - dt.timedelta(seconds=1))


def run_until_killed(world, point):
    worker = world.start_worker(fault=point)
    until(lambda: not world.is_running(worker), seconds=HEALED_SECONDS)
    return time.monotonic()


@pytest.mark.parametrize("point", ["before-delete", "deleted", "released"])
def test_worker_killed_while_it_releases(world, active, gone, point):
    names = {
        "before-delete": "worker killed before it deletes",
        "deleted": "worker killed after it deleted, before it recorded",
        "released": "worker killed after it recorded a release",
    }
    claim_requests = active(2)
    release_all(world, claim_requests)

    since = run_until_killed(world, point)
    assert not all_are(claim_requests, State.RELEASED)
    world.start_worker()

    gone(names[point], claim_requests, since=since)


def test_worker_dead_over_the_end(world, active, gone):
    claim_requests = active(2)
    world.kill(world.start_worker())
    end_now(claim_requests)
    assert all_are(claim_requests, State.ACTIVE)
    since = time.monotonic()

    world.start_worker()

    gone("worker dead when the time was over", claim_requests, since=since)


@pytest.mark.parametrize("point", ["ending", "deleted"])
def test_worker_killed_while_it_ends_what_is_over(world, active, gone, point):
    names = {
        "ending": "worker killed while it orders an end",
        "deleted": "worker killed after it ended by order, before it recorded",
    }
    claim_requests = active(2)
    end_now(claim_requests)

    since = run_until_killed(world, point)
    assert states_of(claim_requests) <= {State.ACTIVE, State.RELEASING}
    world.start_worker()

    gone(names[point], claim_requests, since=since)

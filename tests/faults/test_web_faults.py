"""What is asked of a web process is done once or not at all, wherever it dies.

It is killed at each step of a submit and of a release over REST; then the same is sent
to another, as a client does that got no answer.
"""

from __future__ import annotations

import time

import httpx
import pytest
from django.utils import timezone

from claims.domain.lifecycle import State
from claims.models import ClaimRequest
from portal.accounts.domain.scopes import Scope
from portal.accounts.tokens import make_token
from portal.api.models import KeptAnswer
from tests.faults.counting import all_are, states_of
from tests.faults.table import HEALED_SECONDS
from tests.faults.test_release_faults import gone  # noqa: F401  a fixture
from tests.faults.world import until
from tests.integration.claims.objects import manifest_of

pytestmark = pytest.mark.slow

REQUESTS = "/api/v1/claim-requests"
SUBMITS = {
    "stored": "web killed once a submit is written, before that is committed",
    "submitted": "web killed once a submit is committed, before a worker hears of it",
}
RELEASES = {
    "ordered": "web killed once a release is written, before that is committed",
    "release-begun": "web killed once a release is committed, before a worker hears of it",
}


@pytest.fixture
def send(ada):
    """Return a function that posts as Ada, over REST."""
    scopes = [Scope.CLAIMS_READ, Scope.CLAIMS_WRITE]
    made = make_token(user=ada, name="x", scopes=scopes, days=1, now=timezone.now())
    heads = {"Authorization": f"Bearer {made[1]}"}

    def do(address, path, body, **more):
        with httpx.Client(base_url=address, headers=heads, timeout=60) as client:
            return client.post(f"{REQUESTS}{path}", json=body, headers=more)

    return do


def dead(world, web):
    """Return when a web process was seen dead."""
    until(lambda: not world.is_running(web), seconds=30)
    return time.monotonic()


def test_web_killed_while_it_takes_a_submit(world, cluster, send, healed):
    world.start_worker()
    _name, whole = world.start_web()
    for point, name in SUBMITS.items():
        body = {"cluster": cluster.name, "manifest": manifest_of()}
        key = {"Idempotency-Key": f"fault-{point}"}
        found = ClaimRequest.objects.filter(
            plan__name=body["manifest"]["metadata"]["name"]
        )
        web, address = world.start_web(fault=point)
        with pytest.raises(httpx.TransportError):
            send(address, "", body, **key)
        since = dead(world, web)
        assert found.count() == (point == "submitted")

        # Who died held the key for a minute, which is over.
        KeptAnswer.objects.update(held_until=timezone.now())
        again = send(whole, "", body, **key)

        assert again.status_code == 202, again.text
        healed(name, [found.get()], since=since)


def test_web_killed_while_it_takes_a_release(world, ask, send, gone):  # noqa: F811
    world.start_worker()
    _name, whole = world.start_web()
    for point, name in RELEASES.items():
        one = ask()
        until(lambda one=one: all_are([one], State.ACTIVE), seconds=HEALED_SECONDS)
        web, address = world.start_web(fault=point)
        path = f"/{one.public_id}/release"
        with pytest.raises(httpx.TransportError):
            send(address, path, {}, **{"If-Match": "*"})
        since = dead(world, web)
        if point == "ordered":
            assert states_of([one]) == {State.ACTIVE}

        again = send(whole, path, {}, **{"If-Match": "*"})

        # Where it counted, it may be over by now.
        assert again.status_code in ({202} if point == "ordered" else {202, 409})
        gone(name, [one], since=since)

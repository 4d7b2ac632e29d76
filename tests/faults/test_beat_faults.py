"""What beat alone orders, notices and seals, comes once: whichever beat dies, or with two.

Beat sends a message every few seconds; who takes it looks for what is due in Postgres.
"""

from __future__ import annotations

import time
from collections import Counter

import orjson
import pytest
from django.apps import apps
from django.utils import timezone

from claims.domain.lifecycle import State
from claims.services.working import work_on
from portal.audit.models import Seal
from portal.audit.services.sealing import verify
from tests.faults import table
from tests.faults.counting import states_of
from tests.faults.table import HEALED_SECONDS, Seen
from tests.faults.world import until
from tests.integration.notices.conftest import receiver, subscribed

__all__ = ["receiver", "subscribed"]
pytestmark = pytest.mark.slow


@pytest.fixture
def told(world, receiver, subscribed, ada):
    """Return a function that waits until all are told of and sealed, and counts."""
    world.env["SLICEWISE_OUTWARD_ALLOW"] = "127.0.0.1"
    subscribed(ada, "claim.active")

    def names():
        bodies = [orjson.loads(body) for _headers, body in receiver.received]
        return Counter(body["data"]["payload"]["claimRequest"] for body in bodies)

    def check(name, claim_requests, *, since):
        wanted = {str(one.public_id) for one in claim_requests}
        until(lambda: wanted <= {*names()}, seconds=HEALED_SECONDS)
        until(all_is_sealed, seconds=HEALED_SECONDS)
        took = time.monotonic() - since
        # Another round of every beat that is left.
        time.sleep(6)
        found = Seen(
            count=len(claim_requests),
            state=", ".join(sorted(states_of(claim_requests))),
            healed_seconds=took,
            duplicates=names().total() - len(wanted),
            lost=len(verify().faults),
        )
        table.tell(name, found)
        assert found.state == "Active"

    return check


def all_is_sealed():
    events = apps.get_model("claims", "ClaimRequestEvent").objects
    return (
        Seal.objects.filter(table="claims.ClaimRequestEvent").count() == events.count()
    )


@pytest.fixture
def applied(world, ask):
    """Return requests that are Active, of which no message tells anybody any more."""
    made = [ask() for _ in range(5)]
    for one in made:
        assert work_on(one.pk, now=timezone.now())
    assert states_of(made) == {State.ACTIVE}
    world.kill_valkey()
    world.start_valkey()
    return made


def test_beat_killed_and_started_again(world, told, applied):
    beat = world.start_beat()
    world.start_worker()
    until(lambda: (world.folder / "alive-beat").exists(), seconds=60)
    world.kill(beat)
    since = time.monotonic()
    time.sleep(6)
    assert not Seal.objects.exists()

    world.start_beat()

    told("beat killed and started again, messages lost", applied, since=since)


def test_two_beats_and_two_workers(world, told, applied):
    since = time.monotonic()
    for _ in range(2):
        world.start_beat()
        world.start_worker()

    told("two beats, two workers, messages lost", applied, since=since)

"""Everything at once: each request is applied once, or failed and says why.

60 requests; FULL=1 asks for the 1,000 of the promise.
"""

from __future__ import annotations

import os
import random
import threading
import time
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import pytest
from django.db import DatabaseError, InterfaceError, connection
from django.utils import timezone

from claims.domain.lifecycle import State
from claims.domain.manifest import request_id_of
from claims.models import ClaimRequest
from claims.services.working import sweep
from inventory.gateways.kubeconfig import connect
from inventory.gateways.transport import Call, call
from portal.core.errors import PortalError
from tests.faults import table
from tests.faults.counting import duplicates, templates
from tests.faults.table import Seen
from tests.faults.test_server_faults import EVERY
from tests.faults.world import until
from tests.integration.claims.objects import _classes, manifest_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

SEED = 20261130
IS_FULL = os.environ.get("FULL") == "1"
COUNT = 1000 if IS_FULL else 60
FAILS_EVERY = 10
PATIENCE_SECONDS = 1200 if IS_FULL else 240


class Trouble:
    """Ends and brings back one thing after another, chosen by a seed."""

    def __init__(self, world, postgres):
        self.world = world
        self.postgres = postgres
        self.done: Counter[str] = Counter()
        self._chance = random.Random(SEED)
        self._kinds = [
            self.worker_killed,
            self.valkey_killed,
            self.api_server_killed,
            self.postgres_crashed,
            self.messages_doubled,
        ]

    def run(self, is_over):
        """Go round, each kind at least once, until it is over.

        What it starts dies with the thread that starts it: call it in the main one.
        """
        while not (is_over() and self.done):
            for each in self._chance.sample(self._kinds, len(self._kinds)):
                each()
                self.done[each.__name__] += 1
                time.sleep(self._chance.uniform(0.2, 1.5))

    def worker_killed(self):
        self.world.kill(self._chance.choice(self.world.workers()))
        self.world.start_worker()

    def valkey_killed(self):
        self.world.kill_valkey()
        time.sleep(self._chance.uniform(0.1, 1))
        self.world.start_valkey()

    def api_server_killed(self):
        self.world.kill_server()
        time.sleep(self._chance.uniform(0.1, 1))
        self.world.start_server()

    def postgres_crashed(self):
        self.postgres.crash()
        self.postgres.start()

    def messages_doubled(self):
        from portal.celery import app

        with suppress(DatabaseError, InterfaceError, OSError):
            for pk in list(ClaimRequest.objects.values_list("pk", flat=True)[:20]):
                for _ in range(3):
                    app.send_task("claims.apply", kwargs={"claim_request_id": pk})
        connection.close()


@contextmanager
def running(*works):
    """Run functions in threads of their own; tell each when the end has come."""
    over = threading.Event()
    with ThreadPoolExecutor() as pool:
        futures = [pool.submit(work, over) for work in works]
        try:
            yield futures
        finally:
            over.set()
    for future in futures:
        future.result()


def sweep_too(over):
    """Sweep beside the workers, as a second beat makes them."""
    while not over.wait(0.5):
        with suppress(DatabaseError, InterfaceError):
            sweep(clock=timezone.now)
        connection.close()


def persistent(do):
    """Do it until it is done, as a person or a program would that may try again."""
    while True:
        try:
            return do()
        except (DatabaseError, InterfaceError):
            connection.close()
        except PortalError as error:
            if error.permanent:
                raise
        time.sleep(0.1)


def asked(ask, number):
    """Ask for one thing until it is taken; every tenth names a class that changes."""
    changing = number % FAILS_EVERY == 0
    manifest = manifest_of(
        device_class="changing.example.com" if changing else "gpu.example.com"
    )
    key = uuid.uuid4()
    return persistent(lambda: ask(manifest, key))


def replace_class(world):
    """Make the changing class another one, so that what names it must not be applied."""
    body = next(each for each in _classes() if each["metadata"]["name"][0] == "c")
    path = "/apis/resource.k8s.io/v1/deviceclasses"
    link = connect("demo", world.kubeconfig("admin"))
    call(link, Call("DELETE", f"{path}/changing.example.com"), ())
    call(link, Call("POST", path, body=body), ())
    link.close()


def test_everything_at_once(postgres, world, faulty, ask):
    claim_requests = [asked(ask, number) for number in range(COUNT // 10)]
    replace_class(world)
    faulty.faults, faulty.share = EVERY, 0.1
    for _ in range(2):
        world.start_worker()
    trouble = Trouble(world, postgres)

    def go_on_asking(_over):
        claim_requests.extend(
            asked(ask, number) for number in range(COUNT // 10, COUNT)
        )
        connection.close()

    with running(go_on_asking, sweep_too) as (asking, _):
        trouble.run(asking.done)
    faulty.faults = ()
    connection.close()
    since = time.monotonic()

    with running(sweep_too):
        rows = ClaimRequest.objects.exclude(
            state__in={State.ACTIVE, State.APPLY_FAILED}
        )
        until(lambda: persistent(rows.count) == 0, seconds=PATIENCE_SECONDS)

    healed = time.monotonic() - since
    _count(world, claim_requests, healed)
    print(COUNT, dict(trouble.done), dict(faulty.seen), f"{healed:.1f} s")
    assert set(faulty.seen) == set(EVERY)


def _count(world, claim_requests, healed):
    """Hold each request against the cluster; note what was found."""
    assert len({one.pk for one in claim_requests}) == COUNT
    for one in claim_requests:
        one.refresh_from_db()
    active = [one for one in claim_requests if one.state == State.ACTIVE]
    failed = [one for one in claim_requests if one.state == State.APPLY_FAILED]
    uids = {request_id_of(body): body["metadata"]["uid"] for body in templates(world)}
    missing = sum(uids.get(str(one.public_id)) != one.object_uid for one in active)
    unsaid = [one for one in failed if not one.message]
    made = [one for one in failed if str(one.public_id) in uids]
    doubled = duplicates(world, claim_requests) + len(uids) - len(active)
    words = f"{len(active)} Active, {len(failed)} failed with their reason"
    table.seen[f"all of this at once, {COUNT} requests"] = Seen(
        COUNT, words, healed, doubled, missing
    )
    assert (doubled, missing, unsaid, made) == (0, 0, [], [])
    assert len(active) + len(failed) == COUNT
    assert len(failed) == COUNT // FAILS_EVERY

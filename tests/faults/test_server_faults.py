"""An API server that answers badly: what is asked of it is done once all the same."""

from __future__ import annotations

import datetime as dt
import json
import threading
import time

import pytest
from django.db import connection
from django.utils import timezone

from claims.domain.lifecycle import State
from claims.models import ClaimRequest
from claims.services.working import sweep
from inventory.models import Cluster
from portal.core.secrets import decrypt, encrypt
from tests.cluster import credentials
from tests.faults import faulty as kinds
from tests.faults import table
from tests.faults.counting import all_are
from tests.faults.faulty import FaultyServer
from tests.faults.table import HEALED_SECONDS
from tests.faults.test_watcher_engine_faults import caught_up
from tests.faults.world import until
from tests.integration.watcher import conftest as watching
from tests.integration.watcher.conftest import assert_same
from tests.integration.watcher.test_upsets import fill, slice_of

pytestmark = pytest.mark.slow

sim, add, watch, quick = (
    watching.sim,
    watching.add,
    watching.watch,
    watching.quick,
)
__all__ = ["add", "quick", "sim", "watch"]
EVERY = (
    *(kinds.SLOW, kinds.BUSY, kinds.BROKEN),
    *(kinds.CUT_BEFORE, kinds.CUT_AFTER, kinds.CUT_WITHIN),
)


@pytest.fixture
def sweeping(transactional_db):
    """Return a function that works on what is due, by a clock, until the test's end."""
    over = threading.Event()
    threads = []

    def start(ahead=dt.timedelta()):
        def work():
            while not over.wait(0.05):
                sweep(clock=lambda: timezone.now() + ahead)
            connection.close()

        threads.append(threading.Thread(target=work))
        threads[-1].start()

    yield start
    over.set()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize(
    "faults",
    [
        (kinds.SLOW,),
        (kinds.BUSY, kinds.BROKEN),
        (kinds.CUT_BEFORE, kinds.CUT_AFTER, kinds.CUT_WITHIN),
    ],
    ids=["slow", "refusing", "cutting"],
)
def test_an_api_server_that_answers_badly(faulty, ask, healed, sweeping, faults):
    claim_requests = [ask() for _ in range(5)]
    faulty.faults = faults

    sweeping()

    until(lambda: set(faulty.seen) == set(faults), seconds=HEALED_SECONDS)
    faulty.faults = ()
    healed(
        f"API server: {', '.join(faults)}, each other call",
        claim_requests,
        since=time.monotonic(),
    )


def test_a_wrong_certificate_is_told_and_nothing_is_sent(
    faulty, world, cluster, ask, healed, sweeping, tmp_path
):
    claim_requests = [ask() for _ in range(3)]
    right = credentials.prepare(world.folder / "keys", {})
    wrong = credentials.prepare(tmp_path / "other-keys", {})
    faulty.use_certificate(wrong["tls.crt"], wrong["tls.key"])
    _trust(cluster, faulty, right["ca.crt"])

    sweeping()

    waiting = ClaimRequest.objects.exclude(retry_at=None).filter(state=State.APPLYING)
    until(lambda: waiting.count() == 3, seconds=HEALED_SECONDS)
    assert all("certificate" in one.message for one in waiting)
    assert not all_are(claim_requests, State.ACTIVE)
    faulty.use_certificate(right["tls.crt"], right["tls.key"])
    healed(
        "API server: wrong certificate, then the right one",
        claim_requests,
        since=time.monotonic(),
    )


def _trust(cluster: Cluster, server: FaultyServer, ca_file: str) -> None:
    """Have the portal speak TLS to the server, trusting one authority alone."""
    config = json.loads(decrypt(cluster.kubeconfig_encrypted))
    config["clusters"][0]["cluster"] = {
        "server": server.url.replace("http:", "https:"),
        "certificate-authority": ca_file,
    }
    cluster.kubeconfig_encrypted = encrypt(json.dumps(config))
    cluster.save()


def test_clocks_that_differ_by_an_hour(faulty, ask, healed, sweeping):
    """Whoever is ahead sees every lease as over, and works on what others work on."""
    claim_requests = [ask() for _ in range(10)]
    faulty.faults, faulty.share = (kinds.SLOW,), 0.5
    since = time.monotonic()

    for hours in (0, 1, -1):
        sweeping(dt.timedelta(hours=hours))

    healed("workers' clocks an hour apart", claim_requests, since=since)


def test_a_watcher_whose_api_server_answers_badly(sim, add, watch):
    fill(sim.client(), count=5)
    cluster = add(sim)
    server = FaultyServer(sim.port, seed=20261130)
    text = decrypt(cluster.kubeconfig_encrypted).replace(sim.url, server.url)
    cluster.kubeconfig_encrypted = encrypt(text)
    cluster.save()
    try:
        watch(cluster.name)
        assert_same(_directly(cluster, sim, add), HEALED_SECONDS)
        server.faults = EVERY
        for number in range(30):
            sim.client().create(slice_of(f"late-{number}", devices=2))
            time.sleep(0.03)
        until(lambda: len(server.seen) == len(EVERY), seconds=HEALED_SECONDS)
        server.faults = ()
        found = caught_up(_directly(cluster, sim, add), since=time.monotonic())
        table.tell(f"API server, while it is watched: {', '.join(EVERY)}", found)
    finally:
        server.close()


def _directly(cluster, sim, add):
    """Return the same cluster as a row, not stored, that goes past the faults."""
    direct = add(sim, name=f"direct-{time.monotonic_ns()}")
    direct.delete()
    direct.pk = cluster.pk
    return direct

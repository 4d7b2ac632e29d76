"""The inventory catches up, and previews are answered again, whatever dies on the way."""

from __future__ import annotations

import os
import resource
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection

from claims.services.preview import preview
from inventory.gateways.engine import EngineDeadline, EngineRefused, EngineUnavailable
from inventory.gateways.engine_process import EngineProcess
from inventory.models import KubeObject
from tests.contract import objects
from tests.engine.problems import vectors
from tests.faults import table
from tests.faults.postgres import lives
from tests.faults.table import HEALED_SECONDS, Seen
from tests.integration.watcher import conftest as watching
from tests.integration.watcher.conftest import (
    assert_same,
    in_cluster,
    in_postgres,
    kube_of,
)
from tests.integration.watcher.test_leaders import command, leads
from tests.integration.watcher.test_upsets import fill, slice_of

pytestmark = [
    pytest.mark.slow,
    # httpcore leaves a socket open whose engine died between look and connect.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

sim, add = watching.sim, watching.add
__all__ = ["add", "command", "sim"]


def caught_up(cluster, *, since: float) -> Seen:
    """Wait until Postgres equals the cluster; count doubled and missing objects."""
    assert_same(cluster, seconds=HEALED_SECONDS)
    healed = time.monotonic() - since
    with kube_of(cluster) as kube:
        wanted = in_cluster(kube)
    kept = in_postgres(cluster)
    rows = KubeObject.objects.filter(cluster=cluster, deleted_at=None).count()
    return Seen(
        len(wanted), "equal", healed, rows - len(kept), len(wanted.keys() - kept.keys())
    )


def kill(process) -> float:
    process.send_signal(signal.SIGKILL)
    process.wait()
    return time.monotonic()


@pytest.mark.parametrize("seconds", [0.2, 1.0])
def test_watcher_killed_while_it_lists(sim, add, command, seconds):
    fill(sim.client(), count=60)
    cluster = add(sim)
    first = command()
    deadline = time.monotonic() + HEALED_SECONDS
    while not leads(first) and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(seconds)

    since = kill(first)
    command()

    table.tell(
        f"watcher killed {seconds} s into its lists", caught_up(cluster, since=since)
    )


def test_watcher_killed_while_it_watches(sim, add, command):
    fill(sim.client(), count=10)
    cluster = add(sim)
    first = command()
    assert_same(cluster, seconds=HEALED_SECONDS)
    stop = threading.Event()
    thread = threading.Thread(target=_change, args=(sim, stop))
    thread.start()
    time.sleep(1)

    since = kill(first)
    command()
    time.sleep(1)
    stop.set()
    thread.join()

    table.tell("watcher killed while objects change", caught_up(cluster, since=since))


def _change(sim, stop: threading.Event) -> None:
    client = sim.client()
    number = 0
    while not stop.is_set():
        number += 1
        client.create(objects.claim(f"made-{number}", "lab"))
        client.create(slice_of(f"late-{number}", devices=2))
        time.sleep(0.02)


def explosive(now):
    """Return a cluster and claims that the search cannot decide in its time."""
    from inventory.services.loading import load_cluster
    from tests.integration.test_vectors import KINDS

    (problem,) = vectors("allocation-explosive")
    loaded = load_cluster(
        "explosive",
        [
            {"apiVersion": api, "kind": kind, **body}
            for field, (api, kind) in KINDS.items()
            for body in problem[field] or []
        ],
        kubernetes_version="1.37",
        feature_gates=dict.fromkeys(problem["features"], True),
        now=now,
    )
    return loaded.cluster, problem["claims"]


ONE = {
    "metadata": {"name": "c", "namespace": "n"},
    "spec": {
        "devices": {
            "requests": [
                {"name": "g", "exactly": {"deviceClassName": "gpu.nvidia.com"}}
            ]
        }
    },
}


def engine_pid() -> int:
    return int(
        EngineProcess("1.37", Path(settings.SLICEWISE_RUN_DIR)).pid_file.read_text()
    )


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_engine_dies_or_hangs_while_it_allocates(
    transactional_db, load_fleets, now, how
):
    cluster, claims = explosive(now)
    fleet = load_fleets("nvidia-t4-l40s")
    wanted = preview(fleet, [ONE]).document()
    said: list[Exception] = []

    def ask() -> None:
        try:
            preview(cluster, claims, budget=5)
        except (EngineUnavailable, EngineDeadline, EngineRefused) as error:
            said.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=ask)
    thread.start()
    time.sleep(1)
    pid = engine_pid()
    os.kill(pid, how)
    since = time.monotonic()
    if how == signal.SIGSTOP:
        # Whoever waits for it notices, and ends it.
        thread.join(HEALED_SECONDS)
        assert not thread.is_alive()
        assert not lives(pid)

    found = preview(fleet, [ONE]).document()

    healed = time.monotonic() - since
    thread.join(20)
    word = "killed" if how == signal.SIGKILL else "hangs"
    table.tell(
        f"engine {word} while it allocates",
        Seen(1, "answered", healed, 0, int(found != wanted)),
    )
    assert all(error.message for error in said)


def test_engine_killed_between_questions(transactional_db, load_fleets):
    fleet = load_fleets("nvidia-t4-l40s")
    wanted = preview(fleet, [ONE]).document()
    os.kill(engine_pid(), signal.SIGKILL)
    since = time.monotonic()

    found = preview(fleet, [ONE]).document()

    table.tell(
        "engine killed between questions",
        Seen(1, "answered", time.monotonic() - since, 0, int(found != wanted)),
    )


def test_engine_without_memory(transactional_db, load_fleets, now):
    """It ends where it can have no more; the next one answers."""
    cluster, claims = explosive(now)
    fleet = load_fleets("nvidia-t4-l40s")
    wanted = preview(fleet, [ONE]).document()
    pid = engine_pid()
    _, hard = resource.prlimit(pid, resource.RLIMIT_AS)
    resource.prlimit(pid, resource.RLIMIT_AS, (1, hard))
    deadline = time.monotonic() + HEALED_SECONDS
    while lives(pid) and time.monotonic() < deadline:
        with suppress(EngineUnavailable, EngineDeadline, EngineRefused):
            preview(cluster, claims, budget=2)
    assert not lives(pid)
    since = time.monotonic()

    found = preview(fleet, [ONE]).document()

    table.tell(
        "engine out of memory",
        Seen(1, "answered", time.monotonic() - since, 0, int(found != wanted)),
    )
    assert engine_pid() != pid

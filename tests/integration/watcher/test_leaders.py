"""One leader a cluster, across processes: it dies, the next takes over at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection

from inventory.models import Cluster, KubeObject
from inventory.services.watching.lease import LOCK_CLASS
from tests.integration.watcher.conftest import assert_same, eventually
from tests.integration.watcher.test_upsets import fill

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def command(transactional_db, tmp_path):
    """Start `manage.py watch` on the test's database; kill what is left at the end."""
    database = connection.settings_dict
    url = f"postgres://{database['USER']}@/{database['HOST']}/{database['NAME']}"
    env = os.environ | {"DATABASE_URL": url, "SECRET_KEY": settings.SECRET_KEY}
    running = []

    def start(*args):
        log = (tmp_path / f"watch-{len(running)}.log").open("w")
        process = subprocess.Popen(
            [sys.executable, "manage.py", "watch", *args],
            cwd=ROOT,
            env=env,
            stderr=log,
            stdout=log,
        )
        log.close()
        process.log = tmp_path / f"watch-{len(running)}.log"
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.wait()


def leads(process):
    return '"leading"' in process.log.read_text()


def lock_holders():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted"
            " AND classid = %s AND database ="
            " (SELECT oid FROM pg_database WHERE datname = current_database())",
            [LOCK_CLASS],
        )
        return [row[0] for row in cursor.fetchall()]


def test_second_takes_over_when_the_first_is_killed(sim, add, command):
    client = sim.client()
    fill(client)
    cluster = add(sim)
    first = command()
    eventually(lambda: leads(first))
    second = command()
    assert_same(cluster)
    time.sleep(3)
    assert not leads(second)
    assert len(lock_holders()) == 1
    first.send_signal(signal.SIGKILL)
    fill(client, 2, "orphan")
    eventually(lambda: leads(second))
    assert_same(cluster)
    assert len(lock_holders()) == 1


def test_leader_whose_database_connection_dies_steps_back(sim, add, command):
    client = sim.client()
    fill(client)
    cluster = add(sim)
    first, second = command(), command()
    assert_same(cluster)
    for number in range(3):
        pids = lock_holders()
        with connection.cursor() as cursor:
            for pid in pids:
                cursor.execute("SELECT pg_terminate_backend(%s)", [pid])
        fill(client, 2, f"round-{number}")
        eventually(lambda pids=pids: lock_holders() and lock_holders() != pids)
        assert_same(cluster)
        assert len(lock_holders()) == 1
    assert first.poll() is None
    assert second.poll() is None


def test_sigterm_ends_it_while_the_server_hangs(sim, add, command):
    fill(sim.client())
    cluster = add(sim)
    hanging = Cluster.objects.create(
        name="hanging",
        kind="live",
        kubeconfig_encrypted=cluster.kubeconfig_encrypted,
    )
    assert hanging
    process = command()
    assert_same(cluster)
    os.kill(sim.pid, signal.SIGSTOP)
    try:
        time.sleep(1.5)
        process.terminate()
        # The server goes on only after this: nothing of it is waited for.
        assert process.wait(20) == 0
    finally:
        os.kill(sim.pid, signal.SIGCONT)
    assert "Traceback" not in process.log.read_text()


def test_next_leader_resumes_and_does_not_list(sim, add, command):
    fill(sim.client())
    cluster = add(sim)
    first = command()
    assert_same(cluster)
    first.terminate()
    first.wait()
    # A list would bring it back.
    gone = KubeObject.objects.get(cluster=cluster, kind="ResourceSlice", name="node-2")
    gone.delete()
    second = command()
    eventually(lambda: leads(second))
    fill(sim.client(), 1, "more")
    more = {
        "cluster": cluster,
        "kind": "ResourceClaimTemplate",
        "name": "more-template",
    }
    eventually(lambda: KubeObject.objects.filter(**more).exists())
    time.sleep(1)
    assert not KubeObject.objects.filter(pk=gone.pk).exists()
    assert not KubeObject.objects.filter(cluster=cluster, name="node-2", kind=gone.kind)


def test_names_that_cannot_be_watched(load_fleets, command):
    load_fleets("nvidia-t4-l40s", name="files")
    connection.commit() if not connection.get_autocommit() else None
    for name, said in [("nothing", "no cluster nothing"), ("files", "from files")]:
        process = command(name)
        assert process.wait(20) == 2
        assert said in process.log.read_text()
        assert "Traceback" not in process.log.read_text()

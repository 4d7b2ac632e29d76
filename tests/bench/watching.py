"""How long until a change in the cluster reaches an open page, and a first sync takes.

Run by `make bench` (tests.bench.rows.watcher_row), as one pytest of its own with a
database and a simulated server; what is measured goes to BENCH_FIGURES, as JSON.
"""

from __future__ import annotations

import json
import os
import resource
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psycopg
import pytest
from django.conf import settings
from django.db import connection
from django.test import Client as Browser

from inventory.models import Device, KubeObject
from portal.accounts.models import User
from tests.bench.serving import uvicorn
from tests.cluster.client import DRA, Client
from tests.contract import objects
from tests.faults.world import database_url
from tests.integration.watcher import conftest as watching
from tests.integration.watcher.conftest import assert_same, eventually
from tests.integration.watcher.test_upsets import fill

sim, add, watch = watching.sim, watching.add, watching.watch
__all__ = ["add", "sim", "watch"]

RATE = 200
SECONDS = 8
CLAIMS = 40


class Listener(threading.Thread):
    """Notes when each change is committed: the notice comes at commit."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._session, self._reading = _session(), _session()
        self._session.execute("LISTEN slicewise")
        self.committed: dict[str, float] = {}
        self.revisions: dict[str, int] = {}

    def run(self) -> None:
        for notice in self._session.notifies(timeout=SECONDS + 5):
            at = time.monotonic()
            revision = json.loads(notice.payload)["revision"]
            rows = self._reading.execute(
                "SELECT body->'metadata'->'annotations'->>'seq' FROM inventory_kubeobject"
                " WHERE revision = %s AND kind = 'ResourceClaim'",
                [revision],
            )
            for (sequence,) in rows:
                if sequence:
                    self.committed.setdefault(sequence, at)
                    self.revisions.setdefault(sequence, revision)
        self._session.close()
        self._reading.close()


class Page(threading.Thread):
    """An open page's stream of events: when each revision of the cluster was told."""

    def __init__(self, address: str) -> None:
        super().__init__(daemon=True)
        self._address = address
        self.opened = threading.Event()
        self.told: list[tuple[int, float]] = []

    def run(self) -> None:
        person = User.objects.create(username="reader", roles=["admin"])
        browser = Browser()
        browser.force_login(person)
        connection.close()
        cookies = {name: each.value for name, each in browser.cookies.items()}
        path = f"{self._address}/c/demo/events"
        ends = time.monotonic() + SECONDS + 10
        with httpx.stream("GET", path, cookies=cookies, timeout=30) as response:
            for line in response.iter_lines():
                self.opened.set()
                if line.startswith("id: "):
                    self.told.append((int(line[4:]), time.monotonic()))
                if time.monotonic() > ends or line.startswith(": still here"):
                    return

    def when(self, revision: int) -> float:
        """Return when the page first knew of a revision."""
        return next(at for told, at in self.told if told >= revision)


def _session() -> psycopg.Connection:
    database = connection.settings_dict
    return psycopg.connect(
        host=database["HOST"],
        user=database["USER"],
        dbname=database["NAME"],
        autocommit=True,
    )


def note(**figures: float) -> None:
    """Add figures to those of this run."""
    path = Path(os.environ["BENCH_FIGURES"])
    known = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(known | figures))


def test_event_to_page(sim, add, watch):
    client = sim.client()
    fill(client)
    for number in range(CLAIMS):
        client.create(objects.claim(f"claim-{number}", "lab"))
    cluster = add(sim)
    watch()
    assert_same(cluster)
    env = {"DATABASE_URL": database_url(connection.settings_dict)}
    env |= {"SECRET_KEY": settings.SECRET_KEY, "ALLOWED_HOSTS": "127.0.0.1"}
    with uvicorn(env) as (address, _pid):
        page, listener = Page(address), Listener()
        page.start()
        assert page.opened.wait(30)
        listener.start()
        sent, rate = at_a_rate(client)
        listener.join()
        page.join()
    assert_same(cluster)
    # Of changes of one object within a batch only the last is stored.
    waits = [listener.committed[s] - sent[s] for s in listener.committed]
    shown = [page.when(listener.revisions[s]) - sent[s] for s in listener.committed]
    assert len(waits) > len(sent) / 10
    note(rate=rate, **percentiles("commit", waits), **percentiles("page", shown))


def percentiles(what: str, seconds: list[float]) -> dict[str, float]:
    """Return the median and the 99th percentile, named."""
    ordered = sorted(seconds)
    count = len(ordered)
    return {
        f"{what}_p50": ordered[count // 2],
        f"{what}_p99": ordered[int(count * 0.99)],
    }


def at_a_rate(client: Client) -> tuple[dict[str, float], float]:
    """Change claims at RATE for SECONDS; return when each was sent, and the true rate."""
    sent: dict[str, float] = {}
    began = time.monotonic()

    def change(sequence: int) -> None:
        target = {
            "kind": "ResourceClaim",
            "metadata": {"name": f"claim-{sequence % CLAIMS}", "namespace": "lab"},
        }
        time.sleep(max(0, began + sequence / RATE - time.monotonic()))
        client.patch(target, {"metadata": {"annotations": {"seq": str(sequence)}}})
        sent[str(sequence)] = time.monotonic()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(change, range(RATE * SECONDS)))
    return sent, len(sent) / (time.monotonic() - began)


@pytest.mark.parametrize("count", [400])
def test_first_sync(sim, add, watch, count):
    client = sim.client()
    devices = [
        {
            "name": f"gpu-{number}",
            "attributes": {
                "gpu.example.com/uuid": {"string": f"GPU-{number:032d}"},
                "gpu.example.com/model": {"string": "H100 80GB HBM3"},
                "gpu.example.com/driverVersion": {"version": "580.95.5"},
            },
            "capacity": {"gpu.example.com/memory": {"value": "81559Mi"}},
        }
        for number in range(20)
    ]
    for number in range(count):
        made = objects.resource_slice(
            f"s-{number}", driver="gpu.example.com", node=f"n-{number}", devices=devices
        )
        client.call("POST", f"{DRA}/resourceslices", made)
    cluster = add(sim)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.monotonic()
    watch()
    eventually(lambda: Device.objects.filter(cluster=cluster).count() == count * 20, 60)
    took = time.monotonic() - began
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
    assert (
        KubeObject.objects.filter(cluster=cluster, kind="ResourceSlice").count()
        == count
    )
    note(slices=count, seconds=took, megabytes=grown / 1024)

"""A server, a cluster row that points at it, and watchers in this process."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection

from inventory.domain.kinds import WATCHED
from inventory.domain.trim import trimmed
from inventory.gateways.errors import KubeError, NotServed
from inventory.gateways.identity import AS_ITSELF
from inventory.gateways.kube import Kube
from inventory.gateways.kubeconfig import connect, standing_alone
from inventory.models import Cluster, KubeObject
from inventory.services import connections
from inventory.services.watching import pulse, reading
from inventory.services.watching.fleet import Watchers
from portal.core import secrets
from tests.cluster.build import supported_versions
from tests.cluster.controlplane import ControlPlane
from tests.integration.watcher.servers import RealServer, SimServer

NEWEST = list(supported_versions().values())[-1]


@pytest.fixture(scope="package")
def planes() -> Iterator[Callable[[str], RealServer]]:
    """Return a function that gives a version's one control plane of these tests."""
    running: dict[str, RealServer] = {}
    with contextlib.ExitStack() as stack:

        def get(version: str) -> RealServer:
            if version not in running:
                plane = stack.enter_context(ControlPlane(version))
                running[version] = RealServer(plane)
            return running[version]

        yield get


@pytest.fixture(params=["sim", pytest.param("real", marks=pytest.mark.cluster)])
def server(request: pytest.FixtureRequest, tmp_path) -> Iterator[Any]:
    """Return the simulated server, then a real one that is emptied afterwards."""
    made: Any
    if request.param == "sim":
        made = SimServer(tmp_path)
    else:
        made = request.getfixturevalue("planes")(NEWEST)
    yield made
    made.close()


@pytest.fixture
def sim(tmp_path) -> Iterator[SimServer]:
    """Return the simulated server alone."""
    made = SimServer(tmp_path)
    yield made
    made.close()


@pytest.fixture(autouse=True)
def quick(monkeypatch) -> None:
    """Wait less between tries than in earnest."""
    monkeypatch.setattr(pulse, "PULSE_SECONDS", 1)
    monkeypatch.setattr(reading, "RETRY_SECONDS", 1)
    monkeypatch.setattr(reading, "LONGEST_PAUSE", 1.0)


@pytest.fixture
def add(transactional_db) -> Callable[..., Cluster]:
    """Return a function that adds a cluster row for a server."""

    def _add(
        server: Any, name: str = "demo", user: str = "admin", **more: Any
    ) -> Cluster:
        text = (
            standing_alone(server.kubeconfig(user, **more))
            if not isinstance(server, SimServer)
            else _without_ca(server.kubeconfig(user, **more).read_text())
        )
        return Cluster.objects.create(
            name=name, kind="live", kubeconfig_encrypted=secrets.encrypt(text)
        )

    return _add


def _without_ca(text: str) -> str:
    import json

    parsed = json.loads(text)
    parsed["clusters"][0]["cluster"].pop("certificate-authority", None)
    return json.dumps(parsed)


@pytest.fixture
def watch(transactional_db) -> Iterator[Callable[..., Callable[[], None]]]:
    """Return a function that starts a watcher; it returns how to stop it."""
    stops: list[Callable[[], None]] = []

    def start(*names: str) -> Callable[[], None]:
        stop = threading.Event()
        watchers = Watchers(names)

        def run() -> None:
            watchers.run(stop)
            connection.close()

        thread = threading.Thread(target=run)
        thread.start()

        def end() -> None:
            stop.set()
            thread.join(10)
            assert not thread.is_alive()

        stops.append(end)
        return end

    yield start
    for end in stops:
        end()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and any(
        t.name.startswith(("read ", "watch ", "pulse")) for t in threading.enumerate()
    ):
        time.sleep(0.05)
    for known in connections._known.values():
        known.connection.close()
    connections._known.clear()


@contextlib.contextmanager
def kube_of(cluster: Cluster) -> Iterator[Kube]:
    connection = connect("check", secrets.decrypt(cluster.kubeconfig_encrypted))
    yield Kube(connection, AS_ITSELF)
    connection.close()


def in_cluster(kube: Kube) -> dict[tuple[str, str, str], Any]:
    """Return every object of the watched kinds as it is kept, by key."""
    found = {}
    for kind in WATCHED:
        try:
            items = kube.list(kind).items
        except (KubeError, NotServed):
            continue
        for kept in filter(None, map(trimmed, items)):
            metadata = kept["metadata"]
            found[kind.kind, metadata.get("namespace", ""), metadata["name"]] = kept
    return found


def in_postgres(cluster: Cluster) -> dict[tuple[str, str, str], Any]:
    rows = KubeObject.objects.filter(cluster=cluster, deleted_at=None)
    return {
        (kind, namespace, name): body
        for kind, namespace, name, body in rows.values_list(
            "kind", "namespace", "name", "body"
        )
    }


def eventually(condition: Callable[[], Any], seconds: float = 20) -> Any:
    """Return the condition's value once it is true; fail after some seconds."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.05)
    return value


def assert_same(cluster: Cluster, seconds: float = 20) -> None:
    """Wait until Postgres equals the cluster, object by object."""
    with kube_of(cluster) as kube:
        _assert_same(kube, cluster, seconds)


def _assert_same(kube: Kube, cluster: Cluster, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while True:
        began = time.monotonic()
        with contextlib.suppress(KubeError):
            wanted, got = in_cluster(kube), in_postgres(cluster)
            if wanted == got and wanted:
                return
        if time.monotonic() > deadline:
            assert wanted.keys() == got.keys()
            for key, body in wanted.items():
                assert got[key] == body, key
            raise AssertionError("they differ, or nothing is there")
        # Lists of thousands would keep the server from what is waited for.
        time.sleep(max(0.1, time.monotonic() - began))

"""One cluster whose credentials do not come holds up no other."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from inventory.gateways.errors import BadKubeconfig
from inventory.models import Cluster
from inventory.services import connections
from portal.core import secrets

HANGS, WELL = 1, 2


@pytest.fixture(autouse=True)
def afresh():
    """Know no connection before and after."""
    for known in (connections._known, connections._failed, connections._making):
        known.clear()
    yield
    for known in (connections._known, connections._failed, connections._making):
        known.clear()


@pytest.fixture
def made(monkeypatch):
    """Return what is made, and the event for which the first cluster's waits."""
    names, go_on, begun = [], threading.Event(), threading.Event()

    def connect(name, _kubeconfig, *, context):
        names.append(name)
        if name == "hangs":
            begun.set()
            assert go_on.wait(8)
            raise BadKubeconfig("its program did not end")
        return object.__new__(connections.Connection)

    monkeypatch.setattr(connections, "connect", connect)
    monkeypatch.setattr(connections, "_is_old", lambda _known: False)
    return names, go_on, begun


def cluster(pk, name):
    return Cluster(
        pk=pk,
        name=name,
        kind=Cluster.Kind.LIVE,
        kubeconfig_encrypted=secrets.encrypt("x"),
    )


def test_a_cluster_that_hangs_holds_up_no_other(made):
    names, go_on, begun = made
    well = cluster(WELL, "well")
    with ThreadPoolExecutor(2) as pool:
        stuck = pool.submit(connections._connection, cluster(HANGS, "hangs"))
        assert begun.wait(8)
        try:
            other = pool.submit(connections._connection, well).result(timeout=8)
        finally:
            go_on.set()
        assert connections._connection(well) is other
        with pytest.raises(BadKubeconfig):
            stuck.result(timeout=8)
    assert names == ["hangs", "well"]


def test_who_waited_for_one_that_failed_waits_for_no_second(made, monkeypatch):
    names, go_on, begun = made
    row = cluster(HANGS, "hangs")
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(connections._connection, row)
        assert begun.wait(8)
        second = pool.submit(_told_when_waiting, row, go_on, monkeypatch)
        for each in (first, second):
            with pytest.raises(BadKubeconfig):
                each.result(timeout=8)

    assert names == ["hangs"]
    # Whoever asks later has it tried again.
    with pytest.raises(BadKubeconfig):
        connections._connection(row)
    assert names == ["hangs", "hangs"]


def _told_when_waiting(row, go_on, monkeypatch):
    """Ask for a connection; let the first go on once this one waits for it."""
    real = connections._making[row.pk]

    class Waited:
        def __enter__(self):
            go_on.set()
            real.acquire()

        def __exit__(self, *_error):
            real.release()

    connections._making[row.pk] = Waited()
    return connections._connection(row)

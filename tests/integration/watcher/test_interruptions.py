"""Watches that end, break or fall silent lose nothing."""

from __future__ import annotations

import json
import time

import pytest

from inventory.domain.kinds import RESOURCE_CLAIM
from inventory.gateways.errors import ClusterUnavailable
from inventory.gateways.identity import AS_ITSELF
from inventory.gateways.kube import Kube
from inventory.gateways.kubeconfig import connect
from inventory.models import Cluster, KubeObject
from inventory.services import connections
from inventory.services.watching import reading, writing
from portal.core import secrets
from tests.contract import objects
from tests.integration.watcher.conftest import assert_same, eventually
from tests.integration.watcher.proxy import Proxy
from tests.integration.watcher.test_upsets import fill, state


@pytest.fixture
def proxied(sim, add):
    """A cluster whose API server is reached through a proxy."""
    proxy = Proxy(sim.port)
    cluster = add(sim)
    config = json.loads(secrets.decrypt(cluster.kubeconfig_encrypted))
    config["clusters"][0]["cluster"]["server"] = f"http://127.0.0.1:{proxy.port}"
    cluster.kubeconfig_encrypted = secrets.encrypt(json.dumps(config))
    cluster.save()
    yield proxy, cluster
    proxy.close()


def change(client, number):
    target = {
        "kind": "ResourceClaim",
        "metadata": {"name": f"c-{number % 5}", "namespace": "lab"},
    }
    client.patch(target, {"metadata": {"labels": {"n": str(number)}}})


def make_claims(client):
    fill(client, 2)
    for number in range(5):
        client.create(objects.claim(f"c-{number}", "lab"))


def assert_same_directly(sim, cluster, add, seconds=20):
    """Compare past the proxy."""
    direct = add(sim, name="direct")
    direct.delete()
    direct.pk = cluster.pk
    assert_same(direct, seconds)


def test_watches_that_end_all_the_time(sim, add, watch, monkeypatch):
    monkeypatch.setattr(reading, "WATCH_SECONDS", (1, 1))
    client = sim.client()
    make_claims(client)
    cluster = add(sim)
    watch()
    assert_same(cluster)
    for number in range(100):
        change(client, number)
        time.sleep(0.03)
    assert_same(cluster)
    assert state(cluster, "ResourceClaim") == "watching"
    assert Cluster.objects.get(pk=cluster.pk).failed_at is None


def test_connections_cut_again_and_again(sim, add, watch, proxied):
    proxy, cluster = proxied
    client = sim.client()
    make_claims(client)
    watch()
    assert_same_directly(sim, cluster, add)
    for number in range(60):
        change(client, number)
        if number % 7 == 0:
            proxy.cut()
        time.sleep(0.03)
    assert_same_directly(sim, cluster, add)


def test_events_cut_in_the_middle(sim, add, watch, proxied):
    proxy, cluster = proxied
    client = sim.client()
    make_claims(client)
    watch()
    assert_same_directly(sim, cluster, add)
    proxy.cut_within_events = True
    for number in range(10):
        change(client, number)
    eventually(lambda: "does not answer" in Cluster.objects.get(pk=cluster.pk).failure)
    proxy.cut_within_events = False
    assert_same_directly(sim, cluster, add)
    eventually(lambda: Cluster.objects.get(pk=cluster.pk).failure == "")


def test_a_silent_watch_ends_and_a_silent_call_is_an_error(sim, add, proxied):
    proxy, cluster = proxied
    make_claims(sim.client())
    kube = Kube(
        connect("demo", secrets.decrypt(cluster.kubeconfig_encrypted)), AS_ITSELF
    )
    version = kube.list(RESOURCE_CLAIM).resource_version
    with kube.watch(RESOURCE_CLAIM, version, silence_seconds=1) as watch:
        proxy.silent = True
        # Nothing comes, and nobody closes: it is our own patience that ends.
        assert list(watch) == []
    proxy.close()
    with pytest.raises(ClusterUnavailable, match="does not answer at http:"):
        kube.version()
    kube.connection.close()


def test_an_object_that_cannot_be_stored_stops_no_other(sim, add, watch, monkeypatch):
    client = sim.client()
    make_claims(client)
    cluster = add(sim)
    watch()
    assert_same(cluster)
    apply = writing.apply_changes

    def refuse(cluster, changes, *, now):
        if any(change.name == "c-1" for change in changes):
            raise ValueError("no")
        return apply(cluster, changes, now=now)

    monkeypatch.setattr(writing, "apply_changes", refuse)
    for number in range(5):
        change(client, number)

    def labelled():
        rows = KubeObject.objects.filter(
            cluster=cluster, kind="ResourceClaim", body__metadata__labels__has_key="n"
        )
        return set(rows.values_list("name", flat=True)) == {"c-0", "c-2", "c-3", "c-4"}

    eventually(labelled)
    said = Cluster.objects.get(pk=cluster.pk).kinds["ResourceClaim"]["message"]
    assert "ResourceClaim lab/c-1 cannot be stored" in said


def test_characters_that_postgres_refuses_are_replaced(sim, add, watch):
    client = sim.client()
    make_claims(client)
    cluster = add(sim)
    watch()
    assert_same(cluster)
    made = objects.claim("odd", "lab")
    made["metadata"]["annotations"] = {"a": "x\0y"}
    client.create(made)
    assert_same(cluster)
    stored = KubeObject.objects.get(cluster=cluster, name="odd")
    assert stored.body["metadata"]["annotations"]["a"] == "x\ufffdy"


def test_credentials_refused_once_are_read_again(sim, add, transactional_db, tmp_path):
    """A tokenFile that was renewed is taken up without a restart."""
    cluster = add(sim)
    config = json.loads(secrets.decrypt(cluster.kubeconfig_encrypted))
    good = config["users"][0]["user"].pop("token")
    token = tmp_path / "token"
    token.write_text("old")
    config["users"][0]["user"]["tokenFile"] = str(token)
    cluster.kubeconfig_encrypted = secrets.encrypt(json.dumps(config))
    kube = connections.kube_for(cluster, AS_ITSELF)
    with pytest.raises(Exception, match="Unauthorized"):
        kube.list(RESOURCE_CLAIM)
    token.write_text(good)
    again = connections.kube_for(cluster, AS_ITSELF)
    assert again.list(RESOURCE_CLAIM).items == []
    for each in (kube, again):
        each.connection.close()
    connections._known.clear()

"""After each upset Postgres equals the cluster again, object by object."""

from __future__ import annotations

import contextlib

import pytest

from inventory.models import Allocation, Cluster, Device, KubeObject, Pool
from inventory.services.watching.fleet import accept_removals
from tests.cluster.client import Refused
from tests.contract import objects
from tests.integration.watcher.conftest import assert_same, eventually
from tests.integration.watcher.servers import SimServer

DRIVER = "gpu.example.com"


def fill(client, count=4, prefix="node"):
    """Make a namespace, nodes with a slice of three devices each, a class, a claim."""
    with contextlib.suppress(Refused):
        client.create(objects.namespace("lab"))
    for number in range(count):
        name = f"{prefix}-{number}"
        client.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
        client.create(slice_of(name))
    client.create(objects.device_class(f"{prefix}.example.com"))
    client.create(objects.claim(f"{prefix}-claim", "lab"))
    client.create(objects.template(f"{prefix}-template", "lab"))


def slice_of(node, devices=3, generation=1):
    made = objects.resource_slice(
        node,
        driver=DRIVER,
        node=node,
        devices=[{"name": f"gpu-{number}"} for number in range(devices)],
    )
    made["spec"]["pool"]["generation"] = generation
    return made


def entry(cluster, kind):
    return Cluster.objects.get(pk=cluster.pk).kinds.get(kind) or {}


def state(cluster, kind):
    return entry(cluster, kind).get("state")


@pytest.fixture
def watched(server, add, watch):
    fill(server.client())
    cluster = add(server)
    watch()
    assert_same(cluster)
    return cluster


def test_lists_then_follows(watched, server):
    client = server.client()
    assert Pool.objects.filter(cluster=watched).count() == 4
    assert Device.objects.filter(cluster=watched).count() == 12
    fill(client, 1, "late")
    client.delete(objects.claim("node-claim", "lab"))
    client.delete(slice_of("node-3"))
    stored = client.get("ResourceSlice", "node-0")
    stored["spec"]["devices"].append({"name": "gpu-9"})
    client.replace(stored)
    assert_same(watched)
    assert Device.objects.filter(cluster=watched, pool="node-0").count() == 4
    assert not Pool.objects.filter(cluster=watched, name="node-3").exists()
    row = Cluster.objects.get(pk=watched.pk)
    assert row.kubernetes_version.startswith("v1.37")
    assert row.kube_system_uid
    assert row.heard_at
    assert row.failure == ""
    assert state(watched, "ResourceSlice") == "watching"
    simulated = isinstance(server, SimServer)
    told = "watching" if simulated else "not-served"
    assert state(watched, "ClusterPolicy") == told


def test_server_killed_and_restarted(watched, server):
    server.kill()
    eventually(lambda: Cluster.objects.get(pk=watched.pk).failure)
    row = Cluster.objects.get(pk=watched.pk)
    assert "does not answer" in row.failure
    assert row.failed_at > row.heard_at
    assert KubeObject.objects.filter(cluster=watched, deleted_at=None).exists()
    server.start()
    fill(server.client(), 1, "later")
    assert_same(watched, 40)
    eventually(lambda: Cluster.objects.get(pk=watched.pk).failure == "")


def test_deleted_while_nobody_watched(server, add, watch):
    client = server.client()
    fill(client)
    cluster = add(server)
    stop = watch()
    assert_same(cluster)
    stop()
    resumed = entry(cluster, "ResourceSlice")["resourceVersion"]
    assert resumed.isdigit()
    for number in range(3):
        client.delete(slice_of(f"node-{number}"))
    client.delete(objects.template("node-template", "lab"))
    fill(client, 1, "meanwhile")
    watch()
    assert_same(cluster)
    assert entry(cluster, "ResourceSlice")["resourceVersion"] != resumed


def test_version_too_old_lists_again(server, add, watch):
    client = server.client()
    fill(client)
    cluster = add(server)
    stop = watch()
    assert_same(cluster)
    stop()
    client.delete(slice_of("node-1"))
    fill(client, 1, "meanwhile")
    server.forget_history()
    watch()
    assert_same(cluster, 40)


def test_history_forgotten_while_watching(watched, server):
    server.forget_history()
    fill(server.client(), 1, "after")
    assert_same(watched, 40)


def leave_to_remove(cluster: Cluster) -> list[str]:
    """Return the kinds whose next list may remove everything."""
    kinds = Cluster.objects.get(pk=cluster.pk).kinds
    return [kind for kind, entry in kinds.items() if entry.get("accept")]


def test_another_cluster_at_the_same_address(sim, add, watch):
    fill(sim.client(), 6)
    cluster = add(sim)
    watch()
    assert_same(cluster)
    before = Cluster.objects.get(pk=cluster.pk).kube_system_uid
    sim.become_another()
    fill(sim.client(), 1, "new")
    assert_same(cluster, 30)
    row = Cluster.objects.get(pk=cluster.pk)
    assert row.kube_system_uid not in {"", before}
    assert Device.objects.filter(cluster=cluster).count() == 3
    # Kinds without objects look the same before and after their list.
    eventually(lambda: not leave_to_remove(cluster))


def test_another_cluster_while_nobody_watched(sim, add, watch):
    fill(sim.client(), 6)
    cluster = add(sim)
    stop = watch()
    assert_same(cluster)
    stop()
    sim.become_another()
    watch()
    assert_same(cluster, 30)
    assert not Device.objects.filter(cluster=cluster).exists()


def test_set_back_in_time(sim, add, watch):
    """A backup brings back the same cluster with lower versions."""
    import shutil

    client = sim.client()
    fill(client)
    cluster = add(sim)
    watch()
    assert_same(cluster)
    sim.kill()
    backup = sim.state.with_name("backup")
    backup.mkdir()
    for path in sim.state.parent.glob("data*"):
        if path.is_file():
            shutil.copy(path, backup / path.name)
    sim.start()
    fill(client, 1, "undone")
    assert_same(cluster)
    sim.kill()
    for path in sim.state.parent.glob("data*"):
        if path.is_file():
            path.unlink()
    for path in backup.iterdir():
        shutil.copy(path, sim.state.parent / path.name)
    sim.start()
    assert_same(cluster, 30)
    assert not KubeObject.objects.filter(
        cluster=cluster, name="undone-0", deleted_at=None
    ).exists()
    fill(client, 1, "again")
    assert_same(cluster, 30)


def test_too_much_change_is_held_until_accepted(sim, add, watch):
    client = sim.client()
    fill(client, 6)
    cluster = add(sim)
    stop = watch()
    assert_same(cluster)
    stop()
    for number in range(3):
        client.delete(slice_of(f"node-{number}"))
    sim.forget_history()
    watch()
    eventually(lambda: state(cluster, "ResourceSlice") == "held")
    assert Device.objects.filter(cluster=cluster).count() == 18
    row = Cluster.objects.get(pk=cluster.pk)
    assert "9 of 18 devices" in row.failure
    assert row.failed_at
    assert accept_removals(cluster) == ["ResourceSlice"]
    assert_same(cluster)
    assert Device.objects.filter(cluster=cluster).count() == 9
    eventually(lambda: Cluster.objects.get(pk=cluster.pk).failure == "")
    assert "accept" not in entry(cluster, "ResourceSlice")


def test_pools_that_moved_on_are_not_held(sim, add, watch):
    client = sim.client()
    fill(client, 4)
    cluster = add(sim)
    stop = watch()
    assert_same(cluster)
    stop()
    for number in range(4):
        client.delete(slice_of(f"node-{number}"))
        moved = slice_of(f"node-{number}", generation=2)
        moved["metadata"]["name"] = f"node-{number}-2"
        client.create(moved)
    sim.forget_history()
    watch()
    assert_same(cluster)
    assert state(cluster, "ResourceSlice") == "watching"


def test_forbidden_kind_is_unknown_and_tried_again(sim, add, watch):
    admin = sim.client()
    fill(admin)
    rules = [
        {
            "apiGroups": ["resource.k8s.io"],
            "resources": ["*"],
            "verbs": ["list", "watch"],
        },
        {
            "apiGroups": [""],
            "resources": ["namespaces"],
            "verbs": ["get", "list", "watch"],
        },
    ]
    admin.create(_role("reads", rules))
    admin.create(_binding("reads", "slicewise"))
    cluster = add(sim, user="slicewise")
    watch()
    eventually(lambda: state(cluster, "Node") == "forbidden")
    assert "cannot list resource" in entry(cluster, "Node")["message"]
    assert not KubeObject.objects.filter(cluster=cluster, kind="Node").exists()
    assert_same(cluster)
    assert Cluster.objects.get(pk=cluster.pk).failure == ""
    admin.create(
        _role(
            "nodes",
            [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch"]}],
        )
    )
    admin.create(_binding("nodes", "slicewise"))
    eventually(lambda: state(cluster, "Node") == "watching")
    assert_same(cluster)


def _role(name, rules):
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": rules,
    }


def _binding(name, user):
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "subjects": [
            {"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}
        ],
        "roleRef": {
            "kind": "ClusterRole",
            "name": name,
            "apiGroup": "rbac.authorization.k8s.io",
        },
    }


def test_bad_token_then_a_good_one(sim, add, watch):
    from portal.core import secrets

    fill(sim.client())
    cluster = add(sim, token="wrong")
    watch()
    eventually(lambda: "Unauthorized" in Cluster.objects.get(pk=cluster.pk).failure)
    assert Cluster.objects.get(pk=cluster.pk).heard_at is None
    good = add(sim, name="other").kubeconfig_encrypted
    Cluster.objects.filter(name="other").delete()
    assert secrets.decrypt(good)
    Cluster.objects.filter(pk=cluster.pk).update(kubeconfig_encrypted=good)
    cluster.refresh_from_db()
    assert_same(cluster)
    eventually(lambda: Cluster.objects.get(pk=cluster.pk).failure == "")


def test_a_cluster_added_later_is_noticed_and_a_removed_one_let_go(sim, add, watch):
    fill(sim.client())
    watch()
    cluster = add(sim)
    assert_same(cluster)
    cluster.delete()
    again = add(sim)
    assert_same(again)


def test_allocations_follow_claims(watched, server):
    client = server.client()
    claim = client.get("ResourceClaim", "node-claim", "lab")
    claim["status"] = {
        "allocation": {
            "devices": {
                "results": [
                    {
                        "request": "gpu",
                        "driver": DRIVER,
                        "pool": "node-0",
                        "device": "gpu-1",
                    }
                ]
            }
        }
    }
    client.replace(claim, "status")
    eventually(lambda: Allocation.objects.filter(cluster=watched).count() == 1)
    assert_same(watched)

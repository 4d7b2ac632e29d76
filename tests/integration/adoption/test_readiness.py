"""The page and the API of readiness, from objects as clusters have them."""

from __future__ import annotations

import pytest

from inventory.models import Cluster

PATH = "/c/demo/adoption/"
LABELS = {"nvidia.com/gpu.present": "true", "team": "old"}


def node(name: str, *, runtime: str, gpus: int = 0, **labels: str) -> dict:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**LABELS, **labels}},
        "status": {
            "allocatable": {"nvidia.com/gpu": str(gpus)} if gpus else {},
            "nodeInfo": {"containerRuntimeVersion": runtime},
        },
    }


def daemon_set(name: str, image: str, selector: dict[str, str]) -> dict:
    pod = {"nodeSelector": selector, "containers": [{"name": "x", "image": image}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": "gpu-operator", "uid": name},
        "spec": {"template": {"spec": pod}},
        "status": {"desiredNumberScheduled": 2, "numberReady": 2},
    }


def operator(kind: str) -> dict:
    """Return one of the operator's cluster objects, with CDI switched off."""
    return {
        "apiVersion": "nvidia.com/v1",
        "kind": kind,
        "metadata": {
            "name": "gpus",
            "labels": {"app.kubernetes.io/version": "v25.10.1"},
        },
        "spec": {"cdi": {"enabled": False}, "mig": {"strategy": "mixed"}},
    }


@pytest.fixture
def half_way(load_fleets):
    """Return a cluster between both drivers, one node of which has both."""
    plugin = "nvcr.io/nvidia/k8s-device-plugin:v0.17.0"
    driver = "registry.k8s.io/dra-driver-nvidia/dra-driver-nvidia-gpu:v0.5.0"
    return load_fleets(
        "nvidia-t4-l40s",
        extra=[
            node("gpu-l40s-a", runtime="containerd://1.7.10", gpus=4),
            node("gpu-old", runtime="containerd://2.0.1", gpus=8),
            daemon_set("nvidia-device-plugin-daemonset", plugin, {"team": "old"}),
            daemon_set("kubelet-plugin", driver, {}),
            operator("ClusterPolicy"),
            operator("GPUCluster"),
        ],
    )


@pytest.mark.django_db
def test_the_page_tells_both_drivers_on_one_node(half_way, browse, dora):
    page = browse(dora).get(PATH).content.decode()
    assert "gpu-operator/nvidia-device-plugin-daemonset selects nodes that" in page
    assert "Slices publish its GPUs, and a device plugin offers 4 more." in page
    assert "The node runs containerd://1.7.10." in page
    assert "tagged v0.5.0" in page


@pytest.mark.django_db
def test_what_an_offline_cluster_does_not_show_is_unknown(half_way, call, dora):
    answer = call(dora).get("clusters/demo/adoption/readiness")
    assert answer.status_code == 200, answer.content
    body = answer.json()
    answers = {each["code"]: each["answer"] for each in body["verdicts"]}
    assert answers["resource.v1"] == "unknown"
    assert answers["operator.cdi"] == "yes"
    assert answers["operator.one"] == "no"
    assert answers["driver.ready"] == "yes"
    assert answers["plugin.limited"] == "no"
    nodes = {
        each["node"]: {v["code"]: v["answer"] for v in each["verdicts"]}
        for each in body["nodes"]
    }
    assert nodes["gpu-l40s-a"]["node.one_driver"] == "no"
    assert nodes["gpu-old"]["node.one_driver"] == "yes"
    assert nodes["gpu-old"]["node.registered"] == "no"
    assert nodes["gpu-old"]["node.cdi"] == "no"


@pytest.mark.django_db
def test_kinds_that_are_not_read_are_unknown(half_way, call, dora):
    kinds = {"DaemonSet": {"state": "forbidden"}, "ResourceSlice": {"state": "failed"}}
    Cluster.objects.update(kind=Cluster.Kind.LIVE, kinds=kinds)
    body = call(dora).get("clusters/demo/adoption/readiness").json()
    answers = {each["code"]: each["answer"] for each in body["verdicts"]}
    assert answers["driver.ready"] == answers["plugin.limited"] == "unknown"
    codes = {v["code"]: v["answer"] for v in body["nodes"][0]["verdicts"]}
    assert codes["node.registered"] == codes["node.one_driver"] == "unknown"


@pytest.mark.django_db
def test_a_tenant_is_not_shown_the_way(half_way, browse, ada):
    client = browse(ada)
    assert client.get(PATH).status_code == 403
    assert f'href="{PATH}"' not in client.get("/c/demo/").content.decode()


@pytest.mark.django_db
def test_many_nodes_are_as_many_queries(
    load_fleets, browse, dora, django_assert_max_num_queries
):
    extra = [node(f"gpu-{n}", runtime="containerd://2.0.1", gpus=8) for n in range(40)]
    load_fleets("nvidia-t4-l40s", extra=extra)
    client = browse(dora)
    client.get(PATH)
    with django_assert_max_num_queries(18):
        page = client.get(PATH).content.decode()
    assert "and 32 more" in page or "and 33 more" in page

"""Workloads of well-known shapes, from GPU resources and labels to claims."""

from __future__ import annotations

import contextlib

import pytest
import yaml

from claims.domain.importing.edits import at
from claims.domain.importing.workloads import pod_paths
from claims.services.importing import import_text
from claims.services.yaml_text import dump
from inventory.models import KubeObject
from tests.agreement.conftest import NEWEST
from tests.cluster.client import Refused
from tests.conftest import DATA
from tests.contract import objects
from tests.contract.servers import SIMULATED, start

FOLDER = DATA / "workloads"
NAMESPACE = "converted"
MAPPING = "extendedResourceName"
STRICT = {"fieldValidation": "Strict"}
# name → what the claims must say, and which labels stay for want of an equal.
WORKLOADS: dict[str, tuple[list[str], list[str]]] = {
    "vllm": (['productName == "NVIDIA L40S"'], []),
    "triton": (['productName in ["Tesla T4", "NVIDIA L40S"]', '"20000Mi")) > 0'], []),
    "kserve": (['architecture == "Ada Lovelace"'], []),
    "jupyterhub": (['profile == "1g.10gb"'], []),
    "ray": (['profile == "1g.10gb"', "count: 2"], []),
    "kubeflow-pytorchjob": (["count: 2"], ["nvidia.com/gpu.count"]),
    "kubeflow-notebook": (['profile == "1g.10gb"'], []),
    "nim": (['profile == "1g.10gb"'], []),
    "ollama": (["deviceClassName: gpu.nvidia.com"], ["kubernetes.io/os"]),
    "batch-job": (['compareTo(quantity("15360Mi")) == 0'], []),
}


def converted(cluster, name):
    return import_text(cluster, (FOLDER / f"{name}.yaml").read_text())


def test_all_are_tried():
    assert {path.stem for path in FOLDER.glob("*.yaml")} == {*WORKLOADS, "tgi"}
    assert len(WORKLOADS) >= 10


@pytest.mark.parametrize("name", WORKLOADS)
def test_what_labels_meant_stands_in_the_claim(fleet_cluster, name):
    says, stays = WORKLOADS[name]

    found = converted(fleet_cluster, name)

    assert found.is_valid, [f.message for each in found.documents for f in each.faults]
    [workload, *templates] = list(yaml.safe_load_all(found.corrected))
    text = " ".join(dump(each) for each in templates)
    assert all(part in " ".join(text.split()) for part in says), text
    left = dump(workload)
    assert "nvidia.com/gpu:" not in left
    assert "nvidia.com/mig-" not in left
    assert all(label in left for label in stays)
    told = [f for each in found.documents for f in each.faults]
    assert any(f.code == "import.extended_resource" for f in told)
    assert any(f.code == "import.node_label" for f in told) == any(
        label.startswith("nvidia.com/") for label in stays
    )


def test_time_slice_without_an_equal_stays_whole(fleet_cluster):
    found = converted(fleet_cluster, "tgi")

    assert found.corrected == found.text
    [document] = found.documents
    assert any("time slice" in fault.message for fault in document.faults)


@pytest.mark.parametrize(
    ("selector", "why"),
    [
        ({"nvidia.com/gpu.product": "NVIDIA-A999"}, "no product"),
        ({"nvidia.com/mig.config": "all-balanced"}, "more than one profile"),
        ({"nvidia.com/gpu.machine": "DGX"}, "something of the node"),
    ],
)
def test_what_has_no_equal_stays_and_says_why(fleet_cluster, selector, why):
    body = objects.pod("p", "ai-serving")
    body["spec"]["nodeSelector"] = selector
    body["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "1"}}

    found = import_text(fleet_cluster, dump(body))

    [document] = found.documents
    [fault] = [f for f in document.faults if f.code == "import.node_label"]
    assert why in fault.message
    assert next(iter(selector)) in found.corrected


@pytest.fixture(
    scope="module",
    params=[SIMULATED, pytest.param(NEWEST, marks=pytest.mark.cluster)],
)
def server(request):
    with start(request.param) as running:
        running.client().create(objects.namespace(NAMESPACE))
        yield running


def pods_of(workload):
    """Yield the pods that a workload's controller would make."""
    for path in pod_paths(workload):
        spec = at(workload, path)
        model = spec.pop("model", None)
        if model:
            container = {"name": "model", "image": "registry.example.com/m:1"}
            container["resources"] = model["resources"]
            spec = {**spec, "containers": [container]}
        # Nodes of these tests have no labels but what a kubelet gives them.
        spec.pop("nodeSelector", None)
        if any(each.get("name") == "gpu" for each in spec.get("resourceClaims", [])):
            name = spec["resourceClaims"][0]["resourceClaimTemplateName"]
            yield {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "namespace": NAMESPACE},
                "spec": spec,
            }


def publish(server, cluster):
    """Let a server have a cluster's classes, slices and nodes."""
    admin, nodes = server.client(), set()
    for row in KubeObject.objects.filter(
        cluster=cluster, kind__in=("ResourceSlice", "DeviceClass")
    ):
        spec = {k: v for k, v in row.body["spec"].items() if k != MAPPING}
        nodes.add(spec.get("nodeName"))
        with contextlib.suppress(Refused):
            admin.create({**row.body, "metadata": {"name": row.name}, "spec": spec})
    for name in filter(None, nodes):
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
        if server.name != SIMULATED:
            server.cluster.add_node(name)
            continue
        with contextlib.suppress(Refused):
            stored = admin.create(node)
            stored["spec"] = {"taints": []}
            admin.call("PUT", f"/api/v1/nodes/{name}", stored)


@pytest.mark.parametrize("name", WORKLOADS)
def test_servers_take_them_and_schedule_them(server, fleet_cluster, eventually, name):
    admin = server.client()
    publish(server, fleet_cluster)
    found = converted(fleet_cluster, name)
    [workload, *templates] = list(yaml.safe_load_all(found.corrected))
    for body in templates:
        body["metadata"]["namespace"] = NAMESPACE
        admin.call(
            "POST",
            f"/apis/resource.k8s.io/v1/namespaces/{NAMESPACE}/resourceclaimtemplates",
            body,
            **STRICT,
        )
    pods = list(pods_of(workload))
    assert len(pods) == len(templates)
    for pod in pods:
        admin.call("POST", f"/api/v1/namespaces/{NAMESPACE}/pods", pod, **STRICT)
    try:
        for pod in pods:
            path = pod["metadata"]["name"]
            eventually(
                lambda path=path: admin.get("Pod", path, NAMESPACE)["spec"].get(
                    "nodeName"
                )
            )
    finally:
        for pod in pods:
            admin.delete(
                {"kind": "Pod", "apiVersion": "v1", "metadata": pod["metadata"]},
                {"gracePeriodSeconds": 0},
            )
        eventually(lambda: not admin.list("ResourceClaim", NAMESPACE)["items"])

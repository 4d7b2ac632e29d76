"""Converted workloads of well-known shapes: taken by API servers, and scheduled.

What conversion makes of each is held by tests/integration/adoption/test_converting.py.
"""

from __future__ import annotations

import contextlib

import pytest
import yaml

from claims.domain.importing.edits import at
from claims.domain.importing.workloads import pod_paths
from inventory.models import KubeObject
from tests.agreement.conftest import NEWEST, OLDEST
from tests.cluster.client import Refused, path_of
from tests.contract import objects
from tests.contract.conftest import eventually  # noqa: F401  fixture
from tests.contract.servers import SIMULATED, start
from tests.guides.test_importing import REAL_ONLY, STRICT
from tests.integration.adoption.test_converting import WORKLOADS, converted

NAMESPACE = "converted"
FOR_GOOD = {"fieldValidation": "Strict"}
MAPPING = "extendedResourceName"


@pytest.fixture(
    scope="module",
    params=[
        SIMULATED,
        pytest.param(OLDEST, marks=pytest.mark.cluster),
        pytest.param(NEWEST, marks=pytest.mark.cluster),
    ],
)
def server(request):
    with start(request.param) as running:
        running.client().create(objects.namespace(NAMESPACE))
        yield running


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


def take_whole(server, workload):
    """Let a server take a workload of Kubernetes' own kinds, as if for good."""
    path = REAL_ONLY.get(workload["kind"], "").format(NAMESPACE)
    if path and server.name != SIMULATED:
        workload["metadata"]["namespace"] = NAMESPACE
        server.client().call("POST", path, workload, **STRICT)


@pytest.mark.parametrize("name", WORKLOADS)
def test_servers_take_them_and_schedule_them(
    server,
    fleet_cluster,
    eventually,  # noqa: F811
    name,
):
    admin = server.client()
    publish(server, fleet_cluster)
    found = converted(fleet_cluster, name)
    [workload, *templates] = list(yaml.safe_load_all(found.corrected))
    take_whole(server, workload)
    for body in templates:
        body["metadata"]["namespace"] = NAMESPACE
        admin.call("POST", path_of(body["kind"], NAMESPACE), body, **FOR_GOOD)
    pods = list(pods_of(workload))
    assert len(pods) == len(templates)
    for pod in pods:
        admin.call("POST", path_of("Pod", NAMESPACE), pod, **FOR_GOOD)
    try:
        for pod in pods:
            eventually(
                lambda pod=pod: admin.get("Pod", pod["metadata"]["name"], NAMESPACE)[
                    "spec"
                ].get("nodeName")
            )
    finally:
        for pod in pods:
            admin.delete(
                {"kind": "Pod", "apiVersion": "v1", "metadata": pod["metadata"]},
                {"gracePeriodSeconds": 0},
            )
        eventually(lambda: not admin.list("ResourceClaim", NAMESPACE)["items"])

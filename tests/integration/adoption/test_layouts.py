"""MIG layouts as the MIG manager's ConfigMap has them, read from an API server."""

from __future__ import annotations

import pytest
from django.utils import timezone

from inventory.domain.kinds import CONFIG_MAP
from inventory.gateways.transport import Call
from inventory.gateways.transport import call as send
from inventory.services.store import replace_kinds
from tests.integration.adoption.conftest import call, no_counts  # noqa: F401  fixtures
from tests.integration.adoption.scene import devices_of
from tests.integration.claims.conftest import (  # noqa: F401  fixtures
    admin,
    cluster,
    kubeconfigs,
)

SPACE, NAME = "gpu-operator", "default-mig-parted-config"
LAYOUTS = """version: v1
mig-configs:
  all-1g.10gb:
  - {devices: all, mig-enabled: true, mig-devices: {"1g.10gb": 7}}
"""


def node(name):
    labels = {
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.count": "1",
        "nvidia.com/mig.config": "all-1g.10gb",
    }
    return {"kind": "Node", "metadata": {"name": name, "labels": labels}}


def published(name, count):
    devices = devices_of("mig", name)[:count]
    for each in devices:
        each["attributes"]["productName"] = {"string": "NVIDIA H100 80GB HBM3"}
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.nvidia.com", "nodeName": name, "pool": pool}
    metadata = {"name": f"{name}-gpus"}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": metadata,
        "spec": {**spec, "devices": devices},
    }


@pytest.fixture
def told(cluster, admin):  # noqa: F811
    """Put the ConfigMap into the server; one of two nodes lacks two partitions."""
    kinds = {
        "Node": [node("a"), node("b")],
        "ResourceSlice": [published("a", 7), published("b", 5)],
    }
    replace_kinds(cluster, kinds, now=timezone.now())
    cluster.kinds = {kind: {"state": "watching"} for kind in kinds}
    cluster.save()
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": NAME, "namespace": SPACE},
        "data": {"config.yaml": LAYOUTS},
    }
    path = CONFIG_MAP.path("v1", SPACE)
    send(admin.connection, Call("POST", "/api/v1/namespaces", body=space), ())
    send(admin.connection, Call("POST", path, body=body), ())
    yield cluster
    send(admin.connection, Call("DELETE", f"{path}/{NAME}"), ())
    send(admin.connection, Call("DELETE", f"/api/v1/namespaces/{SPACE}"), ())


def test_profiles_are_shown_beside_what_slices_publish(told, call, client, dora):  # noqa: F811
    client.force_login(dora)

    page = client.get("/c/demo/adoption/").text

    assert "Published as layout all-1g.10gb says." in page
    assert "Layout all-1g.10gb differs (published/told): 1g.10gb: 5/7." in page
    assert "MIG layouts" in page
    assert '<b class="no">-2</b>' in page
    found = call(dora).get("clusters/demo/adoption/readiness").json()
    assert found["migLayouts"] == [
        {
            "layout": "all-1g.10gb",
            "product": "NVIDIA H100 80GB HBM3",
            "profile": "1g.10gb",
            "told": 14,
            "published": 12,
            "nodes": 2,
        }
    ]

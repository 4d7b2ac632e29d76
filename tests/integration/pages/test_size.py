"""8,000 cards: the page stays small, and quick once the cards are known."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from inventory.services.loading import load_cluster

pytestmark = pytest.mark.slow
NODES = 1_000


def slice_of(number: int) -> dict:
    """Return the slice of a node with eight cards."""
    node = f"node-{number:04d}"
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-gpus", "uid": node},
        "spec": {
            "driver": "gpu.nvidia.com",
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": [
                {
                    "name": f"gpu-{index}",
                    "attributes": {
                        "type": {"string": "gpu"},
                        "uuid": {"string": f"GPU-{number}-{index}"},
                        "productName": {"string": "NVIDIA H100 80GB HBM3"},
                    },
                    "capacity": {"memory": {"value": "81559Mi"}},
                }
                for index in range(8)
            ],
        },
    }


def test_gpu_list_at_8000_cards(db, now, browse, ada):
    load_cluster(
        "demo",
        [slice_of(number) for number in range(NODES)],
        kubernetes_version="1.37.2",
        feature_gates={},
        now=now,
    )
    client = browse(ada)
    client.get("/c/demo/gpus/")

    with CaptureQueriesContext(connection) as captured:
        response = client.get("/c/demo/gpus/?from=node-0500")

    assert "8000 cards" in response.content.decode()
    assert "node-0500" in response.content.decode()
    assert len(response.content) < 150_000
    assert len(captured) == 10

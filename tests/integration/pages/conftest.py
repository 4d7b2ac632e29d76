"""A cluster whose cards are held by two tenants, and browsers signed in as people."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

NVIDIA = "gpu.nvidia.com"
FABRIC = "composable-gpu-binding-conditions"
FLEETS = (
    "nvidia-h100-consumable-shares",
    "nvidia-h100-dynamic-mig-k8s135",
    "nvidia-t4-l40s",
    "nvidia-h100-health-taints",
    "nvidia-gb10-uma-no-memory",
    "pool-incomplete-generation",
    "pool-duplicate-device-name",
    "nvidia-vfio-passthrough",
    "dranet-nics",
)


def claim(namespace: str, name: str, *results: dict[str, Any]) -> dict[str, Any]:
    """Return an allocated ResourceClaim; its request is named after its tenant."""
    for each in results:
        each["request"] = f"{name.split('-')[0]}-request"
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}"},
        "spec": {"devices": {"requests": []}},
        "status": {"allocation": {"devices": {"results": list(results)}}},
    }


def result(pool: str, device: str, **more: Any) -> dict[str, Any]:
    """Return one allocation result, yet without its request."""
    return {
        "driver": NVIDIA,
        "pool": pool,
        "device": device,
        **more,
    }


def fabric_claim(age: float, *conditions: str) -> dict[str, Any]:
    """Return a claim of a card that was allocated so many seconds ago to be attached.

    Args:
        age: in seconds.
        conditions: those of which its driver says that they are true.
    """
    now = timezone.now()
    told = [
        {
            "type": name,
            "status": "True",
            "message": "attached to port 7",
            "lastTransitionTime": now.isoformat(),
        }
        for name in conditions
    ]
    device = {"driver": "composable.example.com", "pool": "rack-7", "device": "gpu-0"}
    body = claim(
        "ai-serving",
        "orchid-fabric",
        {
            **device,
            "bindingConditions": ["FabricAttached"],
            "bindingFailureConditions": ["FabricAttachFailed"],
        },
    )
    moment = now - dt.timedelta(seconds=age)
    body["status"]["allocation"]["allocationTimestamp"] = moment.isoformat()
    body["status"]["devices"] = [{**device, "conditions": told}]
    return body


def share(memory: str, number: int) -> dict[str, Any]:
    """Return what a share's allocation result has more."""
    return {
        "shareID": f"11111111-2222-4333-8444-5555555555{number:02d}",
        "consumedCapacity": {"memory": memory},
    }


@pytest.fixture
def held_claims() -> list[dict[str, Any]]:
    """Return claims of both tenants on every sort of card."""
    return [
        claim(
            "ai-serving",
            "orchid-notebook",
            result("gpu-h100-mig", "gpu-0-mig-1g10gb-19-0"),
        ),
        claim(
            "maple-lab",
            "maple-notebook",
            result("gpu-h100-mig", "gpu-0-mig-1g10gb-19-1"),
        ),
        claim(
            "ai-serving",
            "orchid-share",
            result("gpu-h100-share-a", "gpu-0", **share("16Gi", 1)),
        ),
        claim(
            "maple-lab",
            "maple-share",
            result("gpu-h100-share-a", "gpu-0", **share("26Gi", 2)),
        ),
        claim("ai-training", "orchid-whole", result("gpu-l40s-a", "gpu-0")),
        claim("maple-lab", "maple-whole", result("gpu-l40s-a", "gpu-1")),
        claim(
            "maple-lab",
            "maple-monitor",
            result("gpu-l40s-a", "gpu-2", adminAccess=True),
        ),
        claim("maple-lab", "maple-ghost", result("gpu-l40s-a", "gpu-9")),
        claim("ai-training", "orchid-ghost", result("gpu-l40s-a", "gpu-8")),
        claim("maple-lab", "maple-vfio", result("gpu-vfio-a", "gpu-vfio-0")),
        claim("maple-lab", "maple-sick", result("gpu-h100-sick", "gpu-1")),
        claim("ai-training", "orchid-gb10", result("spark-01", "gpu-0")),
    ]


@pytest.fixture
def held_cluster(load_fleets, held_claims):
    """Return a mixed cluster, some of which is held."""
    return load_fleets(*FLEETS, extra=held_claims)


@pytest.fixture
def browse():
    """Return a function that signs a person in."""

    def sign_in(person) -> Client:
        client = Client()
        client.force_login(person)
        return client

    return sign_in

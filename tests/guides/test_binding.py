"""Devices that are attached after allocation: conditions met, failed, and never told.

A test plays their driver: it tells a claim's status what became of each device.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from claims.services.preview import preview
from inventory.models import Allocation
from tests.agreement.reading import read
from tests.cluster.client import Object
from tests.cluster.controlplane import ControlPlane
from tests.guides import manifests as m
from tests.guides.conftest import FLEETS, NEW, OLD_WITH_GATES, documents, named

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]
DRIVER = "composable.example.com"
FLEET = "composable-gpu-binding-conditions"
TIMEOUT_SECONDS = 12


@pytest.fixture(scope="module")
def plane_of(tmp_path_factory) -> Iterator[Callable[..., ControlPlane]]:
    """Return a function that gives a setting's control plane: its scheduler hurries."""
    running: dict[str, ControlPlane] = {}

    def get(setting) -> ControlPlane:
        if setting.name not in running:
            state = tmp_path_factory.mktemp("binding")
            flags = {"kube-scheduler": [f"--config={_scheduler(state)}"]}
            plane = ControlPlane(
                setting.version,
                gates=setting.gates,
                runtime_config=setting.served,
                state=state,
                flags=flags if setting is NEW else None,
            )
            running[setting.name] = plane.__enter__()
            _fill(plane)
        return running[setting.name]

    yield get
    for plane in running.values():
        plane.__exit__(None, None, None)


def _scheduler(state: Path) -> Path:
    """Write a scheduler's configuration that waits a short time only; return its path."""
    group = "kubescheduler.config.k8s.io/v1"
    arguments = {
        "apiVersion": group,
        "kind": "DynamicResourcesArgs",
        "bindingTimeout": f"{TIMEOUT_SECONDS}s",
    }
    config = {
        "apiVersion": group,
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {
            "kubeconfig": str(state / "system-kube-scheduler.kubeconfig"),
            "qps": 500,
            "burst": 1000,
        },
        "leaderElection": {"leaderElect": False},
        "profiles": [
            {
                "schedulerName": "default-scheduler",
                "pluginConfig": [{"name": "DynamicResources", "args": arguments}],
            }
        ],
    }
    path = state / "scheduler.json"
    path.write_text(json.dumps(config))
    return path


def _fill(plane: ControlPlane) -> None:
    plane.add_node("rack-7-a", {"example.com/fabric": "rack-7"})
    plane.add_node("elsewhere")
    plane.apply([m.device_class("composable", f'device.driver == "{DRIVER}"')])
    plane.apply(documents(FLEETS / f"{FLEET}.yaml"))


@pytest.fixture
def waiting(world) -> Object:
    """Return a claim that is allocated to a pod that waits for its device."""
    wanted = m.claim("gpu", world.namespace, m.one_gpu("composable"))
    read(world.row)
    said = preview(world.row, [wanted]).nodes
    assert {name: node.outcome.value for name, node in said.items()} == {
        "rack-7-a": "fits",
        "elsewhere": "no",
    }
    world.admin.create(wanted)
    world.admin.create(m.pod("p", world.namespace, {"resourceClaimName": "gpu"}))
    claim = allocated(world)
    (result,) = claim["status"]["allocation"]["devices"]["results"]
    (told,) = said["rack-7-a"].device_results()
    assert told == result
    assert result["bindingConditions"] == ["FabricAttached"]
    return claim


def allocated(world, *, other_than: str = "") -> Object:
    """Return the claim once it is allocated, after another time where one is named."""

    def now() -> Object | None:
        (claim,) = world.claims()
        allocation = claim["status"].get("allocation") or {}
        moment = allocation.get("allocationTimestamp", "")
        return claim if allocation and moment != other_than else None

    return world.until(now, 60)


def tell(world, claim: Object, condition: str) -> None:
    """Tell a claim, as its driver does, that a condition of its device is true."""
    (result,) = claim["status"]["allocation"]["devices"]["results"]
    told = {
        "type": condition,
        "status": "True",
        "reason": "Told",
        "message": "the fabric has spoken",
        "lastTransitionTime": "2026-11-30T09:00:00Z",
    }
    device = {key: result[key] for key in ("driver", "pool", "device")}
    status = {"devices": [device | {"conditions": [told]}]}
    world.admin.patch({"kind": "ResourceClaim", **claim}, {"status": status}, "status")


def is_bound(world) -> bool:
    return bool(world.admin.get("Pod", "p", world.namespace)["spec"].get("nodeName"))


@named((NEW, OLD_WITH_GATES))
def test_the_pod_is_bound_once_its_device_is_attached(world, waiting):
    assert not is_bound(world)
    read(world.row)
    # It holds its device already, whatever becomes of the condition.
    assert Allocation.objects.filter(cluster=world.row).count() == 1

    tell(world, waiting, "FabricAttached")

    world.scheduled("p")
    assert [each["name"] for each in world.claims()[0]["status"]["reservedFor"]] == [
        "p"
    ]


@named((NEW, OLD_WITH_GATES))
def test_a_failure_is_told_and_another_attempt_is_made(world, waiting):
    first = waiting["status"]["allocation"].get("allocationTimestamp", "")

    tell(world, waiting, "FabricAttachFailed")

    assert "binding" in world.waits("p", "binding")
    again = allocated(world, other_than=first)
    assert not is_bound(world)
    tell(world, again, "FabricAttached")
    world.scheduled("p")


@named((NEW,))
def test_what_is_never_told_times_out(world, waiting):
    first = waiting["status"]["allocation"]["allocationTimestamp"]

    assert "timeout" in world.waits("p", "timeout")

    again = allocated(world, other_than=first)
    tell(world, again, "FabricAttached")
    world.scheduled("p")

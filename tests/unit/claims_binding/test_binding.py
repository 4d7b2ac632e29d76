"""Binding conditions: awaited, met, failed, timed out; and verifying commands."""

from __future__ import annotations

import datetime as dt
import shlex
from typing import Any

import pytest
import yaml

from claims.domain.binding import Readiness, binding_of
from claims.domain.follow import followed
from claims.domain.verifying import verifying_commands
from tests.conftest import DATA

NOW = dt.datetime(2026, 11, 30, 9, 0, tzinfo=dt.UTC)
FLEET = next(
    yaml.safe_load_all(
        (DATA / "fleets" / "composable-gpu-binding-conditions.yaml").read_text()
    )
)
DEVICE = FLEET["spec"]["devices"][0]


def claim(seconds: float | None, *conditions: tuple[str, str, float]) -> dict[str, Any]:
    """Return a claim of the fleet's first device, allocated so many seconds ago."""
    result = {
        "request": "gpu",
        "driver": FLEET["spec"]["driver"],
        "pool": FLEET["spec"]["pool"]["name"],
        "device": DEVICE["name"],
        "bindingConditions": DEVICE["bindingConditions"],
        "bindingFailureConditions": DEVICE["bindingFailureConditions"],
    }
    allocation: dict[str, Any] = {"devices": {"results": [result]}}
    if seconds is not None:
        allocation["allocationTimestamp"] = ago(seconds)
    told = [
        {"type": name, "status": status, "reason": "R", "message": "the driver's words",
         "lastTransitionTime": ago(before)}
        for name, status, before in conditions
    ]  # fmt: skip
    ids = {key: result[key] for key in ("driver", "pool", "device")}
    return {
        "metadata": {"name": "c", "namespace": "ai-serving", "uid": "u"},
        "spec": {"devices": {"requests": []}},
        "status": {"allocation": allocation, "devices": [{**ids, "conditions": told}]},
    }


def ago(seconds: float) -> str:
    return (NOW - dt.timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


@pytest.mark.parametrize(
    ("seconds", "conditions", "state", "waited"),
    [
        (30, [], Readiness.AWAITED, 30),
        (30, [("FabricAttached", "False", 20)], Readiness.AWAITED, 30),
        (30, [("FabricAttached", "True", 10)], Readiness.MET, 20),
        (9000, [("FabricAttached", "True", 8990)], Readiness.MET, 10),
        (30, [("FabricAttachFailed", "True", 5)], Readiness.FAILED, 25),
        (
            30,
            [("FabricAttached", "True", 10), ("FabricAttachFailed", "True", 5)],
            Readiness.FAILED,
            25,
        ),
        (601, [], Readiness.TIMED_OUT, 601),
        (600, [], Readiness.AWAITED, 600),
        (None, [], Readiness.AWAITED, None),
    ],
)
def test_binding_of(seconds, conditions, state, waited):
    binding = binding_of(claim(seconds, *conditions), now=NOW)

    assert binding.state is state
    assert (binding.waited and binding.waited.total_seconds()) == waited


def test_binding_lists_each_condition_with_the_drivers_words():
    found = binding_of(claim(30, ("FabricAttached", "False", 20)), now=NOW).conditions

    assert [(c.type, c.is_failure, c.state) for c in found] == [
        ("FabricAttached", False, Readiness.AWAITED),
        ("FabricAttachFailed", True, None),
    ]
    assert found[0].device == "composable.example.com/rack-7/gpu-0"
    assert found[0].message == "the driver's words"


def test_binding_of_another_share_is_not_ours():
    body = claim(30, ("FabricAttached", "True", 10))
    body["status"]["devices"][0]["shareID"] = "other"

    assert binding_of(body, now=NOW).state is Readiness.AWAITED


def test_binding_of_devices_that_wait_for_nothing():
    body = claim(30)
    result = body["status"]["allocation"]["devices"]["results"][0]
    del result["bindingConditions"], result["bindingFailureConditions"]

    assert binding_of(body, now=NOW) is None
    assert binding_of({"metadata": {}, "spec": {}}, now=NOW) is None


def test_verifying_commands_are_filled_and_safe_to_paste():
    body = claim(30)
    result = body["status"]["allocation"]["devices"]["results"][0]
    result["driver"] = "gpu.nvidia.com"
    body["status"]["reservedFor"] = [{"resource": "pods", "name": "train-0"}]
    body["metadata"]["name"] = "it's; rm -rf"

    commands = verifying_commands(followed(body, {}))

    assert [c.shows for c in commands] == ["claim", "devices", "slices", "pod", "gpus"]
    words = [shlex.split(c.text) for c in commands]
    assert all(each[0] == "kubectl" for each in words)
    assert words[0][3] == "it's; rm -rf"
    assert "spec.driver=gpu.nvidia.com" in words[2]
    assert words[4][-4:] == ["ai-serving", "--", "nvidia-smi", "-L"]

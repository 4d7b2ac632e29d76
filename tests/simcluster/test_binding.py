"""Devices that are attached after allocation: met, failed, never told.

The claim's page says of the same objects what the pod waits for.
"""

from __future__ import annotations

import datetime as dt

import pytest
from django.utils import timezone

from claims.domain.binding import Readiness, binding_of
from tests.conftest import DATA
from tests.simcluster.conftest import eventually

FLEET = DATA / "fleets" / "composable-gpu-binding-conditions.yaml"
PLAY = "simcluster.slicewise.io/device"


@pytest.fixture(scope="module")
def rack(simulate, tmp_path_factory):
    """Return a client of a cluster with four network-attached cards and two nodes."""
    nodes = tmp_path_factory.mktemp("rack") / "nodes.yaml"
    nodes.write_text(
        "\n---\n".join(
            f"{{apiVersion: v1, kind: Node, metadata: {{name: {name}, labels: {labels}}}}}"
            for name, labels in (
                ("rack-7-a", "{example.com/fabric: rack-7}"),
                ("elsewhere", "{}"),
            )
        )
    )
    cluster = simulate(
        "--fleet", str(FLEET), str(nodes), "--tick=0.2", "--attach=2",
        "--binding-timeout=4", "--backoff=3",
    )  # fmt: skip
    admin = cluster.client()
    admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}})
    return admin


def ask(admin, name, play):
    """Create a claim whose driver plays a part, and a pod that uses it."""
    admin.create(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": name, "namespace": "x", "annotations": {PLAY: play}},
            "spec": {
                "devices": {
                    "requests": [
                        {
                            "name": "gpu",
                            "exactly": {"deviceClassName": "composable-gpu"},
                        }
                    ]
                }
            },
        }
    )
    admin.create(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "x"},
            "spec": {
                "containers": [
                    {
                        "name": "main",
                        "image": "registry.example.com/main",
                        "resources": {"claims": [{"name": "gpu"}]},
                    }
                ],
                "resourceClaims": [{"name": "gpu", "resourceClaimName": name}],
            },
        }
    )
    return eventually(lambda: allocated(admin, name))


def allocated(admin, name, *, after=""):
    """Return a claim once it is allocated, later than a moment if one is named."""
    claim = admin.get("ResourceClaim", name, "x")
    told = (claim.get("status") or {}).get("allocation") or {}
    return claim if told and told["allocationTimestamp"] != after else None


def binding(admin, name, *, later=0):
    """Return what the claim's page says, now or some seconds later."""
    now = timezone.now() + dt.timedelta(seconds=later)
    return binding_of(admin.get("ResourceClaim", name, "x"), now=now)


def node_of(admin, name):
    return admin.get("Pod", name, "x")["spec"].get("nodeName", "")


def message_of(admin, name):
    conditions = admin.get("Pod", name, "x")["status"].get("conditions") or [{}]
    return conditions[0].get("message", "")


def test_a_pod_is_bound_once_its_device_is_attached(rack):
    claim = ask(rack, "met", "")

    assert not node_of(rack, "met")
    assert claim["status"]["reservedFor"][0]["name"] == "met"
    assert binding(rack, "met").state is Readiness.AWAITED

    assert eventually(lambda: node_of(rack, "met")) == "rack-7-a"
    told = binding(rack, "met")
    assert told.state is Readiness.MET
    met = next(each for each in told.conditions if not each.is_failure)
    assert (met.type, met.reason) == ("FabricAttached", "Attached")
    assert len(rack.get("ResourceClaim", "met", "x")["status"]["reservedFor"]) == 1


def test_a_failure_is_told_and_another_attempt_is_made(rack):
    first = ask(rack, "failed", "fail")["status"]["allocation"]["allocationTimestamp"]

    eventually(lambda: binding(rack, "failed").state is Readiness.FAILED)
    eventually(lambda: "binding failed" in message_of(rack, "failed"))
    assert "FabricAttachFailed" in message_of(rack, "failed")

    # Until the next attempt the claim says what went wrong; then it is allocated anew.
    again = eventually(lambda: allocated(rack, "failed", after=first))
    assert not again["status"].get("devices")
    assert not node_of(rack, "failed")


def test_what_is_never_told_times_out(rack):
    first = ask(rack, "silent", "silent")["status"]["allocation"]["allocationTimestamp"]

    assert binding(rack, "silent").state is Readiness.AWAITED
    assert binding(rack, "silent", later=700).state is Readiness.TIMED_OUT
    eventually(lambda: "binding timeout after 4 seconds" in message_of(rack, "silent"))

    assert eventually(lambda: allocated(rack, "silent", after=first))
    assert not node_of(rack, "silent")

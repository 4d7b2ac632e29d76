"""How many pods share a claim."""

from __future__ import annotations

import pytest

from claims.domain.checks.workloads import claim_users, workload_findings
from claims.domain.checks.world import build_world
from inventory.domain.shapes import fault_of


def pod(name):
    spec = {"resourceClaims": [{"name": "g", "resourceClaimName": "shared"}]}
    return {"kind": "Pod", "metadata": {"name": name, "namespace": "ns"}, "spec": spec}


def claim(*users):
    reserved = [{"resource": "pods", "name": name} for name in users]
    return {
        "kind": "ResourceClaim",
        "metadata": {"name": "shared", "namespace": "ns"},
        "status": {"reservedFor": reserved},
    }


def counted(*objects):
    found = claim_users(build_world(objects, minor=37, gates=[]))
    return [(each.name, each.finding.values["pods"]) for each in found]


def test_a_pod_that_comes_to_a_full_claim_is_one_too_many():
    full = claim(*(f"p{i}" for i in range(256)))

    assert counted(full, pod("one-more")) == [("shared", 257)]


def test_a_pod_that_has_its_place_counts_once():
    full = claim(*(f"p{i}" for i in range(256)))

    assert counted(full, pod("p7")) == []
    assert counted(full) == []


def workload(kind, status=None, **spec):
    template = {"spec": pod("x")["spec"]}
    return {
        "kind": kind,
        "metadata": {"name": kind.lower(), "namespace": "ns"},
        "spec": {"template": template, **spec},
        "status": status,
    }


def running(*objects):
    """Return how many pods workloads are said to share a claim with, where too many."""
    nodes = [{"kind": "Node", "metadata": {"name": f"n{i}"}} for i in range(300)]
    found = workload_findings(build_world([*nodes, *objects], minor=37, gates=[]))
    return [each.finding.values["pods"] for each in found]


def condition(kind, status="True"):
    return {"conditions": [{"type": kind, "status": status}]}


@pytest.mark.parametrize(
    ("job", "pods"),
    [
        ({"status": None}, [300]),
        ({"status": condition("Complete", "False")}, [300]),
        ({"status": condition("Suspended")}, [300]),
        ({"status": condition("Complete")}, []),
        ({"status": condition("Failed")}, []),
        ({"suspend": True}, []),
        ({"suspend": False}, [300]),
    ],
)
def test_a_job_that_has_ended_or_is_suspended_has_no_pods(job, pods):
    assert running(workload("Job", parallelism=300, **job)) == pods


@pytest.mark.parametrize(("said", "pods"), [(0, []), (None, [300]), (299, [299])])
def test_a_daemon_set_has_as_many_pods_as_it_says(said, pods):
    status = {"desiredNumberScheduled": said}

    assert running(workload("DaemonSet", status)) == pods


@pytest.mark.parametrize("kind", ["Job", "DaemonSet", "Deployment", "CronJob"])
@pytest.mark.parametrize("status", ["x", ["x"]])
def test_the_status_of_a_workload_is_an_object(kind, status):
    body = {"kind": kind, "metadata": {"name": "x"}, "status": status}

    assert fault_of(body) == ("status", "object")

"""How many pods share a claim."""

from __future__ import annotations

from claims.domain.checks.workloads import claim_users
from claims.domain.checks.world import build_world


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

"""What a quota would refuse, beside what it counts already."""

from __future__ import annotations

import pytest

from claims.domain.checks.asks import asked_of
from claims.domain.checks.findings import Finding, most_specific
from claims.domain.checks.quota import quota_findings
from claims.domain.checks.world import build_world

KEY = "gpu.amd.com.deviceclass.resource.k8s.io/devices"
COUNT = "count/resourceclaims.resource.k8s.io"


def claim(name="a", *, kind="ResourceClaim", count=1):
    request = {"name": "r", "exactly": {"deviceClassName": "gpu.amd.com"}}
    request["exactly"]["count"] = count
    spec = {"devices": {"requests": [request]}}
    if kind != "ResourceClaim":
        spec = {"spec": spec}
    return {"kind": kind, "metadata": {"name": name, "namespace": "ns"}, "spec": spec}


def found(item, *objects, standing=None, hard=1, used=1):
    quota = {
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "ns"},
        "spec": {"hard": {KEY: str(hard), COUNT: "10"}},
        "status": {"used": {KEY: str(used), COUNT: "1"}},
    }
    world = build_world([quota, *objects], minor=37, gates=[])
    return [
        (each.values["key"], each.values["charged"], each.values["left"])
        for each in quota_findings(asked_of(item), world, standing)
    ]


def test_a_claim_that_the_cluster_has_is_not_charged_again():
    assert found(claim(), claim()) == []
    assert found(claim(), standing=claim()) == []


@pytest.mark.parametrize(
    ("item", "others"),
    [
        (claim(), []),
        (claim(), [claim("b")]),
        (claim(kind="ResourceClaimTemplate"), [claim()]),
    ],
)
def test_what_is_not_counted_yet_is_charged(item, others):
    assert found(item, *others) == [(KEY, 1, 0)]


def test_a_claim_that_stands_is_subtracted_as_it_stands():
    assert found(claim(count=2), claim(), hard=2, used=2) == [(KEY, 2, 1)]
    assert found(claim(count=2), claim(count=3), hard=3, used=3) == []


def test_every_class_beyond_its_quota_is_said_once():
    keys = [f"{name}.deviceclass.resource.k8s.io/devices" for name in "xy"]
    quota = {
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "ns"},
        "spec": {"hard": dict.fromkeys(keys, "0")},
    }
    item = claim()
    item["spec"]["devices"]["requests"] = [
        {"name": name, "exactly": {"deviceClassName": name}} for name in "xy"
    ]
    world = build_world([quota], minor=37, gates=[])

    twice = [*quota_findings(asked_of(item), world)] * 2

    assert [each.values["key"] for each in most_specific(twice)] == keys


def test_what_speaks_of_one_thing_is_said_once_at_a_path():
    odd = [Finding("claim.odd", "p", {"key": key}, "capacity_key") for key in "aab"]
    rounded = [Finding("capacity.rounded", "p", {"key": key}) for key in "ab"]

    found = most_specific([*odd, *rounded])

    assert [(each.code, each.values["key"]) for each in found] == [
        ("claim.odd", "a"),
        ("claim.odd", "b"),
        ("capacity.rounded", "a"),
    ]

"""What became of a template or a claim, from the objects alone."""

from __future__ import annotations

import pytest

from claims.domain.follow import (
    Applied,
    ClaimState,
    HeldDevice,
    ObjectState,
    follow,
)

TEMPLATE = Applied("ResourceClaimTemplate", "t", "req-1")
CLAIM = Applied("ResourceClaim", "c", "req-1")
MARKED = {
    "app.kubernetes.io/managed-by": "slicewise",
    "slicewise.io/request-id": "req-1",
}


def pod(name="p", *, refs=(("gpu", "t"),), claims=(), statuses=(), **more):
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", **more.pop("metadata", {})},
        "spec": {
            "resourceClaims": [
                *({"name": n, "resourceClaimTemplateName": t} for n, t in refs),
                *({"name": n, "resourceClaimName": c} for n, c in claims),
            ],
            **({"nodeName": more.pop("node")} if "node" in more else {}),
        },
        "status": {
            "phase": "Pending",
            "resourceClaimStatuses": [
                {"name": n, "resourceClaimName": c} for n, c in statuses
            ],
            **more,
        },
    }


def claim(name="p-gpu-x", *, owner="p", ref="gpu", **status):
    metadata = {"name": name, "namespace": "ns", "uid": f"uid-{name}"}
    if owner:
        metadata["ownerReferences"] = [{"kind": "Pod", "uid": f"uid-{owner}"}]
        metadata["annotations"] = {"resource.kubernetes.io/pod-claim-name": ref}
    return {"metadata": metadata, "spec": {}, "status": status}


ALLOCATION = {
    "devices": {
        "results": [
            {
                "request": "gpu/share",
                "driver": "gpu.nvidia.com",
                "pool": "n1",
                "device": "gpu-0",
                "shareID": "s",
                "consumedCapacity": {"memory": "16Gi", "cores": "25"},
            }
        ]
    },
    "nodeSelector": {
        "nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "values": ["n1"]}]}
        ]
    },
}
RESERVED = [{"resource": "pods", "name": "p", "uid": "uid-p"}]


def seen(applied, *, claims=(), pods=()):
    return follow(applied, ObjectState.PRESENT, claims=claims, pods=pods)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, ClaimState.PENDING),
        ({"allocation": ALLOCATION}, ClaimState.ALLOCATED),
        ({"allocation": ALLOCATION, "reservedFor": RESERVED}, ClaimState.RESERVED),
    ],
)
def test_claim_of_a_live_pod(status, expected):
    found = seen(TEMPLATE, claims=[claim(**status)], pods=[pod()])

    assert [one.state for one in found.claims] == [expected]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_claim_of_a_finished_pod_is_unreserved(phase):
    found = seen(
        TEMPLATE, claims=[claim(allocation=ALLOCATION)], pods=[pod(phase=phase)]
    )

    assert found.claims[0].state == ClaimState.UNRESERVED


def test_claim_that_is_being_deleted_is_terminating():
    body = claim(allocation=ALLOCATION, reservedFor=RESERVED)
    body["metadata"]["deletionTimestamp"] = "2026-11-30T00:00:00Z"

    assert seen(TEMPLATE, claims=[body], pods=[pod()]).claims[0].state == "Terminating"


def test_devices_node_and_pods_of_a_claim():
    body = claim(allocation=ALLOCATION, reservedFor=RESERVED)
    [found] = seen(TEMPLATE, claims=[body], pods=[pod()]).claims

    assert found.devices == (
        HeldDevice(
            request="gpu/share",
            driver="gpu.nvidia.com",
            pool="n1",
            device="gpu-0",
            consumed=(("cores", "25"), ("memory", "16Gi")),
            is_share=True,
            admin_access=False,
        ),
    )
    assert (found.node, found.pods) == ("n1", ("p",))


def test_claims_of_other_templates_of_one_pod_are_left_out():
    user = pod(refs=[("gpu", "t"), ("nic", "other")])
    claims = [claim("mine", ref="gpu"), claim("theirs", ref="nic")]

    found = seen(TEMPLATE, claims=claims, pods=[user])

    assert [one.name for one in found.claims] == ["mine"]


def test_claims_of_pods_of_another_template_are_left_out():
    others = pod("q", refs=[("gpu", "other")])

    found = seen(TEMPLATE, claims=[claim(owner="q")], pods=[others])

    assert (found.claims, found.pods) == ((), ())


def test_status_of_the_pod_names_a_claim_too():
    user = pod(statuses=[("gpu", "named"), ("nic", "not-this")])
    claims = [claim("named", owner=""), claim("not-this", owner="")]

    assert [one.name for one in seen(TEMPLATE, claims=claims, pods=[user]).claims] == [
        "named"
    ]


def test_claim_with_our_mark_is_ours_after_its_pod_is_gone():
    body = claim(owner="gone", allocation=ALLOCATION)
    body["metadata"]["labels"] = MARKED

    [found] = seen(TEMPLATE, claims=[body]).claims

    assert found.state == ClaimState.UNRESERVED


def test_mark_alone_is_not_enough():
    forged = claim(owner="")
    forged["metadata"]["labels"] = MARKED

    assert seen(TEMPLATE, claims=[forged]).claims == ()


def test_claim_is_its_own_and_pods_name_it():
    users = [pod("b", refs=(), claims=[("gpu", "c")], node="n2"), pod("a", refs=())]
    [found] = seen(CLAIM, claims=[claim("c", owner=""), claim("d")], pods=users).claims

    assert found.name == "c"
    pods = seen(CLAIM, pods=users).pods
    assert [(one.name, one.node) for one in pods] == [("b", "n2")]


def test_scheduler_says_why_a_pod_waits():
    condition = {"type": "PodScheduled", "status": "False", "message": "0/3 nodes"}
    [found] = seen(TEMPLATE, pods=[pod(conditions=[condition])]).pods

    assert found.waiting == "0/3 nodes"


def test_order_is_by_name():
    pods = [pod(name) for name in "cab"]
    claims = [claim(f"x-{name}", owner=name) for name in "cab"]

    found = seen(TEMPLATE, claims=claims, pods=pods)

    assert [one.name for one in found.pods] == ["a", "b", "c"]
    assert [one.name for one in found.claims] == ["x-a", "x-b", "x-c"]

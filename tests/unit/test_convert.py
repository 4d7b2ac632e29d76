from __future__ import annotations

import copy

from inventory.domain.convert import to_v1


def test_to_v1_unwraps_a_v1beta1_device():
    body = {
        "apiVersion": "resource.k8s.io/v1beta1",
        "kind": "ResourceSlice",
        "spec": {
            "devices": [{"name": "gpu-0", "basic": {"attributes": {"a": {"int": 1}}}}]
        },
    }
    before = copy.deepcopy(body)

    converted = to_v1(body)

    assert converted["apiVersion"] == "resource.k8s.io/v1"
    assert converted["spec"]["devices"] == [
        {"name": "gpu-0", "attributes": {"a": {"int": 1}}}
    ]
    assert body == before


def test_to_v1_moves_a_request_into_exactly():
    request = {"name": "gpu", "deviceClassName": "gpu.nvidia.com", "count": 2}
    listed = {"name": "list", "firstAvailable": [{"name": "a", "deviceClassName": "x"}]}
    body = {
        "apiVersion": "resource.k8s.io/v1beta1",
        "kind": "ResourceClaimTemplate",
        "spec": {"spec": {"devices": {"requests": [request, listed]}}},
    }

    requests = to_v1(body)["spec"]["spec"]["devices"]["requests"]

    assert requests == [
        {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 2}},
        listed,
    ]


def test_to_v1_leaves_other_shapes_alone():
    pod = {"apiVersion": "v1", "kind": "Pod"}
    broken = {
        "apiVersion": "resource.k8s.io/v1beta1",
        "kind": "ResourceSlice",
        "spec": 3,
    }

    assert to_v1(pod) is pod
    assert to_v1(broken)["spec"] == 3
    assert to_v1(
        {"apiVersion": "resource.k8s.io/v1beta2", "kind": "ResourceClaim", "spec": {}}
    ) == {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "spec": {},
    }

"""What is kept of an object."""

from __future__ import annotations

import copy

import pytest

from inventory.domain.trim import asks_for_devices, is_extended, trimmed

CLAIMING = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "uid": "u", "managedFields": [{}], "labels": {"x": "y"}},
    "spec": {
        "nodeName": "n1",
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}],
        "volumes": [{"name": "big"}],
        "containers": [
            {"name": "c", "image": "i", "resources": {"claims": [{"name": "gpu"}]}}
        ],
        "initContainers": [{"name": "i", "command": ["x"]}],
        "priority": 7,
        "affinity": {
            "podAffinity": {},
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"x": "y"},
                "preferredDuringSchedulingIgnoredDuringExecution": [{}],
            },
        },
    },
    "status": {
        "phase": "Running",
        "hostIP": "10.0.0.1",
        "conditions": [{"type": "Ready", "status": "True"}],
        "resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "a-gpu-x"}],
        "extendedResourceClaimStatus": {"resourceClaimName": "b"},
    },
}


def test_pod_keeps_what_devices_need_and_is_not_changed():
    before = copy.deepcopy(CLAIMING)
    kept = trimmed(CLAIMING)
    assert kept == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "uid": "u", "labels": {"x": "y"}},
        "spec": {
            "nodeName": "n1",
            "resourceClaims": CLAIMING["spec"]["resourceClaims"],
            "containers": [{"name": "c", "resources": {"claims": [{"name": "gpu"}]}}],
            "initContainers": [{"name": "i"}],
            "priority": 7,
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {"x": "y"}
                }
            },
        },
        "status": {
            key: value for key, value in CLAIMING["status"].items() if key != "hostIP"
        },
    }
    assert before == CLAIMING


def pod(**resources):
    return {"kind": "Pod", "spec": {"containers": [{"resources": resources}]}}


@pytest.mark.parametrize(
    ("obj", "asks"),
    [
        (pod(requests={"cpu": "1", "memory": "1Gi", "hugepages-2Mi": "1"}), False),
        (pod(limits={"nvidia.com/gpu": "1"}), True),
        (pod(requests={"deviceclass.resource.kubernetes.io/gpu.nvidia.com": 1}), True),
        (pod(requests={"kubernetes.io/batch-cpu": 1}), False),
        (
            {
                "kind": "Pod",
                "spec": {
                    "initContainers": [{"resources": {"limits": {"amd.com/gpu": 1}}}]
                },
            },
            True,
        ),
        ({"kind": "Pod", "spec": {"resourceClaims": []}}, False),
        ({"kind": "Pod"}, False),
        ({"kind": "Pod", "spec": {"containers": ["odd", {"resources": None}]}}, False),
    ],
)
def test_only_pods_that_ask_for_devices_are_kept(obj, asks):
    assert asks_for_devices(obj) is asks
    assert (trimmed(obj) is not None) is asks


def test_names_of_extended_resources():
    assert is_extended("nvidia.com/mig-1g.10gb")
    assert not is_extended("cpu")
    assert not is_extended("requests.nvidia.com.gpu")


def test_other_kinds_lose_managed_fields_and_nodes_their_images():
    node = {
        "kind": "Node",
        "metadata": {"name": "n", "managedFields": []},
        "status": {"images": [1, 2], "allocatable": {"cpu": "4"}},
    }
    assert trimmed(node) == {
        "kind": "Node",
        "metadata": {"name": "n"},
        "status": {"allocatable": {"cpu": "4"}},
    }
    taint = {"kind": "DeviceTaintRule", "metadata": {"name": "t"}, "spec": {"a": 1}}
    assert trimmed(taint) == taint

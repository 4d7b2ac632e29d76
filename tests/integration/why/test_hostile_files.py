"""Files with a value of the wrong kind somewhere: a sentence or a finding, no traceback."""

from __future__ import annotations

import contextlib
import copy
import random

import pytest

from claims.services.checking import check_file
from claims.services.filed import file_of
from portal.core.errors import PortalError
from tests.integration.why.conftest import holder, request, template

pytestmark = pytest.mark.django_db

JUNK = [3, "x", [], {}, [3], {"a": 1}, None, True, [[]], -1]
FULL = "nvidia-h100-full-8gpu"


def whole():
    """Return objects that use every field, all of them right."""
    listed = {
        "name": "list",
        "firstAvailable": [
            {
                "name": "one",
                "deviceClassName": "gpu.nvidia.com",
                "selectors": [{"cel": {"expression": "true"}}],
            }
        ],
    }
    tolerations = [{"key": "k", "operator": "Exists", "effect": "NoSchedule"}]
    capacity = {"requests": {"memory": "1Gi"}}
    gpu = request(
        "gpu", "gpu.nvidia.com", "true", tolerations=tolerations, capacity=capacity
    )
    constraint = {
        "requests": ["gpu"],
        "matchAttribute": "resource.kubernetes.io/pcieRoot",
    }
    asked = template(gpu, listed, constraints=[constraint])
    asked["spec"]["metadata"] = {"labels": {"a": "b"}}
    asked["spec"]["spec"]["devices"]["config"] = [
        {"requests": ["gpu"], "opaque": {"driver": "gpu.nvidia.com", "parameters": {}}}
    ]
    return [
        asked,
        holder("train", "gpu-h100-a/gpu-0"),
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": "mine"},
            "spec": {
                "selectors": [{"cel": {"expression": "true"}}],
                "extendedResourceName": "example.com/gpu",
            },
        },
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": "s"},
            "spec": {
                "driver": "gpu.nvidia.com",
                "nodeName": "gpu-h100-a",
                "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
                "devices": [
                    {
                        "name": "d",
                        "attributes": {"type": {"string": "gpu"}},
                        "capacity": {"memory": {"value": "1Gi"}},
                        "taints": [{"key": "k", "effect": "NoSchedule"}],
                        "consumesCounters": [
                            {"counterSet": "c", "counters": {"m": {"value": "1"}}}
                        ],
                    }
                ],
            },
        },
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "q", "namespace": "team-orchid"},
            "spec": {"hard": {"gpu.nvidia.com.deviceclass.resource.k8s.io/devices": 1}},
        },
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", "namespace": "team-orchid"},
            "spec": {
                "resourceClaims": [{"name": "a", "resourceClaimName": "train"}],
                "containers": [{"name": "c", "resources": {"claims": [{"name": "a"}]}}],
            },
        },
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceTaintRule",
            "metadata": {"name": "r"},
            "spec": {
                "deviceSelector": {"driver": "d"},
                "taint": {"key": "k", "effect": "NoSchedule"},
            },
        },
    ]


def places(node, path=()):
    """Yield the path of every value below kind and apiVersion."""
    pairs = (
        node.items()
        if isinstance(node, dict)
        else enumerate(node)
        if isinstance(node, list)
        else ()
    )
    for key, value in pairs:
        if key not in ("apiVersion", "kind"):
            yield (*path, key)
            yield from places(value, (*path, key))


def broken(objects, path, junk):
    found = copy.deepcopy(objects)
    node = found
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = junk
    return found


def every():
    objects = whole()
    return [(path, junk) for path in places(objects) if len(path) > 1 for junk in JUNK]


@pytest.mark.parametrize("part", range(4))
def test_no_value_makes_a_traceback(load_fleets, part):
    cluster = load_fleets(FULL)
    chosen = random.Random(part).sample(every(), 40)

    for path, junk in chosen:
        try:
            with contextlib.suppress(PortalError):
                check_file(cluster, file_of(broken(whole(), path, junk)))
        except Exception as error:
            pytest.fail(f"{path} = {junk!r}: {type(error).__name__}: {error}")

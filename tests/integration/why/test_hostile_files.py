"""Files with a value of the wrong kind somewhere: a sentence or a finding, no traceback."""

from __future__ import annotations

import contextlib
import copy
import random
from types import SimpleNamespace

import pytest

from claims.domain.checks.asks import asked_of
from claims.domain.checks.classes import device_class_findings
from claims.domain.checks.facts import AskFacts, Facts
from claims.domain.checks.objects import cluster_findings, dropped_of_slices
from claims.domain.checks.shape import name_findings, shape_findings
from claims.domain.checks.world import build_world
from claims.domain.why.ground import Ground
from claims.services.checking import Checker, check_file
from claims.services.filed import file_of
from portal.core.errors import PortalError
from tests.integration.why.conftest import holder, request, template

pytestmark = pytest.mark.django_db

JUNK = [3, "x", [], {}, [3], {"a": 1}, None, True, [[]], -1]
HUGE = ["9" * 5000, "9" * 4200 + "e999", "1e999", 10**18, 16**60]
GATES = [
    *("DRAAdminAccess", "DRAConsumableCapacity", "DRAPartitionableDevices"),
    *("DRADeviceTaints", "DRADeviceTaintRules", "DRAExtendedResource"),
]
FULL = "nvidia-h100-full-8gpu"


def runners():
    """Return a node, and workloads that name a claim."""
    pods = {"spec": {"resourceClaims": [{"name": "a", "resourceClaimName": "train"}]}}
    specs = {
        "Job": {"template": pods, "parallelism": 1, "suspend": False},
        "DaemonSet": {"template": pods},
        "Deployment": {"template": pods, "replicas": 1},
        "CronJob": {"jobTemplate": {"spec": {"template": pods, "parallelism": 1}}},
    }
    statuses = {
        "Job": {"conditions": [{"type": "Failed", "status": "False"}]},
        "DaemonSet": {"desiredNumberScheduled": 1},
    }
    owner = {"kind": "Job", "name": "j", "controller": False}
    for kind, spec in specs.items():
        yield {
            "apiVersion": "apps/v1",
            "kind": kind,
            "metadata": {
                "name": kind.lower(),
                "namespace": "team-orchid",
                "ownerReferences": [owner],
            },
            "spec": spec,
            "status": statuses.get(kind, {}),
        }
    yield {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "gpu-h100-a", "labels": {"l": "v"}},
        "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }


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
                "pool": {"name": "p", "generation": 1, "resourceSliceCount": 2},
                "devices": [
                    {
                        "name": "d",
                        "attributes": {"type": {"string": "gpu"}},
                        "allowMultipleAllocations": True,
                        "capacity": {
                            "memory": {
                                "value": "1Gi",
                                "requestPolicy": {
                                    "default": "1Mi",
                                    "validRange": {"min": "1Mi", "step": "1Mi"},
                                },
                            },
                            "cores": {
                                "value": "8",
                                "requestPolicy": {"validValues": ["1", "2"]},
                            },
                        },
                        "taints": [{"key": "k", "effect": "NoSchedule"}],
                        "consumesCounters": [
                            {"counterSet": "c", "counters": {"m": {"value": "1"}}}
                        ],
                    }
                ],
            },
        },
        *runners(),
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": "counters"},
            "spec": {
                "driver": "gpu.nvidia.com",
                "nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": []}]},
                "pool": {"name": "p", "generation": 1, "resourceSliceCount": 2},
                "sharedCounters": [{"name": "c", "counters": {"m": {"value": "2"}}}],
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
                "deviceSelector": {"driver": "gpu.nvidia.com", "pool": "p"},
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


def every(*values):
    objects = whole()
    return [
        (path, each) for path in places(objects) if len(path) > 1 for each in values
    ]


def judge(objects, minor):
    """Find all that can be found without the engine, every device matching."""
    filed = file_of(objects)
    world = build_world(filed.overlay, minor=minor, gates=GATES)
    found = [*cluster_findings(world), *dropped_of_slices(filed.overlay, world)]
    devices = frozenset(world.devices)
    known = AskFacts(devices, devices)
    for item in filed.items:
        broken_names = list(name_findings(item))
        if item["kind"] == "DeviceClass":
            found += [*broken_names, *device_class_findings(item, known, world)]
            continue
        broken_names += shape_findings(item)
        if any(each.code == "claim.invalid" for each in broken_names):
            continue
        asked = asked_of(item)
        facts = Facts(dict.fromkeys((ask.name for ask in asked.asks), known))
        found += Checker._findings(SimpleNamespace(world=world), asked, facts, [])
        ground = Ground(world)
        for ask in asked.asks:
            for device in devices:
                ground.bars(device)
                ground.short_counters(device)
                ground.lacking(device, ask)
    return found


def test_no_value_makes_a_traceback_of_what_is_found_without_the_engine():
    assert judge(whole(), 37)
    failed = []
    for path, junk in every(*JUNK, *HUGE):
        try:
            with contextlib.suppress(PortalError):
                for each in judge(broken(whole(), path, junk), 34 + len(path) % 4):
                    str(getattr(each, "finding", each).values)
        except Exception as error:
            failed.append(f"{path} = {str(junk)[:20]}: {error!r}"[:200])

    assert not failed


@pytest.mark.parametrize("part", range(4))
def test_no_value_makes_a_traceback(load_fleets, part):
    cluster = load_fleets(FULL)
    chosen = random.Random(part).sample(every(*JUNK, *HUGE), 40)

    for path, junk in chosen:
        try:
            with contextlib.suppress(PortalError):
                check_file(cluster, file_of(broken(whole(), path, junk)))
        except Exception as error:
            pytest.fail(f"{path} = {str(junk)[:20]}: {type(error).__name__}: {error}")

"""Large allocation problems: whole cards on some nodes, every MIG placement on others.

Each whole-card node has 8 GPUs, `fill` percent of them held; each MIG node has 8
GPUs with every placement published against counters, 192 devices in slices of
64. The claim asks for two 80 GB Hopper cards under one PCIe root, else four
3g.40gb on different cards, else eight 1g.10gb. Always the same for the same
numbers.
"""

from __future__ import annotations

import random
from typing import Any

Json = dict[str, Any]

DRIVER = "gpu.nvidia.com"
_WHOLE = {"memory": "81152Mi", "multiprocessors": 132}
# profile → memory, memory slices, multiprocessors, starts
_PROFILES = {
    "1g.10gb": ("9856Mi", 1, 16, range(7)),
    "1g.20gb": ("20096Mi", 2, 16, (0, 2, 4, 6)),
    "2g.20gb": ("20096Mi", 2, 32, (0, 2, 4)),
    "3g.40gb": ("40448Mi", 4, 48, (0, 4)),
    "4g.40gb": ("40448Mi", 4, 64, (0,)),
    "7g.80gb": ("81152Mi", 8, 112, (0,)),
}
_SLICE = 64


def problem(whole_nodes: int, mig_nodes: int, fill: int) -> Json:
    """Return classes, slices, nodes, allocated claims and the claim that is asked."""
    dice = random.Random(20261130)
    nodes, slices, allocated = [], [], []
    for number in range(whole_nodes + mig_nodes):
        name = f"node-{number:05d}"
        labels = {"kubernetes.io/hostname": name}
        nodes.append(_object("v1", "Node", {"name": name, "labels": labels}))
        if number >= whole_nodes:
            slices += _mig_slices(name)
            continue
        slices.append(
            _slice(name, 0, 1, {"devices": [_card(name, i) for i in range(8)]})
        )
        allocated += [_holder(name, i) for i in range(8) if dice.randrange(100) < fill]
    return {
        "classes": [_class("gpu"), _class("mig")],
        "slices": slices,
        "nodes": nodes,
        "allocated": allocated,
        "claims": [_claim()],
    }


def objects(made: Json) -> list[Json]:
    """Return a problem's objects as a cluster has them, without the claim asked."""
    return [*made["classes"], *made["slices"], *made["nodes"], *made["allocated"]]


def _object(version: str, kind: str, metadata: Json, **rest: Any) -> Json:
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **rest}


def _slice(node: str, number: int, count: int, what: Json) -> Json:
    pool = {"name": node, "generation": 1, "resourceSliceCount": count}
    spec = {"driver": DRIVER, "nodeName": node, "pool": pool, **what}
    metadata = {"name": f"{node}-{number}"}
    return _object("resource.k8s.io/v1", "ResourceSlice", metadata, spec=spec)


def _card(node: str, index: int, **more: Any) -> Json:
    attributes = {
        "type": {"string": "gpu"},
        "uuid": {"string": f"GPU-{node}-{index}"},
        "productName": {"string": "NVIDIA H100 80GB HBM3"},
        "brand": {"string": "Nvidia"},
        "architecture": {"string": "Hopper"},
        "cudaComputeCapability": {"version": "9.0.0"},
        "cudaDriverVersion": {"version": "13.0.0"},
        "driverVersion": {"version": "580.95.5"},
        "resource.kubernetes.io/pcieRoot": {"string": f"pci0000:{index // 2:02x}"},
        **more.pop("attributes", {}),
    }
    capacity = {"memory": {"value": more.pop("memory", "81559Mi")}}
    name = more.pop("name", f"gpu-{index}")
    return {"name": name, "attributes": attributes, "capacity": capacity, **more}


def _counters(memory: str, processors: int, slots: range) -> Json:
    named = {"memory": {"value": memory}, "multiprocessors": {"value": str(processors)}}
    return named | {f"memory-slice-{slot}": {"value": "1"} for slot in slots}


def _mig_slices(node: str) -> list[Json]:
    sets, devices = [], []
    for index in range(8):
        name = f"gpu-{index}-counters"
        everything = _counters("81152Mi", 132, range(8))
        sets.append({"name": name, "counters": everything})
        uses = [{"counterSet": name, "counters": everything}]
        devices.append(_card(node, index, memory="81152Mi", consumesCounters=uses))
        devices += _partitions(node, index, name)
    parts = [devices[at : at + _SLICE] for at in range(0, len(devices), _SLICE)]
    count = len(parts) + 1
    return [
        _slice(node, 0, count, {"sharedCounters": sets}),
        *(_slice(node, 1 + i, count, {"devices": p}) for i, p in enumerate(parts)),
    ]


def _partitions(node: str, index: int, counter_set: str) -> list[Json]:
    made = []
    for profile, (memory, size, processors, starts) in _PROFILES.items():
        for start in starts:
            counters = _counters(memory, processors, range(start, start + size))
            attributes = {
                "type": {"string": "mig"},
                "profile": {"string": profile},
                "parentUUID": {"string": f"GPU-{node}-{index}"},
                "uuid": {"string": f"MIG-{node}-{index}-{profile}-{start}"},
            }
            made.append(
                _card(
                    node,
                    index,
                    name=f"gpu-{index}-mig-{profile.replace('.', '-')}-{start}",
                    memory=memory,
                    attributes=attributes,
                    consumesCounters=[
                        {"counterSet": counter_set, "counters": counters}
                    ],
                )
            )
    return made


def _holder(node: str, index: int) -> Json:
    result = {"request": "r", "driver": DRIVER, "pool": node, "device": f"gpu-{index}"}
    metadata = {"name": f"held-{node}-{index}", "namespace": "load"}
    metadata["uid"] = metadata["name"]
    status = {"allocation": {"devices": {"results": [result]}}}
    return _object(
        "resource.k8s.io/v1",
        "ResourceClaim",
        metadata,
        spec={"devices": {}},
        status=status,
    )


def _class(kind: str) -> Json:
    expression = (
        f'device.driver == "{DRIVER}" && device.attributes["{DRIVER}"].type == "{kind}"'
    )
    spec = {"selectors": [{"cel": {"expression": expression}}]}
    metadata = {"name": f"{kind}.nvidia.com"}
    return _object("resource.k8s.io/v1", "DeviceClass", metadata, spec=spec)


def _sub(name: str, kind: str, count: int, expression: str) -> Json:
    return {
        "name": name,
        "deviceClassName": f"{kind}.nvidia.com",
        "allocationMode": "ExactCount",
        "count": count,
        "selectors": [{"cel": {"expression": expression}}],
    }


def _claim() -> Json:
    of = f'device.attributes["{DRIVER}"]'
    hopper = (
        f'{of}.architecture == "Hopper" && {of}.driverVersion.isGreaterThan(semver("580.0.0"))'
        f' && device.capacity["{DRIVER}"].memory.compareTo(quantity("79Gi")) >= 0'
    )
    request = {
        "name": "gpus",
        "firstAvailable": [
            _sub("cards", "gpu", 2, hopper),
            _sub("halves", "mig", 4, f'{of}.profile == "3g.40gb"'),
            _sub("small", "mig", 8, f'{of}.profile == "1g.10gb"'),
        ],
    }
    constraints = [
        {
            "requests": ["gpus/cards"],
            "matchAttribute": "resource.kubernetes.io/pcieRoot",
        },
        {"requests": ["gpus/halves"], "distinctAttribute": f"{DRIVER}/parentUUID"},
    ]
    spec = {"devices": {"requests": [request], "constraints": constraints}}
    metadata = {"name": "asked", "namespace": "load", "uid": "asked"}
    return _object("resource.k8s.io/v1", "ResourceClaim", metadata, spec=spec)

"""Problems for the engine: recorded ones as requests, and small ones made here."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from inventory.domain.engine import Row

Json = dict[str, Any]

VECTORS = Path(__file__).parents[1] / "data" / "vectors"
GPU = "gpu.nvidia.com"
NO_SHARE = "00000000-0000-0000-0000-000000000000"
GATES = (
    "DRAAdminAccess",
    "DRAConsumableCapacity",
    "DRADeviceBindingConditions",
    "DRADeviceTaints",
    "DRADeviceTaintRules",
    "DRAPartitionableDevices",
    "DRAPrioritizedList",
)


def vectors(name: str, version: str = "") -> Iterator[Json]:
    """Yield the problems of a recorded file, those of one Kubernetes minor if given."""
    sign = f'"kubernetesVersion":"{version}"' if version else ""
    with gzip.open(VECTORS / f"{name}.jsonl.gz", "rt") as lines:
        for line in lines:
            if sign in line:
                yield orjson.loads(line)


def row(kind: str, body: Json | None, name: str = "") -> Row:
    """Return an object as a row."""
    metadata = (body or {}).get("metadata", {})
    return Row(kind, metadata.get("namespace", ""), name or metadata["name"], body)


def problem_rows(problem: Json) -> list[Row]:
    """Return a recorded problem's objects; doubled names are kept apart."""
    kinds = {
        "classes": "DeviceClass",
        "slices": "ResourceSlice",
        "nodes": "Node",
        "allocated": "ResourceClaim",
    }
    found: dict[tuple[str, str, str], Row] = {}
    for key, kind in kinds.items():
        for body in problem.get(key) or []:
            each = row(kind, body)
            name = each.name
            while (kind, each.namespace, name) in found:
                name += "~"
            found[kind, each.namespace, name] = Row(kind, each.namespace, name, body)
    return [*found.values(), *(row("ResourceClaim", c) for c in _holders(problem))]


def _holders(problem: Json) -> Iterator[Json]:
    """Yield claims that hold what a problem says is allocated.

    Consumed capacity without a share is held by a share of its own.
    """
    capacity = dict(problem.get("allocatedCapacity") or {})
    held: list[Json] = [
        _device(device) for device in problem.get("allocatedDevices") or []
    ]
    for text in problem.get("allocatedShares") or []:
        device, _slash, share = text.rpartition("/")
        consumed = capacity.pop(device, {})
        held.append(_device(device, shareID=share, consumedCapacity=consumed))
    for device, consumed in capacity.items():
        held.append(_device(device, shareID=NO_SHARE, consumedCapacity=consumed))
    for number, result in enumerate(held):
        yield allocated_claim(f"holder-{number}", [result])


def _device(text: str, **more: Any) -> Json:
    driver, pool, device = text.split("/")
    return {"request": "r", "driver": driver, "pool": pool, "device": device, **more}


def allocated_claim(name: str, results: list[Json], **allocation: Any) -> Json:
    """Return a claim that holds devices."""
    return {
        "metadata": {"name": name, "namespace": "holders"},
        "spec": {},
        "status": {"allocation": {"devices": {"results": results}, **allocation}},
    }


def outcome(answer: Json) -> str:
    """Return what a recorded answer for one node is called by the engine."""
    if answer.get("error"):
        return "error"
    if answer.get("nodeError"):
        return "node-error"
    return "no" if answer["results"] is None else "fits"


@dataclass(frozen=True)
class Said:
    """A compiler's error as the engine words it, and its first place."""

    text: str | None
    line: int | None
    column: int | None


def said(recorded: str) -> Said:
    """Return a recorded compiler error with its marks read out of it."""
    text = re.sub(r"\n \| .*", "", recorded)
    first = re.match(r"compilation failed: ERROR: <input>:(\d+):(\d+): ", text)
    if not first:
        return Said(text or None, None, None)
    text = text[first.end() :]
    text = re.sub(r"(?m)^ERROR: <input>:(\d+:\d+): ", r"\1: ", text)
    return Said(text, int(first[1]), int(first[2]))


# Small clusters of our own


def node(name: str, **labels: str) -> Json:
    """Return a Node."""
    return {"metadata": {"name": name, "labels": labels}}


def device(name: str, **attributes: Any) -> Json:
    """Return a device; values are str, int or bool, memory is a capacity."""
    memory = attributes.pop("memory", None)
    kinds = {str: "string", bool: "bool", int: "int"}
    body: Json = {"name": name}
    body["attributes"] = {k: {kinds[type(v)]: v} for k, v in attributes.items()}
    if memory:
        body["capacity"] = {"memory": {"value": memory}}
    return body


def resource_slice(
    name: str, devices: list[Json], *, pool: str = "", generation: int = 1, **where: Any
) -> Json:
    """Return a ResourceSlice, by default of a node's own pool of one slice."""
    where = where or {"nodeName": name}
    of = {"name": pool or name, "generation": generation, "resourceSliceCount": 1}
    return {
        "metadata": {"name": name},
        "spec": {"driver": GPU, "pool": of, "devices": devices, **where},
    }


def device_class(name: str, *expressions: str) -> Json:
    """Return a DeviceClass."""
    selectors = [{"cel": {"expression": expression}} for expression in expressions]
    return {"metadata": {"name": name}, "spec": {"selectors": selectors}}


def claim(*requests: Json, name: str = "claim", **devices: Any) -> Json:
    """Return a ResourceClaim of requests."""
    return {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"devices": {"requests": list(requests), **devices}},
    }


def exactly(name: str, device_class_name: str, count: int = 1, **more: Any) -> Json:
    """Return a request for so many devices of a class."""
    wanted = {"deviceClassName": device_class_name, "allocationMode": "ExactCount"}
    return {"name": name, "exactly": {**wanted, "count": count, **more}}


def first_available(name: str, *classes: str) -> Json:
    """Return a request for one device of the first class that has one."""
    return {
        "name": name,
        "firstAvailable": [
            {
                "name": f"try-{at}",
                "deviceClassName": each,
                "allocationMode": "ExactCount",
                "count": 1,
            }
            for at, each in enumerate(classes)
        ],
    }


def two_nodes() -> list[Row]:
    """Return a big and a small node: two 80 GiB cards, and two 24 GiB ones."""
    big = [device(f"gpu-{i}", type="gpu", index=i, memory="80Gi") for i in (0, 1)]
    small = [device(f"gpu-{i}", type="gpu", index=i, memory="24Gi") for i in (0, 1)]
    compare = 'device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("40Gi"))'
    return [
        row("Node", node("big", zone="a")),
        row("Node", node("small", zone="b")),
        row("ResourceSlice", resource_slice("big", big)),
        row("ResourceSlice", resource_slice("small", small)),
        row("DeviceClass", device_class("any", f'device.driver == "{GPU}"')),
        row("DeviceClass", device_class("large", f"{compare} >= 0")),
    ]

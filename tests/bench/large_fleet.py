"""Write a large fleet as kubectl prints it: `python -m tests.bench.large_fleet > fleet.json`.

2,000 ResourceSlices of 20 devices each, about 19 MB, with nodes, classes and
claims that hold a part of the cards. Always the same bytes for the same numbers.
"""

from __future__ import annotations

import argparse
import random
import sys
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]

DRIVER = "gpu.nvidia.com"
MODELS = [
    ("NVIDIA H100 80GB HBM3", "Hopper", "9.0.0", "81559Mi"),
    ("NVIDIA L40S", "Ada Lovelace", "8.9.0", "46068Mi"),
]


def objects(slices: int, per_slice: int, fill: int, seed: int = 7) -> Iterator[Json]:
    """Yield the objects of a fleet.

    Args:
        slices: how many, one a node.
        per_slice: devices in each.
        fill: percent of the devices that claims hold.
        seed: of what is held.
    """
    chance = random.Random(seed)
    yield _class("gpu.nvidia.com", "gpu")
    yield _class("mig.nvidia.com", "mig")
    for number in range(slices):
        name = f"node-{number:05d}"
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        }
        yield _slice(name, number, per_slice)
        for place in range(per_slice):
            if chance.randrange(100) < fill:
                yield _claim(name, place, chance.choice(["orchid", "maple"]))


def _class(name: str, kind: str) -> Json:
    text = (
        f'device.driver == "{DRIVER}" && device.attributes["{DRIVER}"].type == "{kind}"'
    )
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": text}}]},
    }


def _slice(node: str, number: int, per_slice: int) -> Json:
    model = MODELS[number % len(MODELS)]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-0"},
        "spec": {
            "driver": DRIVER,
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": [_device(node, place, model) for place in range(per_slice)],
        },
    }


def _device(node: str, place: int, model: tuple[str, str, str, str]) -> Json:
    product, architecture, capability, memory = model
    return {
        "name": f"gpu-{place}",
        "attributes": {
            "uuid": {"string": f"GPU-{node}-{place}"},
            "productName": {"string": product},
            "brand": {"string": "Nvidia"},
            "architecture": {"string": architecture},
            "cudaComputeCapability": {"version": capability},
            "driverVersion": {"version": "580.95.5"},
            "type": {"string": "gpu"},
            "resource.kubernetes.io/pcieRoot": {"string": f"pci0000:{place // 2:02x}"},
        },
        "capacity": {"memory": {"value": memory}},
    }


def _claim(node: str, place: int, namespace: str) -> Json:
    result = {
        "request": "gpu",
        "driver": DRIVER,
        "pool": node,
        "device": f"gpu-{place}",
    }
    exactly = {"deviceClassName": DRIVER, "allocationMode": "ExactCount", "count": 1}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": f"{node}-{place}", "namespace": namespace},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}},
        "status": {"allocation": {"devices": {"results": [result]}}},
    }


def document(slices: int = 2_000, per_slice: int = 20, fill: int = 0) -> bytes:
    """Return the fleet as one JSON List."""
    items = list(objects(slices, per_slice, fill))
    return orjson.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def main() -> None:
    """Write the fleet that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slices", type=int, default=2_000)
    parser.add_argument("--devices", type=int, default=20, help="in each slice")
    parser.add_argument("--fill", type=int, default=0, help="percent that is held")
    given = parser.parse_args()
    sys.stdout.buffer.write(document(given.slices, given.devices, given.fill))


if __name__ == "__main__":
    main()

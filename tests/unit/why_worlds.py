"""Small worlds for tests of reasons."""

from __future__ import annotations

from claims.domain.checks.asks import asked_of
from claims.domain.checks.world import build_world
from claims.domain.why.ground import Ground
from claims.domain.why.reasons import AskSets, Part, Scale

DRIVER = "gpu.nvidia.com"
GATES = (
    "DRAConsumableCapacity",
    "DRAPartitionableDevices",
    "DRADeviceTaints",
    "DRADeviceTaintRules",
)


def node(name, **labels):
    return {"kind": "Node", "metadata": {"name": name, "labels": labels}}


def device_class(name=DRIVER):
    return {"kind": "DeviceClass", "metadata": {"name": name}, "spec": {}}


def device(name, *, memory="80Gi", **more):
    return {
        "name": name,
        "attributes": {"type": {"string": "gpu"}, **more.pop("attributes", {})},
        "capacity": {"memory": {"value": memory}, **more.pop("capacity", {})},
        **more,
    }


def resource_slice(name, *devices, pool="p", count=1, generation=1, **spec):
    if not {"nodeName", "allNodes", "nodeSelector", "perDeviceNodeSelection"} & set(
        spec
    ):
        spec["nodeName"] = "n"
    body = {
        "driver": DRIVER,
        "pool": {"name": pool, "generation": generation, "resourceSliceCount": count},
        "devices": list(devices),
        **spec,
    }
    return {"kind": "ResourceSlice", "metadata": {"name": name}, "spec": body}


def held(name, device_name, *, namespace="t", pool="p", **more):
    result = {"request": "r", "driver": DRIVER, "pool": pool, "device": device_name}
    return {
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": namespace},
        "status": {"allocation": {"devices": {"results": [{**result, **more}]}}},
    }


def ground(*objects, minor=37, gates=GATES):
    return Ground(build_world([node("n"), *objects], minor=minor, gates=gates))


def asked(*requests, constraints=()):
    devices = {"requests": list(requests), "constraints": list(constraints)}
    return asked_of({"kind": "ResourceClaim", "spec": {"devices": devices}})


def exact(name="gpu", **body):
    return {"name": name, "exactly": {"deviceClassName": DRIVER, **body}}


def sets(known, *parts):
    """Return the sets of an ask: all devices of the class, then (path, text, left)."""
    every = frozenset(known.world.devices)
    return AskSets(
        every,
        tuple(
            Part(number, f"s[{number - 1}]", text, (key,), frozenset(left))
            for number, (key, text, left) in enumerate(parts, start=1)
        ),
    )


def reason(known, claim, *parts, on="n", at=0):
    """Return an ask's reason; the bare one must say the same without the rest."""
    scale = Scale(claim.asks[at], claim, sets(known, *parts), known)
    found, bare = scale.reason(on), scale.bare_reason(on)
    assert (bare.reachable, bare.of_class, bare.left) == (
        found.reachable,
        found.of_class,
        found.left,
    )
    assert losses(bare) == losses(found)
    assert scale.bare_reason(on) is bare
    return found


def losses(found):
    return [(loss.cause.value, loss.detail, loss.count) for loss in found.losses]

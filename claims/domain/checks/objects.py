"""What is odd about a cluster's other objects: pools, devices, claims, workloads."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from claims.domain.checks.admin import LABEL
from claims.domain.checks.claims import dropped
from claims.domain.checks.classes import clash_findings
from claims.domain.checks.findings import Finding, ObjectFinding
from claims.domain.checks.queueing import queued_findings
from claims.domain.checks.workloads import claim_users, workload_findings
from claims.domain.checks.world import name_of, namespace_of, selector_of
from claims.domain.follow import is_implicit
from inventory.domain.cards import PARTITION_TYPES
from inventory.domain.gpus import DeviceFacts, is_gpu, pci_address

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from claims.domain.checks.world import World
    from inventory.domain.parse import DeviceValue, PoolValue

Json = dict[str, Any]


def cluster_findings(world: World) -> Iterator[ObjectFinding]:
    """Yield findings on everything but the items of a file."""
    yield from pool_findings(world)
    yield from device_findings(world)
    yield from _taint_rules(world)
    yield from _namespaces(world)
    yield from claim_findings(world.objects.get("ResourceClaim", []))
    yield from _extended_pods(world)
    yield from workload_findings(world)
    yield from claim_users(world)
    yield from queued_findings(world)
    yield from clash_findings(world)


def pool_findings(world: World) -> Iterator[ObjectFinding]:
    """Yield pools that cannot be used, or not fully."""
    for pool in world.pools:
        code, _colon, detail = pool.problem.partition(": ")
        unused = "" if code else _unused(pool, world)
        if not code and not unused:
            continue
        values = {
            "driver": pool.driver,
            "pool": pool.name,
            "detail": detail or unused,
            "seen": pool.seen_slice_count,
            "expected": pool.expected_slice_count,
            "generation": pool.generation,
        }
        variant = _variant(code, detail) if code else "unused"
        finding = Finding(
            code or "pool.invalid_counterset", "spec.pool", values, variant
        )
        yield ObjectFinding("ResourceSlice", "", f"{pool.driver}/{pool.name}", finding)


def _variant(code: str, detail: str) -> str:
    """Return which sentence a problem of a pool has; see `inventory.domain.parse`."""
    if code != "pool.invalid_counterset":
        return ""
    return "twice" if ", " in detail else "counter" if "/" in detail else ""


def _unused(pool: PoolValue, world: World) -> str:
    """Return the counter sets of a complete pool that no device consumes."""
    key = (pool.driver, pool.name)
    if "DRAPartitionableDevices" not in world.gates:
        return ""
    used = {
        str(item.get("counterSet"))
        for device_id in world.by_pool.get(key, ())
        for item in world.devices[device_id].consumes_counters
    }
    return ", ".join(sorted(world.counters.get(key, {}).keys() - used))


def device_findings(world: World) -> Iterator[ObjectFinding]:
    """Yield what device rows hide."""
    for ids in world.by_pool.values():
        yield from _double(ids, world)
        yield from _unknown_memory(ids, world)
    yield from _siblings(world)
    for device_id, holds in sorted(world.holds.items()):
        if device_id not in world.devices:
            for hold in holds:
                values = {"device": device_id}
                finding = Finding("device.unpublished", "status.allocation", values)
                yield ObjectFinding("ResourceClaim", hold.namespace, hold.name, finding)


def _double(ids: list[str], world: World) -> Iterator[ObjectFinding]:
    """Yield whole GPUs published beside their partitions without counters."""
    devices = [world.devices[device_id] for device_id in ids]
    children = {
        parent
        for device in devices
        if not device.consumes_counters
        and (parent := _text(device, f"{device.driver}/parentUUID"))
    }
    for device in devices:
        uuid = _text(device, f"{device.driver}/uuid")
        if uuid in children and not device.consumes_counters:
            yield _about(
                device, Finding("mig.double_advertised", "", {"device": device.name})
            )


def _unknown_memory(ids: list[str], world: World) -> Iterator[ObjectFinding]:
    for device_id in ids:
        device = world.devices[device_id]
        row = _row(device)
        of_gpu = is_gpu(row) and row.attribute("type") != "vfio"
        if of_gpu and device.memory_bytes is None:
            yield _about(
                device, Finding("device.memory_unknown", "", {"device": device.name})
            )


def _row(device: DeviceValue) -> DeviceFacts:
    """Return a device as cards are derived from it."""
    return DeviceFacts(
        device.driver,
        device.pool,
        device.name,
        device.node_name,
        device.attributes,
        device.capacity,
        device.consumes_counters,
    )


def _siblings(world: World) -> Iterator[ObjectFinding]:
    """Yield devices that are free, but another face of whose card is held.

    Faces are whole: a GPU, its passthrough device, the same card by another
    driver. Partitions and their parent are no faces, and counters keep apart.
    """
    cards: dict[tuple[str, str], list[str]] = defaultdict(list)
    for device_id, device in world.devices.items():
        row = _row(device)
        bus = pci_address(row) if is_gpu(row) else ""
        whole = row.attribute("type") not in PARTITION_TYPES
        if bus and whole and not device.consumes_counters:
            cards[device.node_name or device.pool, bus].append(device_id)
    for ids in cards.values():
        held = [i for i in ids if world.is_held(i)]
        if len(ids) == 1 or not held:
            continue
        for device_id in ids:
            if not world.is_held(device_id):
                device = world.devices[device_id]
                values = {"device": device.name, "sibling": held[0].rpartition("/")[2]}
                yield _about(device, Finding("device.sibling_in_use", "", values))


def _text(device: DeviceValue, key: str) -> str:
    value = device.attributes.get(key)
    return str(value.get("string") or "") if isinstance(value, dict) else ""


def _about(device: DeviceValue, finding: Finding) -> ObjectFinding:
    return ObjectFinding("ResourceSlice", "", device.slice_name, finding)


# Field of a device, of its capacity, or of a slice's spec → the gate without which
# it is dropped. Source: k8s.io/kubernetes pkg/registry/resource/resourceslice.
_DEVICE_FIELDS = {
    "taints": "DRADeviceTaints",
    "allowMultipleAllocations": "DRAConsumableCapacity",
    "consumesCounters": "DRAPartitionableDevices",
    "nodeName": "DRAPartitionableDevices",
    "nodeSelector": "DRAPartitionableDevices",
    "allNodes": "DRAPartitionableDevices",
    "bindsToNode": "DRADeviceBindingConditions",
    "bindingConditions": "DRADeviceBindingConditions",
    "bindingFailureConditions": "DRADeviceBindingConditions",
}
_CAPACITY_FIELDS = {"requestPolicy": "DRAConsumableCapacity"}
_SLICE_FIELDS = {
    "sharedCounters": "DRAPartitionableDevices",
    "perDeviceNodeSelection": "DRAPartitionableDevices",
    "partitionTypeAttribute": "DRAPartitionableDevicesType",
    "skipNodeOperations": "DRAOptionalNodeOperations",
}


def dropped_of_slices(objects: Iterable[Json], world: World) -> Iterator[ObjectFinding]:
    """Yield fields that the server drops from slices that are to be written."""
    for body in objects:
        spec = body.get("spec")
        if body.get("kind") != "ResourceSlice" or not isinstance(spec, dict):
            continue
        seen = set()
        for path, holder, fields in _gated(spec):
            for name, gate in fields.items():
                if holder.get(name) and gate not in world.gates and name not in seen:
                    seen.add(name)
                    finding = dropped(f"{path}.{name}", gate, world)
                    yield ObjectFinding("ResourceSlice", "", name_of(body), finding)


def _gated(spec: Json) -> Iterator[tuple[str, Json, dict[str, str]]]:
    """Yield (path, object, its fields with gates) of all that a slice's spec holds."""
    yield "spec", spec, _SLICE_FIELDS
    for i, device in enumerate(spec.get("devices") or []):
        if not isinstance(device, dict):
            continue
        path = f"spec.devices[{i}]"
        yield path, device, _DEVICE_FIELDS
        capacities = device.get("capacity")
        for key, value in capacities.items() if isinstance(capacities, dict) else ():
            if isinstance(value, dict):
                yield f"{path}.capacity[{key}]", value, _CAPACITY_FIELDS


def _taint_rules(world: World) -> Iterator[ObjectFinding]:
    for body in world.objects.get("DeviceTaintRule", []):
        selector = selector_of(body, world.minor)
        # A field that is left blank is null, which is as if it were left out.
        if selector is not None and all(
            value is None or value == [] for value in selector.values()
        ):
            values = {"count": len(world.devices)}
            finding = Finding("taint.selects_all", "spec.deviceSelector", values)
            yield ObjectFinding("DeviceTaintRule", "", name_of(body), finding)


def _namespaces(world: World) -> Iterator[ObjectFinding]:
    for body in world.objects.get("Namespace", []):
        labels = (body.get("metadata") or {}).get("labels") or {}
        if labels.get(LABEL) == "true":
            values = {"namespace": name_of(body), "label": LABEL}
            finding = Finding(
                "admin.label_appeared", f"metadata.labels[{LABEL}]", values
            )
            yield ObjectFinding("Namespace", "", name_of(body), finding)


def claim_findings(claims: Iterable[Json]) -> Iterator[ObjectFinding]:
    """Yield claims that wait for a finalizer, hold devices unused, or are implicit."""
    for body in claims:
        metadata, status = body.get("metadata") or {}, body.get("status") or {}
        where = ("ResourceClaim", namespace_of(body), name_of(body))
        if metadata.get("deletionTimestamp"):
            yield ObjectFinding(*where, _deleting(metadata, status))
        if is_implicit({"metadata": metadata}):
            yield ObjectFinding(*where, Finding("claim.extended"))
        if status.get("allocation") and not status.get("reservedFor"):
            results = (status["allocation"].get("devices") or {}).get("results") or []
            yield ObjectFinding(
                *where, Finding("claim.idle", "", {"count": len(results)})
            )


def _extended_pods(world: World) -> Iterator[ObjectFinding]:
    """Yield pods whose devices come from a claim that the scheduler made."""
    for body in world.objects.get("Pod", []):
        extended = (body.get("status") or {}).get("extendedResourceClaimStatus") or {}
        if extended.get("resourceClaimName"):
            values = {"claim": extended["resourceClaimName"]}
            finding = Finding(
                "claim.extended", "status.extendedResourceClaimStatus", values, "pod"
            )
            yield ObjectFinding("Pod", namespace_of(body), name_of(body), finding)


def _deleting(metadata: Json, status: Json) -> Finding:
    users = [str(user.get("name")) for user in status.get("reservedFor") or []]
    values = {
        "finalizers": ", ".join(map(str, metadata.get("finalizers") or [])),
        "users": ", ".join(users),
    }
    variant = "users" if users else ""
    return Finding("claim.deleting", "metadata.deletionTimestamp", values, variant)

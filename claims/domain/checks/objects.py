"""What is odd about a cluster's other objects: pools, devices, claims, workloads."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from claims.domain.checks.admin import LABEL
from claims.domain.checks.classes import clash_findings
from claims.domain.checks.findings import Finding, ObjectFinding
from claims.domain.checks.world import name_of, namespace_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claims.domain.checks.world import World
    from inventory.domain.parse import DeviceValue

Json = dict[str, Any]

MOST_RESERVED = 256
LONGEST_LABEL = 63
_WORKLOADS = ("Deployment", "StatefulSet", "ReplicaSet", "Job", "CronJob", "DaemonSet")
_BUS = "resource.kubernetes.io/pciBusID"


def cluster_findings(world: World) -> Iterator[ObjectFinding]:
    """Yield findings on everything but the items of a file."""
    yield from pool_findings(world)
    yield from device_findings(world)
    yield from _taint_rules(world)
    yield from _namespaces(world)
    yield from claim_findings(world)
    yield from workload_findings(world)
    for body in world.classes().values():
        for finding in clash_findings(body, world):
            yield ObjectFinding("DeviceClass", "", name_of(body), finding)


def pool_findings(world: World) -> Iterator[ObjectFinding]:
    """Yield pools that cannot be used, or not fully."""
    for pool in world.pools:
        code, _colon, detail = pool.problem.partition(": ")
        if not code:
            continue
        values = {
            "driver": pool.driver,
            "pool": pool.name,
            "detail": detail,
            "seen": pool.seen_slice_count,
            "expected": pool.expected_slice_count,
            "generation": pool.generation,
        }
        finding = Finding(code, "spec.pool", values)
        yield ObjectFinding("ResourceSlice", "", f"{pool.driver}/{pool.name}", finding)


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
        looks_like = _text(device, f"{device.driver}/type") in {
            "gpu",
            "mig",
            "hami-gpu",
            "amdgpu",
        }
        if looks_like and device.memory_bytes is None:
            yield _about(
                device, Finding("device.memory_unknown", "", {"device": device.name})
            )


def _siblings(world: World) -> Iterator[ObjectFinding]:
    """Yield devices that are free, but another face of whose card is held."""
    cards: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for device_id, device in world.devices.items():
        bus = _text(device, _BUS)
        if bus:
            cards[device.driver, device.pool, bus].append(device_id)
    for ids in cards.values():
        kinds = {
            _text(world.devices[i], f"{world.devices[i].driver}/type") for i in ids
        }
        held = [i for i in ids if world.is_held(i)]
        if "vfio" not in kinds or len(ids) == 1 or not held:
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


def _taint_rules(world: World) -> Iterator[ObjectFinding]:
    for body in world.objects.get("DeviceTaintRule", []):
        spec = body.get("spec") or {}
        if spec.get("deviceSelector") == {}:
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


def claim_findings(world: World) -> Iterator[ObjectFinding]:
    """Yield claims that wait for a finalizer, hold devices unused, or are implicit."""
    for body in world.objects.get("ResourceClaim", []):
        metadata, status = body.get("metadata") or {}, body.get("status") or {}
        where = ("ResourceClaim", namespace_of(body), name_of(body))
        if metadata.get("deletionTimestamp"):
            yield ObjectFinding(*where, _deleting(metadata, status))
        if _is_extended(metadata):
            yield ObjectFinding(*where, Finding("claim.extended"))
        if status.get("allocation") and not status.get("reservedFor"):
            results = (status["allocation"].get("devices") or {}).get("results") or []
            yield ObjectFinding(
                *where, Finding("claim.idle", "", {"count": len(results)})
            )
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


def _is_extended(metadata: Json) -> bool:
    annotations = metadata.get("annotations") or {}
    return annotations.get("resource.kubernetes.io/extended-resource-claim") == "true"


def workload_findings(world: World) -> Iterator[ObjectFinding]:
    """Yield names that pods cannot have, and claims shared by too many pods."""
    for kind in ("Pod", *_WORKLOADS):
        for body in world.objects.get(kind, []):
            where = (kind, namespace_of(body), name_of(body))
            spec, path = _pod_spec(body, kind)
            for i, entry in enumerate(spec.get("resourceClaims") or []):
                for finding in _entry(entry, f"{path}.resourceClaims[{i}]", body, kind):
                    yield ObjectFinding(*where, finding)


def _pod_spec(body: Json, kind: str) -> tuple[Json, str]:
    steps = {
        "Pod": ["spec"],
        "CronJob": ["spec", "jobTemplate", "spec", "template", "spec"],
    }
    node: Any = body
    path = steps.get(kind, ["spec", "template", "spec"])
    for step in path:
        node = node.get(step) if isinstance(node, dict) else None
    return (node if isinstance(node, dict) else {}), ".".join(path)


def _entry(entry: Any, path: str, body: Json, kind: str) -> Iterator[Finding]:
    if not isinstance(entry, dict):
        return
    name = str(entry.get("name", ""))
    if len(name) > LONGEST_LABEL:
        values = {"name": name, "length": len(name), "limit": LONGEST_LABEL}
        yield Finding("name.too_long", f"{path}.name", values)
    pods = _pods(body.get("spec") or {}, kind)
    if entry.get("resourceClaimName") and pods > MOST_RESERVED:
        values = {
            "claim": entry["resourceClaimName"],
            "pods": pods,
            "limit": MOST_RESERVED,
        }
        yield Finding("claim.reserved_for_limit", f"{path}.resourceClaimName", values)


def _pods(spec: Json, kind: str) -> int:
    """Return how many pods a workload runs at once, as far as it says so."""
    if kind == "Job":
        count = spec.get("parallelism", 1)
    elif kind == "CronJob":
        count = ((spec.get("jobTemplate") or {}).get("spec") or {}).get(
            "parallelism", 1
        )
    else:
        count = spec.get("replicas", 1)
    return count if isinstance(count, int) else 1

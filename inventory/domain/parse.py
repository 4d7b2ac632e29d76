"""Kubernetes JSON → the values that the inventory searches.

ResourceSlices of one pool → a Pool and its Devices; a ResourceClaim → its
Allocations. Input is what the API server accepts, but also what a hostile
driver or a cut-off file holds: a field of the wrong type is skipped.
Source: resource.k8s.io/v1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from inventory.domain.quantity import BadQuantity, parse_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]

_MAX_BIGINT = 2**63 - 1


@dataclass(frozen=True, slots=True)
class PoolValue:
    """A pool at its newest generation. `problem` is `code: detail`, or empty."""

    driver: str
    name: str
    generation: int
    expected_slice_count: int
    seen_slice_count: int
    node_name: str
    verdict: str
    problem: str


class DeviceValue(NamedTuple):
    """A device as published, its attribute and capacity keys with their domain."""

    driver: str
    pool: str
    name: str
    slice_name: str
    node_name: str
    attributes: Json
    capacity: Json
    consumes_counters: list[Json]
    taints: list[Json]
    allow_multiple_allocations: bool
    memory_bytes: int | None


@dataclass(frozen=True, slots=True)
class AllocationValue:
    """One device, or one share of it, that a claim holds."""

    device_request: str
    driver: str
    pool: str
    device: str
    share_id: str
    consumed_capacity: Json = field(default_factory=dict)
    admin_access: bool = False


def pool_key(slice_body: Json) -> str:
    """Return `driver/pool` of a ResourceSlice, the key that its pool is found by."""
    spec = _dict(slice_body.get("spec"))
    return f"{spec.get('driver', '')}/{_dict(spec.get('pool')).get('name', '')}"


def parse_pool(
    slices: list[Json], *, combined_allowed: bool
) -> tuple[PoolValue, list[DeviceValue]]:
    """Return a pool and its devices from all its slices, of any generation.

    Args:
        slices: at least one ResourceSlice, all of one driver and pool.
        combined_allowed: whether a slice may hold counters and devices both
            (Kubernetes 1.34 only).
    """
    newest = max(_generation(body) for body in slices)
    current = sorted(
        (body for body in slices if _generation(body) == newest),
        key=lambda body: str(_dict(body.get("metadata")).get("name", "")),
    )
    spec = _dict(current[0].get("spec"))
    driver = str(spec.get("driver", ""))
    name = str(_dict(spec.get("pool")).get("name", ""))
    devices = [device for body in current for device in _devices(body, driver, name)]
    expected = _int(_dict(spec.get("pool")).get("resourceSliceCount"))
    verdict, problem = _verdict(current, devices, combined_allowed=combined_allowed)
    node_names = {_node_of(body) for body in current}
    node = node_names.pop() if len(node_names) == 1 else ""
    pool = PoolValue(
        driver, name, newest, expected, len(current), node, verdict, problem
    )
    return pool, devices


def parse_allocations(claim: Json) -> list[AllocationValue]:
    """Return what a ResourceClaim holds, in the order of its allocation results."""
    allocation = _dict(_dict(claim.get("status")).get("allocation"))
    results = _dicts(_dict(allocation.get("devices")).get("results"))
    return [
        AllocationValue(
            device_request=str(result.get("request", "")),
            driver=str(result.get("driver", "")),
            pool=str(result.get("pool", "")),
            device=str(result.get("device", "")),
            share_id=str(result.get("shareID") or ""),
            consumed_capacity=_dict(result.get("consumedCapacity")),
            admin_access=bool(result.get("adminAccess")),
        )
        for result in results
    ]


def _verdict(
    slices: list[Json], devices: list[DeviceValue], *, combined_allowed: bool
) -> tuple[str, str]:
    """Return (complete|incomplete|invalid, "code: detail") of a newest generation."""
    problem = (
        _inconsistent(slices)
        or _duplicate(devices)
        or (None if combined_allowed else _combined(slices))
        or _bad_counters(slices, devices, combined_allowed=combined_allowed)
    )
    if problem:
        return "invalid", problem
    spec = _dict(slices[0].get("spec"))
    expected = _int(_dict(spec.get("pool")).get("resourceSliceCount"))
    if len(slices) != expected:
        return "incomplete", f"pool.incomplete: {len(slices)}/{expected}"
    return "complete", ""


def _inconsistent(slices: list[Json]) -> str | None:
    counts = {
        _int(_dict(_dict(body.get("spec")).get("pool")).get("resourceSliceCount"))
        for body in slices
    }
    if len(counts) > 1:
        return f"pool.inconsistent_count: {', '.join(map(str, sorted(counts)))}"
    return None


def _duplicate(devices: list[DeviceValue]) -> str | None:
    seen: set[str] = set()
    for device in devices:
        if device.name in seen:
            return f"pool.duplicate_device: {device.name}"
        seen.add(device.name)
    return None


def _combined(slices: list[Json]) -> str | None:
    for body in slices:
        spec = _dict(body.get("spec"))
        if spec.get("sharedCounters") and spec.get("devices"):
            return f"pool.combined_slice: {_dict(body.get('metadata')).get('name', '')}"
    return None


def _bad_counters(
    slices: list[Json], devices: list[DeviceValue], *, combined_allowed: bool
) -> str | None:
    """Return `SET` or `SET/COUNTER` that is consumed and not there, `SET, SET` if twice.

    Source: k8s.io/dynamic-resource-allocation getAndValidateCounterSets,
    validateDeviceCounterConsumption; on 1.34 each slice has sets of its own.
    """
    expected = _int(
        _dict(_dict(slices[0].get("spec")).get("pool")).get("resourceSliceCount")
    )
    # While slices are missing, the set may be in one of them.
    if len(slices) < expected:
        return None
    known: dict[str, set[str]] = {}
    for body in slices:
        for shared in _dicts(_dict(body.get("spec")).get("sharedCounters")):
            name = str(shared.get("name"))
            if name in known and not combined_allowed:
                return f"pool.invalid_counterset: {name}, {name}"
            known.setdefault(name, set()).update(_dict(shared.get("counters")))
    return _unknown_counters(devices, known)


def _unknown_counters(
    devices: list[DeviceValue], known: dict[str, set[str]]
) -> str | None:
    for device in devices:
        for consumed in device.consumes_counters:
            name = str(consumed.get("counterSet"))
            if name not in known:
                return f"pool.invalid_counterset: {name}"
            counters = _dict(consumed.get("counters")).keys()
            if not counters <= known[name]:
                return f"pool.invalid_counterset: {name}/{min(counters - known[name])}"
    return None


def _devices(body: Json, driver: str, pool: str) -> Iterator[DeviceValue]:
    """Yield a slice's devices; tens of thousands of them come at once."""
    slice_name = str(_dict(body.get("metadata")).get("name", ""))
    node_name = _node_of(body)
    names = _FullNames(driver)
    for device in _dicts(_dict(body.get("spec")).get("devices")):
        capacity = names.of(device.get("capacity"))
        yield DeviceValue(
            driver=driver,
            pool=pool,
            name=str(device.get("name", "")),
            slice_name=slice_name,
            node_name=str(device.get("nodeName") or node_name),
            attributes=names.of(device.get("attributes")),
            capacity=capacity,
            consumes_counters=_dicts(device.get("consumesCounters")),
            taints=_dicts(device.get("taints")),
            allow_multiple_allocations=device.get("allowMultipleAllocations") is True,
            memory_bytes=_memory(capacity, driver),
        )


class _FullNames(dict[Any, str]):
    """Keys as a driver gives them → with their domain: the driver's own if none."""

    def __init__(self, driver: str) -> None:
        """Begin empty: each key is named once, not once a device."""
        self._driver = driver

    def __missing__(self, given: Any) -> str:
        key = str(given)
        self[given] = full = key if "/" in key else f"{self._driver}/{key}"
        return full

    def of(self, values: Any) -> Json:
        """Return the objects among values by their full names."""
        return {
            self[given]: value
            for given, value in _dict(values).items()
            if isinstance(value, dict)
        }


def _memory(capacity: Json, driver: str) -> int | None:
    """Return the bytes of the device's memory; None where unpublished or 0."""
    value = _dict(capacity.get(f"{driver}/memory")).get("value")
    if value is None:
        return None
    try:
        count = parse_bytes(value)
    except BadQuantity:
        return None
    return count if 0 < count <= _MAX_BIGINT else None


def _node_of(body: Json) -> str:
    return str(_dict(body.get("spec")).get("nodeName") or "")


def _generation(body: Json) -> int:
    return _int(_dict(_dict(body.get("spec")).get("pool")).get("generation"))


def _int(value: Any) -> int:
    return value if isinstance(value, int) and abs(value) <= _MAX_BIGINT else 0


def _dict(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _dicts(value: Any) -> list[Json]:
    return (
        [item for item in value if isinstance(item, dict)]
        if isinstance(value, list)
        else []
    )

"""A cluster as checks see it: plain values, built from objects in v1 shape."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from inventory.domain.gates import OLDEST_MINOR
from inventory.domain.parse import (
    AllocationValue,
    DeviceValue,
    PoolValue,
    parse_allocations,
    parse_pool,
    pool_key,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

Json = dict[str, Any]
Key = tuple[str, str, str]

BLOCKING = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class Hold:
    """What one claim has of a device."""

    namespace: str
    name: str
    value: AllocationValue


@dataclass(frozen=True, slots=True)
class World:
    """Everything that checks read.

    Attributes:
        devices: id `driver/pool/device` → device of the newest generation; of a
            name that is there twice, the last.
        published: id → capacity as published, keys as the driver wrote them.
        holds: id → what claims have of it.
        rules: (taint, selector) of DeviceTaintRules that are in force.
    """

    minor: int
    gates: frozenset[str]
    objects: dict[str, list[Json]]
    pools: tuple[PoolValue, ...]
    devices: dict[str, DeviceValue]
    published: dict[str, Json]
    holds: dict[str, list[Hold]]
    rules: tuple[tuple[Json, Json], ...] = ()
    counters: dict[tuple[str, str], dict[str, Json]] = field(default_factory=dict)
    by_pool: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def classes(self) -> dict[str, Json]:
        """Return DeviceClasses by name."""
        return {name_of(body): body for body in self.objects.get("DeviceClass", [])}

    def find(self, kind: str, namespace: str, name: str) -> Json | None:
        """Return one object, or None."""
        return next(
            (
                body
                for body in self.objects.get(kind, [])
                if name_of(body) == name and namespace_of(body) == namespace
            ),
            None,
        )

    def taints(self, device_id: str) -> list[Json]:
        """Return the device's own taints and those that rules add."""
        device = self.devices[device_id]
        added = [taint for taint, rule in self.rules if _selects(rule, device)]
        return [*device.taints, *added]

    def untolerated(self, device_id: str, tolerations: list[Json]) -> list[Json]:
        """Return the taints that keep a claim with these tolerations off a device."""
        if "DRADeviceTaints" not in self.gates:
            return []
        return [
            taint
            for taint in self.taints(device_id)
            if taint.get("effect") in BLOCKING
            and not any(tolerates(toleration, taint) for toleration in tolerations)
        ]

    def is_held(self, device_id: str) -> bool:
        """Return whether a claim without adminAccess has the device or a share."""
        return any(
            not hold.value.admin_access for hold in self.holds.get(device_id, ())
        )


def name_of(body: Json) -> str:
    """Return metadata.name."""
    return str((body.get("metadata") or {}).get("name", ""))


def namespace_of(body: Json) -> str:
    """Return metadata.namespace, empty where the kind has none."""
    return str((body.get("metadata") or {}).get("namespace") or "")


def expressions_of(device_class: Json) -> list[str]:
    """Return the CEL selectors of a DeviceClass."""
    return [
        str((selector.get("cel") or {}).get("expression", ""))
        for selector in (device_class.get("spec") or {}).get("selectors") or []
        if isinstance(selector, dict)
    ]


def id_of(value: AllocationValue) -> str:
    """Return the device id of an allocation."""
    return f"{value.driver}/{value.pool}/{value.device}"


def tolerates(toleration: Json, taint: Json) -> bool:
    """Return whether a toleration covers a taint.

    Source: k8s.io/api resource/v1 DeviceToleration: an empty key with Exists
    matches every key, an empty effect every effect; Equal is the default.
    """
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    operator = toleration.get("operator") or "Equal"
    key = toleration.get("key") or ""
    if key and key != taint.get("key"):
        return False
    if operator == "Exists":
        return True
    return bool(key) and (toleration.get("value") or "") == (taint.get("value") or "")


def taint_text(taint: Json) -> str:
    """Return a taint as people write it: `key=value:Effect`."""
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint.get('key', '')}{value}:{taint.get('effect', '')}"


def build_world(objects: Iterable[Json], *, minor: int, gates: Iterable[str]) -> World:
    """Return the world that these objects make; of one key the last counts."""
    by_key: dict[Key, Json] = {
        (str(body.get("kind")), namespace_of(body), name_of(body)): body
        for body in objects
    }
    by_kind: dict[str, list[Json]] = defaultdict(list)
    for (kind, _namespace, _name), body in by_key.items():
        by_kind[kind].append(body)
    pools, devices, published, counters = _pools(by_kind["ResourceSlice"], minor)
    by_pool: dict[tuple[str, str], list[str]] = defaultdict(list)
    for device_id, device in devices.items():
        by_pool[device.driver, device.pool].append(device_id)
    return World(
        minor=minor,
        gates=frozenset(gates),
        objects=dict(by_kind),
        pools=tuple(pools),
        devices=devices,
        published=published,
        holds=_holds(by_kind["ResourceClaim"]),
        rules=tuple(_rules(by_kind["DeviceTaintRule"], frozenset(gates))),
        counters=counters,
        by_pool=by_pool,
    )


def _pools(
    slices: list[Json], minor: int
) -> tuple[
    list[PoolValue],
    dict[str, DeviceValue],
    dict[str, Json],
    dict[tuple[str, str], dict[str, Json]],
]:
    grouped: dict[str, list[Json]] = defaultdict(list)
    for body in slices:
        grouped[pool_key(body)].append(body)
    pools: list[PoolValue] = []
    devices: dict[str, DeviceValue] = {}
    published: dict[str, Json] = {}
    counters: dict[tuple[str, str], dict[str, Json]] = {}
    for bodies in grouped.values():
        pool, found = parse_pool(bodies, combined_allowed=minor == OLDEST_MINOR)
        pools.append(pool)
        counters[pool.driver, pool.name] = _counter_sets(bodies, pool.generation)
        raw = _raw_capacity(bodies, pool.generation)
        for device in found:
            device_id = f"{device.driver}/{device.pool}/{device.name}"
            devices[device_id] = device
            published[device_id] = raw.get(device.name, {})
    return pools, devices, published, counters


def _newest(bodies: list[Json], generation: int) -> list[Json]:
    return [
        body["spec"]
        for body in bodies
        if ((body.get("spec") or {}).get("pool") or {}).get("generation") == generation
    ]


def _counter_sets(bodies: list[Json], generation: int) -> dict[str, Json]:
    return {
        str(item.get("name")): item.get("counters") or {}
        for spec in _newest(bodies, generation)
        for item in spec.get("sharedCounters") or []
        if isinstance(item, dict)
    }


def _raw_capacity(bodies: list[Json], generation: int) -> dict[str, Json]:
    return {
        str(device.get("name")): device.get("capacity") or {}
        for spec in _newest(bodies, generation)
        for device in spec.get("devices") or []
        if isinstance(device, dict)
    }


def _holds(claims: list[Json]) -> dict[str, list[Hold]]:
    holds: dict[str, list[Hold]] = defaultdict(list)
    for body in claims:
        for value in parse_allocations(body):
            holds[id_of(value)].append(Hold(namespace_of(body), name_of(body), value))
    return dict(holds)


def _rules(bodies: list[Json], gates: frozenset[str]) -> list[tuple[Json, Json]]:
    if not {"DRADeviceTaints", "DRADeviceTaintRules"} <= gates:
        return []
    return [
        (spec["taint"], spec["deviceSelector"])
        for spec in (body.get("spec") or {} for body in bodies)
        if isinstance(spec.get("taint"), dict)
        and isinstance(spec.get("deviceSelector"), dict)
    ]


def _selects(rule: Json, device: DeviceValue) -> bool:
    wanted = {"driver": device.driver, "pool": device.pool, "device": device.name}
    return all(not rule.get(key) or rule[key] == value for key, value in wanted.items())

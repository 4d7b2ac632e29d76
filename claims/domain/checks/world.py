"""A cluster as checks see it: plain values, built from objects in v1 shape."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
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
from inventory.domain.tolerations import tolerates

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
        keyed: kind → (namespace, name) → object, what `objects` lists.
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
    keyed: dict[str, dict[tuple[str, str], Json]] = field(default_factory=dict)

    def classes(self) -> dict[str, Json]:
        """Return DeviceClasses by name."""
        return {name_of(body): body for body in self.objects.get("DeviceClass", [])}

    def find(self, kind: str, namespace: str, name: str) -> Json | None:
        """Return one object, or None."""
        return self.keyed.get(kind, {}).get((namespace, name))

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

    def is_shared(self, device_id: str) -> bool:
        """Return whether a device is given out in shares."""
        return (
            self.devices[device_id].allow_multiple_allocations
            and "DRAConsumableCapacity" in self.gates
        )

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


def taint_text(taint: Json) -> str:
    """Return a taint as people write it: `key=value:Effect`."""
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint.get('key', '')}{value}:{taint.get('effect', '')}"


def taints_text(world: World, devices: Iterable[str], tolerations: list[Json]) -> str:
    """Return the different taints that keep a claim off some devices, by name."""
    taints = {
        taint_text(taint)
        for device in devices
        for taint in world.untolerated(device, tolerations)
    }
    return ", ".join(sorted(taints))


def build_world(objects: Iterable[Json], *, minor: int, gates: Iterable[str]) -> World:
    """Return the world that these objects make; of one key the last counts."""
    empty = World(minor, frozenset(gates), {}, (), {}, {}, {})
    return changed_world(empty, [(_key_of(body), body) for body in objects])


def _key_of(body: Json) -> Key:
    return str(body.get("kind")), namespace_of(body), name_of(body)


def changed_world(world: World, changes: Iterable[tuple[Key, Json | None]]) -> World:
    """Return a world after changes, the given one left as it is.

    Only pools, holds and rules that a change touches are read again.

    Args:
        world: as it was.
        changes: key → the object as it is now, None where it is gone.
    """
    latest = dict(changes)
    if not latest:
        return world
    keyed = dict(world.keyed)
    for kind in {kind for kind, _namespace, _name in latest}:
        keyed[kind] = dict(keyed.get(kind, {}))
    touched: list[tuple[Key, Json | None, Json | None]] = []
    for key, body in latest.items():
        kind, at = key[0], key[1:]
        touched.append((key, keyed[kind].get(at), body))
        if body is None:
            keyed[kind].pop(at, None)
        else:
            keyed[kind][at] = body
    lists = {kind: list(keyed[kind].values()) for kind in {key[0] for key in latest}}
    objects = {**world.objects, **lists}
    changed = replace(world, objects=objects, keyed=keyed)
    changed = _with_pools(changed, [each for each in touched if _is(each, "Slice")])
    holds = _holds_after(world.holds, [each for each in touched if _is(each, "Claim")])
    rules = tuple(_rules(objects.get("DeviceTaintRule", []), world))
    return replace(changed, holds=holds, rules=rules)


def _is(touched: tuple[Key, Json | None, Json | None], kind: str) -> bool:
    return touched[0][0] == f"Resource{kind}"


def _with_pools(
    world: World, touched: list[tuple[Key, Json | None, Json | None]]
) -> World:
    """Return a world with the pools of some slices read again."""
    stale = {pool_key(body) for each in touched for body in each[1:] if body}
    if not stale:
        return world
    grouped: dict[str, list[Json]] = {key: [] for key in stale}
    for body in world.objects["ResourceSlice"]:
        if (key := pool_key(body)) in stale:
            grouped[key].append(body)
    parsed = _Parsed(world)
    for key, bodies in grouped.items():
        parsed.drop(key)
        if not bodies:
            parsed.pools.pop(key, None)
        else:
            parsed.read(key, bodies, combined_allowed=world.minor == OLDEST_MINOR)
    return replace(
        world,
        pools=tuple(parsed.pools.values()),
        devices=parsed.devices,
        published=parsed.published,
        counters=parsed.counters,
        by_pool=parsed.by_pool,
    )


class _Parsed:
    """What is made of slices, pool by pool; copies, so that the world stays."""

    def __init__(self, world: World) -> None:
        self.pools = {f"{pool.driver}/{pool.name}": pool for pool in world.pools}
        self.devices, self.published = dict(world.devices), dict(world.published)
        self.counters, self.by_pool = dict(world.counters), dict(world.by_pool)

    def drop(self, key: str) -> None:
        """Forget a pool, but not its place in the order."""
        pool = self.pools.get(key)
        if pool is None:
            return
        self.counters.pop((pool.driver, pool.name), None)
        for device_id in self.by_pool.pop((pool.driver, pool.name), ()):
            del self.devices[device_id], self.published[device_id]

    def read(self, key: str, bodies: list[Json], *, combined_allowed: bool) -> None:
        """Read a pool from its slices."""
        pool, found = parse_pool(bodies, combined_allowed=combined_allowed)
        self.pools[key] = pool
        self.counters[pool.driver, pool.name] = _counter_sets(bodies, pool.generation)
        raw = _raw_capacity(bodies, pool.generation)
        ids = {f"{key}/{device.name}": device for device in found}
        self.devices |= ids
        self.published |= {i: raw.get(device.name, {}) for i, device in ids.items()}
        if ids:
            self.by_pool[pool.driver, pool.name] = list(ids)


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


def _holds_after(
    holds: dict[str, list[Hold]], touched: list[tuple[Key, Json | None, Json | None]]
) -> dict[str, list[Hold]]:
    """Return what claims hold once those touched hold what they now say."""
    if not touched:
        return holds
    after = dict(holds)
    for (_kind, namespace, name), before, _now in touched:
        for device_id in {id_of(value) for value in parse_allocations(before or {})}:
            kept = [
                hold
                for hold in after.get(device_id, ())
                if (hold.namespace, hold.name) != (namespace, name)
            ]
            after.pop(device_id, None)
            if kept:
                after[device_id] = kept
    for (_kind, namespace, name), _before, now in touched:
        for value in parse_allocations(now or {}):
            held = after.get(id_of(value), [])
            after[id_of(value)] = [*held, Hold(namespace, name, value)]
    return after


def _rules(bodies: list[Json], world: World) -> Iterator[tuple[Json, Json]]:
    """Yield the taint and selector of each rule that is in force.

    As in the engine's taintedSlices. What selects by class or by CEL is not judged.
    """
    old = world.minor == OLDEST_MINOR
    needed = {"DRADeviceTaints"} if old else {"DRADeviceTaints", "DRADeviceTaintRules"}
    if not needed <= world.gates:
        return
    for body in bodies:
        spec = body.get("spec") or {}
        taint, selector = spec.get("taint"), selector_of(body, world.minor)
        if not isinstance(taint, dict) or selector is None:
            continue
        if selector.get("deviceClassName") is None and not selector.get("selectors"):
            yield taint, selector


def selector_of(rule: Json, minor: int) -> Json | None:
    """Return what a DeviceTaintRule selects by: {} everything, None nothing.

    A rule without a selector is for every device in 1.34, and later for none.
    """
    selector = (rule.get("spec") or {}).get("deviceSelector")
    if selector is None and minor == OLDEST_MINOR:
        return {}
    return selector if isinstance(selector, dict) else None


def _selects(rule: Json, device: DeviceValue) -> bool:
    wanted = {"driver": device.driver, "pool": device.pool, "device": device.name}
    return all(rule.get(key) in (None, value) for key, value in wanted.items())

"""What keeps a claim off a device, apart from class and selectors.

The rules are those of the allocator, asked device by device: pool, hold, taint,
counters, capacity. They explain; whether a claim fits is the engine's word alone.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from claims.domain.checks.capacity import consumed, quantity_text
from claims.domain.why.reach import reached
from inventory.domain.gates import OLDEST_MINOR
from inventory.domain.quantity import quantity_or_zero

if TYPE_CHECKING:
    from claims.domain.checks.asks import Ask
    from claims.domain.checks.world import Hold, World
    from inventory.domain.parse import PoolValue

Json = dict[str, Any]
Counter = tuple[str, str]  # (counter set, counter)
Amounts = dict[Counter, Fraction]


class Bars(NamedTuple):
    """What keeps every claim off a device, and whether more may.

    Attributes:
        problem: of its pool.
        holds: those that take it whole.
        is_plain: there are neither taints, counters nor shares to be asked.
        keys: of its attributes.
    """

    problem: str
    holds: list[Hold]
    is_plain: bool
    keys: tuple[str, ...]


class Ground:
    """A world with what reasons need of it, each worked out once.

    Args:
        world: as it is now.
        before: that of an earlier revision, from which is taken what has not changed.
    """

    def __init__(self, world: World, before: Ground | None = None) -> None:
        self.world = world
        same = before is not None and all(
            before.world.objects.get(kind) is world.objects.get(kind)
            for kind in ("Node", "ResourceSlice")
        )
        self.by_node: dict[str, tuple[str, ...]] = (
            before.by_node if before and same else reached(world)
        )
        self.pools: dict[tuple[str, str], PoolValue] = {
            (pool.driver, pool.name): pool for pool in world.pools
        }
        self._problems = {key: self._problem(pool) for key, pool in self.pools.items()}
        self._bars: dict[str, Bars] = {}
        self._pictures: dict[str, int | None] = {}
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._next = count()  # threads share a ground: no number is given twice
        self._left: dict[tuple[str, str], Amounts] = {}
        self._classes = world.classes()

    def knows_class(self, name: str) -> bool:
        """Return whether a DeviceClass of this name is there."""
        return name in self._classes

    def bars(self, device_id: str) -> Bars:
        """Return what can be said of a device whatever asks for it, worked out once."""
        found = self._bars.get(device_id)
        if found is None:
            device = self.world.devices[device_id]
            found = self._bars[device_id] = Bars(
                problem=self.pool_problem(device_id),
                holds=self.blocking_holds(device_id),
                is_plain=not (
                    device.allow_multiple_allocations
                    or device.consumes_counters
                    or self.world.taints(device_id)
                ),
                keys=tuple(device.attributes),
            )
        return found

    def picture(self, node: str) -> int | None:
        """Return a number for all that an ask without capacity finds on a node's devices.

        Nodes with one number keep out devices alike, one after the other. None where
        taints, counters or shares have to be asked.
        """
        if node not in self._pictures:
            self._pictures[node] = self._picture(self.by_node.get(node, ()))
        return self._pictures[node]

    def _picture(self, devices: tuple[str, ...]) -> int | None:
        found = []
        for device in devices:
            if device not in self.world.devices:
                return None
            bars = self.bars(device)
            if not bars.is_plain:
                return None
            found.append((bars.problem, bool(bars.holds), bars.keys))
        return self._numbers.setdefault(tuple(found), next(self._next))

    def pool_of(self, device_id: str) -> PoolValue:
        """Return the pool of a device."""
        device = self.world.devices[device_id]
        return self.pools[device.driver, device.pool]

    def pool_problem(self, device_id: str) -> str:
        """Return `incomplete` or what is wrong where the scheduler skips the pool; "".

        Kubernetes 1.34 allocates from incomplete pools.
        """
        device = self.world.devices[device_id]
        return self._problems[device.driver, device.pool]

    def _problem(self, pool: PoolValue) -> str:
        if pool.verdict == "incomplete" and self.world.minor == OLDEST_MINOR:
            return ""
        if pool.verdict == "invalid":
            return pool.problem.partition(": ")[0]
        return "" if pool.verdict == "complete" else pool.verdict

    def holds(self, device_id: str) -> list[Hold]:
        """Return what claims without adminAccess have of a device."""
        held = self.world.holds.get(device_id, [])
        return [hold for hold in held if not hold.value.admin_access]

    def blocking_holds(self, device_id: str) -> list[Hold]:
        """Return holds that take the device whole; shares leave room for others."""
        if device_id not in self.world.holds:
            return []
        held = self.holds(device_id)
        if self.world.is_shared(device_id):
            return [hold for hold in held if not hold.value.share_id]
        return held

    def short_counters(self, device_id: str) -> frozenset[Counter]:
        """Return the counters of which too little is left for a device.

        A device of which shares are held has its counters already.
        """
        consumes = self.world.devices[device_id].consumes_counters
        if not consumes or "DRAPartitionableDevices" not in self.world.gates:
            return frozenset()
        if self.world.is_shared(device_id) and self.holds(device_id):
            return frozenset()
        wanted = _consumption(consumes)
        left = self._counters_left(device_id)
        return frozenset(
            key for key, value in wanted.items() if left.get(key, Fraction(0)) < value
        )

    def counter_holds(self, device_id: str, short: frozenset[Counter]) -> list[Hold]:
        """Return the holds of devices of the same pool that took these counters."""
        device = self.world.devices[device_id]
        found: list[Hold] = []
        for other in self.world.by_pool[device.driver, device.pool]:
            holds = self.holds(other)
            if holds and short & set(
                _consumption(self.world.devices[other].consumes_counters)
            ):
                found += holds
        return found

    def _counters_left(self, device_id: str) -> Amounts:
        """Return what is left of a pool's counters; a held device charges once."""
        device = self.world.devices[device_id]
        pool = (device.driver, device.pool)
        if pool not in self._left:
            left = {
                (name, key): quantity_or_zero((value or {}).get("value", 0))
                for name, counters in self.world.counters.get(pool, {}).items()
                for key, value in counters.items()
            }
            for other in self.world.by_pool[pool]:
                if self.holds(other):
                    charge = _consumption(self.world.devices[other].consumes_counters)
                    for key, amount in charge.items():
                        left[key] = left.get(key, Fraction(0)) - amount
            self._left[pool] = left
        return self._left[pool]

    def capacity_left(self, device_id: str) -> dict[str, Fraction]:
        """Return capacity key as published → what shares leave of it."""
        published = self.world.published[device_id]
        left = {}
        for key, capacity in published.items():
            value = capacity.get("value", 0) if isinstance(capacity, dict) else 0
            taken = (
                quantity_or_zero(hold.value.consumed_capacity.get(key, 0))
                for hold in self.holds(device_id)
            )
            left[key] = quantity_or_zero(value) - sum(taken, Fraction(0))
        return left

    def lacking(self, device_id: str, ask: Ask) -> tuple[str, str]:
        """Return the first capacity that a device cannot give, and what is left of it.

        ("", "") where it can give all; (key, "") where it does not publish the key.
        Source: structured/internal consumable capacity.
        """
        if "DRAConsumableCapacity" not in self.world.gates:
            return "", ""
        shared = self.world.devices[device_id].allow_multiple_allocations
        if not shared and not ask.capacity:
            return "", ""  # it is taken whole
        published = self.world.published[device_id]
        left = self.capacity_left(device_id)
        for key in ask.capacity:
            if key not in published:
                return key, ""
        for key, capacity in published.items():
            if not isinstance(capacity, dict):
                continue
            wanted = _wanted(ask.capacity.get(key), capacity, shared=shared)
            if wanted is None or wanted > left[key]:
                return key, quantity_text(left[key])
        return "", ""


def _wanted(asked: Any, capacity: Json, *, shared: bool) -> Fraction | None:
    """Return what an ask takes of a capacity; None where the policy refuses it."""
    if not shared:
        return Fraction(0) if asked is None else quantity_or_zero(asked)
    if asked is not None:
        return consumed(quantity_or_zero(asked), capacity)
    policy = capacity.get("requestPolicy") or {}
    return quantity_or_zero(policy.get("default", capacity.get("value", 0)))


def _consumption(consumes: list[Json]) -> Amounts:
    return {
        (str(item.get("counterSet")), key): quantity_or_zero(
            (value or {}).get("value", 0)
        )
        for item in consumes
        for key, value in (item.get("counters") or {}).items()
    }

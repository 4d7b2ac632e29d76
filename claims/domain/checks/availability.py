"""Which devices a claim could have now: free, untainted, their counters free."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from claims.domain.checks.findings import Finding
from claims.domain.checks.world import taints_text
from inventory.domain.engine import Outcome
from inventory.domain.quantity import quantity_or_zero

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claims.domain.checks.asks import Ask, Asked
    from claims.domain.checks.facts import Facts
    from claims.domain.checks.world import Hold, World
    from claims.domain.preview import Preview

Json = dict[str, Any]


def counters_left(device_id: str, world: World) -> dict[str, dict[str, Fraction]]:
    """Return what is left of each counter set that a device consumes.

    Every held device of the pool is charged once, however many shares it has.
    """
    device = world.devices[device_id]
    sets = world.counters.get((device.driver, device.pool), {})
    used = {str(item.get("counterSet")) for item in device.consumes_counters}
    left = {
        name: {
            key: quantity_or_zero((value or {}).get("value", 0))
            for key, value in counters.items()
        }
        for name, counters in sets.items()
        if name in used
    }
    for other_id in world.by_pool[device.driver, device.pool]:
        other = world.devices[other_id]
        if world.is_held(other_id):
            _charge(left, other.consumes_counters)
    return left


def _charge(left: dict[str, dict[str, Fraction]], consumed: list[Json]) -> None:
    for item in consumed:
        counters = left.get(str(item.get("counterSet")))
        if counters is None:
            continue
        for key, value in (item.get("counters") or {}).items():
            counters[key] = counters.get(key, Fraction(0)) - quantity_or_zero(
                (value or {}).get("value", 0)
            )


def counters_free(device_id: str, world: World) -> bool:
    """Return whether a device's counters could be charged once more, where they must be.

    A device of which shares are held has its counters already.
    """
    device = world.devices[device_id]
    if not device.consumes_counters or "DRAPartitionableDevices" not in world.gates:
        return True
    if world.is_shared(device_id) and world.is_held(device_id):
        return True
    left = counters_left(device_id, world)
    _charge(left, device.consumes_counters)
    return all(value >= 0 for counters in left.values() for value in counters.values())


def blockers(device_id: str, world: World) -> list[Hold]:
    """Return the holds whose counters leave too little for a device."""
    device = world.devices[device_id]
    mine = {
        (str(item.get("counterSet")), key)
        for item in device.consumes_counters
        for key in item.get("counters") or {}
    }
    left = counters_left(device_id, world)
    _charge(left, device.consumes_counters)
    short = {
        (name, key)
        for name, counters in left.items()
        for key, value in counters.items()
        if value < 0 and (name, key) in mine
    }
    found = []
    for other_id in world.by_pool[device.driver, device.pool]:
        other = world.devices[other_id]
        theirs = {
            (str(item.get("counterSet")), key)
            for item in other.consumes_counters
            for key in item.get("counters") or {}
        }
        if short & theirs:
            found += [
                h for h in world.holds.get(other_id, []) if not h.value.admin_access
            ]
    return found


def availability_findings(
    asked: Asked, facts: Facts, world: World
) -> Iterator[Finding]:
    """Yield why an ask can have nothing now: no device, no match, taints, counters."""
    for ask in asked.asks:
        known = facts.of(ask.name)
        if ask.class_name not in world.classes():
            continue
        if not known.of_class and known.is_class_faulty:
            continue
        if not known.of_class:
            values = {"class": ask.class_name}
            yield Finding("preview.no_slices", f"{ask.path}.deviceClassName", values)
            continue
        if not known.candidates:
            yield from _zero(ask, facts, world)
            continue
        yield from _tainted(ask, known.candidates, world)
        yield from _counters(ask, known.candidates, world)
    if facts.preview and facts.preview.crash:
        yield _crash(facts.preview, f"{asked.base}.requests")
    if facts.preview and any(
        node.outcome == Outcome.UNDECIDED for node in facts.preview.nodes.values()
    ):
        alone = sorted(
            request
            for (_claim, request), nodes in facts.preview.alone.items()
            if nodes and all(outcome == Outcome.NO for outcome in nodes.values())
        )
        variant = "alone" if alone else ""
        values = {"requests": ", ".join(alone)}
        yield Finding("preview.budget", f"{asked.base}.requests", values, variant)


def _crash(preview: Preview, path: str) -> Finding:
    """Return that kube-scheduler would not survive the claim, and what helps."""
    minor = str(preview.engine.get("minor"))
    values = {"minor": minor, "error": preview.crash}
    # Small slices and a count beyond them; gone in the next minor's allocator.
    return Finding("scheduler.crash", path, values, "old" if minor == "1.34" else "")


def _zero(ask: Ask, facts: Facts, world: World) -> Iterator[Finding]:
    known = facts.of(ask.name)
    selectors = known.selectors
    if not selectors or any(s.verdict.error or s.errors for s in selectors):
        return
    first = next((s for s in selectors if s.match == 0), selectors[-1])
    values: Json = {"total": len(known.of_class), "class": ask.class_name}
    nearest = _nearest(first.expression, known.of_class, world)
    if nearest:
        values["nearest"] = nearest
    yield Finding(
        "preview.zero_match", first.path, values, "nearest" if nearest else ""
    )


def _nearest(expression: str, of_class: frozenset[str], world: World) -> str:
    """Return the values that devices have for the keys an expression names."""
    seen: dict[str, set[str]] = {}
    for device_id in of_class:
        device = world.devices[device_id]
        for key, value in {**device.attributes, **device.capacity}.items():
            name = key.rpartition("/")[2]
            if f".{name}" in expression and isinstance(value, dict):
                shown = value.get("value", next(iter(value.values()), ""))
                seen.setdefault(name, set()).add(str(shown))
    return "; ".join(
        f"{name}: {', '.join(sorted(values)[:6])}"
        for name, values in sorted(seen.items())
    )


def _tainted(ask: Ask, candidates: frozenset[str], world: World) -> Iterator[Finding]:
    if ask.is_admin:
        return
    kept_out = sorted(c for c in candidates if world.untolerated(c, ask.tolerations))
    if kept_out:
        values = {
            "count": len(kept_out),
            "total": len(candidates),
            "example": kept_out[0],
            "taint": taints_text(world, kept_out, ask.tolerations),
        }
        yield Finding("taint.blocks", ask.path, values)


def _counters(ask: Ask, candidates: frozenset[str], world: World) -> Iterator[Finding]:
    """Yield partitions of which none is left because others hold the counters."""
    if ask.is_admin or not all(world.devices[c].consumes_counters for c in candidates):
        return
    free = [c for c in candidates if not world.is_held(c) and counters_free(c, world)]
    if len(free) >= ask.count:
        return
    blocked = sorted(c for c in candidates if not world.is_held(c) and c not in free)
    holders = {
        f"{hold.namespace}/{hold.name}"
        for c in blocked[:16]
        for hold in blockers(c, world)
    }
    if not holders:
        return
    values = {
        "count": len(blocked),
        "placements": ", ".join(c.rpartition("/")[2] for c in blocked[:6]),
        "holders": sorted(holders),
    }
    yield Finding("preview.counters_exhausted", ask.path, values)

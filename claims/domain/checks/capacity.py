"""Shares of devices: which keys exist, what is consumed, what is taken by default.

Source: k8s.io/dynamic-resource-allocation structured/internal consumable
capacity: below min → min, then up to min + n·step, or the next of validValues;
an omitted capacity takes the policy's default, or everything without a policy.
"""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Any

from claims.domain.checks.findings import Finding
from inventory.domain.quantity import BadQuantity, parse_quantity, quantity_or_zero

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from claims.domain.checks.asks import Ask, Asked
    from claims.domain.checks.facts import Facts
    from claims.domain.checks.world import World

Json = dict[str, Any]

_KEY = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z_][A-Za-z0-9_]{0,31}")


class Alike:
    """Tells devices by the capacity that they publish, so that one of each is asked.

    A cluster has tens of thousands of devices, and a few kinds of them.
    """

    def __init__(self, world: World) -> None:
        self._published = world.published
        self._kinds: dict[str, str] = {}

    def kind(self, device_id: str) -> str:
        """Return what is the same for devices of the same capacity."""
        found = self._kinds.get(device_id)
        if found is None:
            found = self._kinds[device_id] = repr(self._published[device_id])
        return found

    def some(self, devices: Iterable[str]) -> list[str]:
        """Return one device of each kind, the first by name."""
        first: dict[str, str] = {}
        for device in sorted(devices):
            first.setdefault(self.kind(device), device)
        return list(first.values())


def capacity_findings(asked: Asked, facts: Facts, world: World) -> Iterator[Finding]:
    """Yield what is wrong, or worth knowing, about each ask's capacity."""
    if "DRAConsumableCapacity" not in world.gates:
        return
    alike = Alike(world)
    for _name, _path, asks in asked.requests:
        yield from _keys_of(asks, facts, world, alike)
    for ask in asked.asks:
        chosen = _chosen(ask, facts)
        if not chosen:
            continue
        yield from _defaults(ask, chosen, world)
        yield from _whole(ask, chosen, world)
        yield from _counters(ask, chosen, world)


def _chosen(ask: Ask, facts: Facts) -> frozenset[str]:
    return facts.of(ask.name).candidates or facts.of(ask.name).of_class


def _keys_of(
    asks: Sequence[Ask], facts: Facts, world: World, alike: Alike
) -> Iterator[Finding]:
    """Yield what is wrong with the keys and amounts of a request.

    Where some alternatives can never be taken for it and others can, the list
    passes over the former: that breaks nothing.
    """
    found = [_of_ask(ask, alike.some(_chosen(ask, facts)), world) for ask in asks]
    closed = [any(map(_is_never_had, of_ask)) for of_ask in found]
    for finding in chain.from_iterable(found):
        passed = _is_never_had(finding) and not all(closed)
        yield replace(finding, is_passed_over=passed)


def _of_ask(ask: Ask, chosen: list[str], world: World) -> list[Finding]:
    found = list(_keys(ask, chosen, world))
    if chosen and not any(each.code != "capacity.rounded" for each in found):
        found += _together(ask, chosen, world)
    return found


def _is_never_had(finding: Finding) -> bool:
    """Return whether the request is sound, and no device of here can serve it."""
    codes = {"capacity.range", "capacity.key_mismatch"}
    return finding.code in codes and finding.variant in {"", "none", "together"}


def _bad_keys(ask: Ask) -> Iterator[Finding]:
    for key in ask.capacity:
        if not _KEY.fullmatch(key):
            path = f"{ask.path}.capacity.requests"
            yield Finding("claim.odd", path, {"key": key}, "capacity_key")


def _together(ask: Ask, chosen: list[str], world: World) -> Iterator[Finding]:
    """Yield that what is asked can be had, but not all of it of one device."""
    if len(ask.capacity) < 2 or any(can_give(ask, each, world) for each in chosen):
        return
    path = f"{ask.path}.capacity.requests"
    if not any(ask.capacity.keys() <= world.published[each].keys() for each in chosen):
        values = {"keys": ", ".join(sorted(ask.capacity))}
        yield Finding("capacity.key_mismatch", path, values, "together")
        return
    asked = ", ".join(f"{key} {amount}" for key, amount in sorted(ask.capacity.items()))
    yield Finding("capacity.range", path, {"asked": asked}, "together")


def _keys(ask: Ask, chosen: list[str], world: World) -> Iterator[Finding]:
    """Yield keys that no device has, and amounts that none can give."""
    yield from _bad_keys(ask)
    for key, amount in ask.capacity.items() if chosen else ():
        path = f"{ask.path}.capacity.requests[{key}]"
        capacities = [
            world.published[device][key]
            for device in chosen
            if isinstance(world.published[device].get(key), dict)
        ]
        try:
            wanted = parse_quantity(amount)
        except BadQuantity:
            yield Finding("claim.invalid", path, {"value": str(amount)}, "quantity")
            continue
        if capacities:
            yield from _amount(path, key, wanted, amount, capacities)
        elif _KEY.fullmatch(key):
            known = sorted({k for device in chosen for k in world.published[device]})
            same = [k for k in known if k.rpartition("/")[2] == key.rpartition("/")[2]]
            values = {"key": key, "known": ", ".join(same or known)}
            yield Finding(
                "capacity.key_mismatch",
                path,
                values,
                "written" if same else "" if known else "none",
                replacement=same[0] if len(same) == 1 else None,
            )


def _amount(
    path: str, key: str, wanted: Fraction, amount: Any, capacities: list[Json]
) -> Iterator[Finding]:
    most = max((_most(capacity) for capacity in capacities), default=Fraction(0))
    if wanted < 0:
        yield Finding(
            "capacity.range", path, {"key": key, "amount": amount}, "negative"
        )
        return
    if wanted > most:
        largest = max(capacities, key=_most)
        values = {"key": key, "amount": amount, "most": _most_text(largest)}
        yield Finding("capacity.range", path, values)
        return
    for capacity in capacities:
        least = consumed(wanted, capacity)
        if least is not None and least != wanted:
            values = {"key": key, "amount": amount, "takes": quantity_text(least)}
            yield Finding("capacity.rounded", path, values)
            return


def _most(capacity: Json) -> Fraction:
    """Return the most that one request may ask of a capacity.

    What is asked is rounded up, so the most is the last step, or value, that fits.
    """
    policy = capacity.get("requestPolicy") or {}
    most = quantity_or_zero(capacity.get("value", 0))
    if policy.get("validValues"):
        listed = map(quantity_or_zero, policy["validValues"])
        return max((value for value in listed if value <= most), default=Fraction(0))
    ranged = policy.get("validRange") or {}
    if ranged.get("max") is not None:
        most = min(most, quantity_or_zero(ranged["max"]))
    least, step = (quantity_or_zero(ranged.get(key) or 0) for key in ("min", "step"))
    if step > 0 and most >= least:
        return least + (most - least) // step * step
    return most


def _most_text(capacity: Json) -> str:
    most = _most(capacity)
    value = capacity.get("value", 0)
    return str(value) if quantity_or_zero(value) == most else quantity_text(most)


def consumed(wanted: Fraction, capacity: Json) -> Fraction | None:
    """Return what a request consumes of a capacity; None where it is not eligible."""
    policy = capacity.get("requestPolicy") or {}
    listed = [quantity_or_zero(value) for value in policy.get("validValues") or []]
    if listed:
        return next((value for value in listed if value >= wanted), None)
    ranged = policy.get("validRange") or {}
    if not ranged:
        return wanted
    least = quantity_or_zero(ranged.get("min", 0))
    taken = max(wanted, least)
    step = (
        quantity_or_zero(ranged["step"])
        if ranged.get("step") is not None
        else Fraction(0)
    )
    if step > 0:
        steps = -(-(taken - least) // step)
        taken = least + steps * step
    if ranged.get("max") is not None and taken > quantity_or_zero(ranged["max"]):
        return None
    return taken


def can_give(ask: Ask, device_id: str, world: World) -> bool:
    """Return whether a device has what is asked of its capacity, were it unused.

    Source: k8s.io/dynamic-resource-allocation CmpRequestOverCapacity.
    """
    if "DRAConsumableCapacity" not in world.gates:
        return True
    published = world.published[device_id]
    return all(
        _is_given(quantity_or_zero(amount), published.get(key))
        for key, amount in ask.capacity.items()
    )


def takes(ask: Ask, key: str, capacity: Json) -> Fraction | None:
    """Return what an ask consumes of a capacity: by default what its policy says.

    None where a device with this capacity cannot give what is asked.
    """
    if key in ask.capacity:
        return consumed(quantity_or_zero(ask.capacity[key]), capacity)
    policy = capacity.get("requestPolicy") or {}
    return quantity_or_zero(policy.get("default", capacity.get("value", 0)))


def can_share(one: Ask, other: Ask, device_id: str, world: World) -> bool:
    """Return whether a device, unused, could give a share to each of two asks."""
    published = world.published[device_id]
    if not (one.capacity.keys() | other.capacity.keys()) <= published.keys():
        return False
    for key, capacity in published.items():
        both = [takes(ask, key, capacity) for ask in (one, other)]
        if None in both:
            return False
        if sum(filter(None, both)) > quantity_or_zero(capacity.get("value", 0)):
            return False
    return True


def _is_given(wanted: Fraction, capacity: Any) -> bool:
    if not isinstance(capacity, dict):
        return False
    least = consumed(wanted, capacity)
    return least is not None and least <= quantity_or_zero(capacity.get("value", 0))


def _defaults(ask: Ask, chosen: frozenset[str], world: World) -> Iterator[Finding]:
    """Yield capacities that are left out and so take everything of a shared device."""
    if ask.is_admin:
        return
    taken: dict[str, str] = {}
    for device in sorted(chosen):
        if not world.devices[device].allow_multiple_allocations:
            continue
        for key, capacity in world.published[device].items():
            if key in ask.capacity or not isinstance(capacity, dict):
                continue
            policy = capacity.get("requestPolicy") or {}
            default = policy.get("default", capacity.get("value"))
            everything = quantity_or_zero(capacity.get("value", 0))
            if everything > 0 and quantity_or_zero(default) >= everything:
                taken.setdefault(key, str(default))
    if taken:
        values = {
            "taken": ", ".join(f"{key} {amount}" for key, amount in taken.items())
        }
        yield Finding("capacity.default_is_all", f"{ask.path}.capacity", values)


def _whole(ask: Ask, chosen: frozenset[str], world: World) -> Iterator[Finding]:
    """Yield a share that a whole, unshared device may serve."""
    unshared = [
        device
        for device in chosen
        if not world.devices[device].allow_multiple_allocations
    ]
    if ask.capacity and unshared:
        values = {
            "count": len(unshared),
            "total": len(chosen),
            "example": min(unshared),
        }
        yield Finding("capacity.whole_device", f"{ask.path}.capacity", values)


def _counters(ask: Ask, chosen: frozenset[str], world: World) -> Iterator[Finding]:
    both = [
        device
        for device in chosen
        if world.devices[device].allow_multiple_allocations
        and world.devices[device].consumes_counters
    ]
    if both:
        values = {"count": len(both), "example": min(both)}
        yield Finding("counters.shared_once", ask.path, values)


_UNITS = [(2**50, "Pi"), (2**40, "Ti"), (2**30, "Gi"), (2**20, "Mi"), (2**10, "Ki")]


def quantity_text(value: Fraction) -> str:
    """Return a quantity in the largest binary unit that keeps it whole."""
    if value.denominator != 1:
        return f"{value * 1000}m"
    whole = value.numerator
    for size, suffix in _UNITS:
        if whole and whole % size == 0:
            return f"{whole // size}{suffix}"
    return str(whole)

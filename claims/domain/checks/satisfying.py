"""Constraints and counts that no node can meet, whatever is free on it.

Judged in favour of the claim: overlaps between requests, holds and taints are left
out, and an alternative that a constraint does not bind meets it. So what is said
is sure; what is not said may still be impossible, and that the preview shows.

Source: k8s.io/dynamic-resource-allocation: a device without the attribute is
refused; `All` takes every matching device of the node, or ends in an error.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from claims.domain.checks.findings import Finding
from claims.domain.why.reach import reached

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from claims.domain.checks.asks import Ask, Asked
    from claims.domain.checks.facts import Facts
    from claims.domain.checks.world import World

Json = dict[str, Any]
# Device → the constraint's attribute as text; of a device without it None.
Values = dict[str, str | None]

_LISTS = frozenset({"strings", "ints", "bools", "versions"})


def unmet_findings(asked: Asked, facts: Facts, world: World) -> Iterator[Finding]:
    """Yield the constraints that no node meets, where the claim fits nowhere."""
    if not asked.constraints or facts.preview is None or facts.preview.fitting:
        return
    nodes: Mapping[str, Sequence[str]] = reached(world)
    for path, constraint in asked.constraints:
        key = str(
            constraint.get("matchAttribute") or constraint.get("distinctAttribute")
        )
        bound = asked.bound(constraint)
        values = _values(key, bound, facts, world)
        if values is None or not _is_asked(bound, nodes, facts, values):
            continue
        matching = bool(constraint.get("matchAttribute"))
        choices = _choices(asked, bound)
        met = any(
            _match(choices, on, facts, values)
            if matching
            else _distinct(choices, on, facts, values)
            for on in map(frozenset, nodes.values())
        )
        if not met:
            variant = "match" if matching else "distinct"
            if any(ask.is_all for ask in bound):
                variant = f"all_{variant}"
            yield Finding("constraint.unmet", path, {"key": key}, variant)


def count_findings(asked: Asked, facts: Facts, world: World) -> Iterator[Finding]:
    """Yield requests for more devices than any node has, where the claim fits nowhere.

    Of a list only where every alternative asks for too many.
    """
    if facts.preview is None or facts.preview.fitting:
        return
    if all(ask.is_all or ask.count < 2 for ask in asked.asks):
        return
    nodes = list(map(frozenset, reached(world).values()))
    for _name, _path, asks in asked.requests:
        short = [
            Finding(
                "preview.zero_match",
                f"{ask.path}.count",
                {"count": ask.count, "most": most, "total": len(known)},
                "too_few",
            )
            for ask in asks
            if not ask.is_all
            and (known := facts.of(ask.name).candidates)
            and (most := max((len(known & on) for on in nodes), default=0)) < ask.count
        ]
        if len(short) == len(asks):
            yield from short


def _values(
    key: str, bound: Sequence[Ask], facts: Facts, world: World
) -> Values | None:
    """Return what candidates have of an attribute; None where one has a list.

    Lists agree where they overlap, where the cluster compares them at all.
    """
    found: Values = {}
    for ask in bound:
        for device in facts.of(ask.name).candidates:
            value = world.devices[device].attributes.get(key)
            if value is not None and _LISTS & set(value):
                return None
            found[device] = None if value is None else json.dumps(value, sort_keys=True)
    return found


def _is_asked(
    bound: Sequence[Ask],
    nodes: Mapping[str, Sequence[str]],
    facts: Facts,
    values: Values,
) -> bool:
    """Return whether nodes reach the candidates, and of each ask some have the key.

    That all of an ask lack it is said elsewhere.
    """
    sets = [facts.of(ask.name).candidates for ask in bound]
    reach = {device for on in nodes.values() for device in on}
    return bool(reach & values.keys()) and all(
        any(values[device] for device in of) for of in sets if of
    )


def _choices(asked: Asked, bound: Sequence[Ask]) -> list[list[Ask]]:
    """Return, for each request that the constraint always binds, its alternatives."""
    names = {ask.name for ask in bound}
    return [
        list(asks)
        for _name, _path, asks in asked.requests
        if asks and all(ask.name in names for ask in asks)
    ]


def _match(
    choices: list[list[Ask]], on: frozenset[str], facts: Facts, values: Values
) -> bool:
    """Return whether some value could be that of all devices on a node."""
    return any(
        all(any(_has(ask, on, facts, values, one) for ask in asks) for asks in choices)
        for one in {values.get(device) for device in on} - {None}
    )


def _has(
    ask: Ask, on: frozenset[str], facts: Facts, values: Values, one: str | None
) -> bool:
    here = facts.of(ask.name).candidates & on
    of_value = sum(values[device] == one for device in here)
    return 0 < of_value == len(here) if ask.is_all else of_value >= ask.count


def _distinct(
    choices: list[list[Ask]], on: frozenset[str], facts: Facts, values: Values
) -> bool:
    """Return whether a node has as many different values as devices are needed."""
    least = 0
    for asks in choices:
        counts = [n for ask in asks if (n := _needed(ask, on, facts, values))]
        if not counts:
            return False
        least += min(counts)
    there = {
        values[device]
        for asks in choices
        for ask in asks
        for device in facts.of(ask.name).candidates & on
    }
    return least <= len(there - {None})


def _needed(ask: Ask, on: frozenset[str], facts: Facts, values: Values) -> int:
    """Return how many devices an ask takes of a node; 0 where it cannot be met."""
    here = facts.of(ask.name).candidates & on
    if not ask.is_all:
        return ask.count if len(here) >= ask.count else 0
    counts = Counter(values[device] for device in here)
    sound = here and None not in counts and max(counts.values()) == 1
    return len(here) if sound else 0

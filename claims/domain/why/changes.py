"""Single changes of a claim: each with its place, what stood there and what would.

A manifest is never changed in place. Paths are those of diagnostics, such as
`spec.spec.devices.requests[0].exactly.capacity.requests[memory]`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

Json = dict[str, Any]

_STEP = re.compile(r"\[(\d+)\]|\[([^\]]+)\]|\.?([A-Za-z]\w*)")


class NoSuchPlace(ValueError):
    """A path that is none, or that leads nowhere in a manifest."""


class Rank(IntEnum):
    """Kinds of change, the smallest first; the order in which they are offered."""

    RELAX = 1
    COUNT = 2
    CAPACITY = 3
    TOLERATE = 4
    CONSTRAINT = 5
    VALUE = 6
    PART = 7
    SELECTOR = 8
    CLASS = 9
    ENDING = 10


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a manifest.

    Attributes:
        path: of the value that changes; None as `new` removes it.
        ask: `request` or `request/alternative`; empty for a constraint.
        values: what its sentence speaks of.
    """

    rank: Rank
    path: str
    old: Any
    new: Any
    ask: str = ""
    values: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ladder:
    """Changes of one kind at one place, the smallest first.

    Attributes:
        is_ordered: whether a change that fits means that all greater ones do.
    """

    rungs: tuple[Change, ...]
    is_ordered: bool = True


def steps_of(path: str) -> list[str | int]:
    """Return the steps of a path: names of members and places in lists.

    Raises:
        NoSuchPlace: It is no such path.
    """
    steps: list[str | int] = []
    at = 0
    while at < len(path):
        found = _STEP.match(path, at)
        if not found:
            raise NoSuchPlace(path)
        steps.append(int(found[1]) if found[1] else found[2] or found[3])
        at = found.end()
    return steps


def changed(manifest: Any, path: str, new: Any) -> Any:
    """Return a manifest with the value at a path replaced, or removed by None.

    Raises:
        NoSuchPlace: There is no such place.
    """
    steps = steps_of(path)
    if not steps:
        raise NoSuchPlace(path)
    return _set(manifest, steps, new)


def _set(node: Any, steps: list[str | int], new: Any) -> Any:
    head, rest = steps[0], steps[1:]
    if isinstance(node, list) and isinstance(head, int) and head < len(node):
        if not rest and new is None:
            return [*node[:head], *node[head + 1 :]]
        item = _set(node[head], rest, new) if rest else new
        return [*node[:head], item, *node[head + 1 :]]
    if isinstance(node, dict) and isinstance(head, str):
        if not rest and new is None:
            return {key: value for key, value in node.items() if key != head}
        return {**node, head: _set(node.get(head), rest, new) if rest else new}
    raise NoSuchPlace(str(head))


def applied(manifest: Json, change: Change) -> Json:
    """Return the manifest with one change made."""
    body: Json = changed(manifest, change.path, change.new)
    return body


def without_constraint(claim: Json, at: int) -> Json:
    """Return a claim without one constraint."""
    body: Json = changed(claim, f"spec.devices.constraints[{at}]", None)
    return body


def without_request(claim: Json, at: int) -> Json:
    """Return a claim without one request, and without what names only that one."""
    devices = claim["spec"]["devices"]
    name = devices["requests"][at]["name"]
    left: Json = changed(claim, f"spec.devices.requests[{at}]", None)
    for key in ("constraints", "config"):
        if key in devices:
            kept = _unnamed(devices[key] or [], name)
            left = changed(left, f"spec.devices.{key}", kept)
    return left


def _unnamed(items: list[Json], name: str) -> list[Json]:
    kept = []
    for item in items:
        names = item.get("requests") or []
        left = [each for each in names if each.partition("/")[0] != name]
        if left or not names:
            kept.append({**item, "requests": left} if names else item)
    return kept

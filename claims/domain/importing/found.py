"""What the checks found of a claim, and how it is put right."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from claims.domain.importing.asking import Asking, askings, devices_path, listed
from claims.domain.importing.edits import (
    Append,
    Drop,
    Edit,
    Path,
    Put,
    Rename,
    Repair,
    at,
)
from claims.domain.importing.published import plain
from claims.domain.why.conjuncts import conjuncts, with_part

if TYPE_CHECKING:
    from claims.domain.checks.findings import Finding
    from claims.domain.checks.world import World

Json = dict[str, Any]
Candidates = Callable[[Asking], frozenset[str]]

SHAREABLE = "device.allowMultipleAllocations"
_STEP = re.compile(r"([^.\[\]]+)|\[([^\]]+)\]")


@dataclass(frozen=True, slots=True)
class Ground:
    """What repairs of findings look at: the claim, its cluster, devices by ask."""

    body: Json
    world: World
    candidates: Candidates


def finding_repairs(
    body: Json, findings: list[Finding], world: World, candidates: Candidates
) -> Iterator[Repair]:
    """Yield what the checks found and know how to put right."""
    ground = Ground(body, world, candidates)
    for found in findings:
        path = path_of(found.path)
        if found.replacement is not None and found.code.startswith("cel."):
            yield _replaced(path, found)
        elif found.code in _BY_CODE:
            yield from _BY_CODE[found.code](ground, path, found)


def path_of(text: str) -> Path:
    """Return a path that a finding carries as steps."""
    return tuple(
        int(inner) if inner.isdecimal() else (plain_step or inner)
        for plain_step, inner in _STEP.findall(text)
    )


def _replaced(path: Path, found: Finding) -> Repair:
    edits = (Put(path, found.replacement),)
    values = {**found.values, "new": found.replacement}
    return Repair(found.code, path, found.variant, values, edits, about="check")


def _renamed_capacity(ground: Ground, path: Path, found: Finding) -> Iterator[Repair]:
    if found.replacement:
        edits = (Rename(path, found.replacement),)
        values = {**found.values, "name": found.replacement}
        yield Repair(found.code, path, "renamed", values, edits)


def _shared_only(ground: Ground, path: Path, found: Finding) -> Iterator[Repair]:
    """Yield the condition that a share be taken, where the cluster has shares."""
    holder = path[:-1]
    ask = next((each for each in askings(ground.body) if each.path == holder), None)
    if ask is None or any(SHAREABLE in text for _path, text in ask.selectors):
        return
    devices = ground.candidates(ask)
    shared = [d for d in devices if ground.world.devices[d].allow_multiple_allocations]
    if not shared:
        yield Repair(found.code, path, "no_shares", found.values)
        return
    first = next(ask.selectors, None)
    edits: tuple[Edit, ...]
    if first is None:
        row = {"cel": {"expression": SHAREABLE}}
        edits = (Append((*holder, "selectors"), row, "deviceClassName"),)
    else:
        text = f"({first[1]})" if "||" in first[1] or "?" in first[1] else first[1]
        edits = (Put(first[0], f"{SHAREABLE} && {text}"),)
    values = {**found.values, "shared": len(shared)}
    yield Repair(found.code, path, "shared_only", values, edits)


def _expanded(ground: Ground, path: Path, found: Finding) -> Iterator[Repair]:
    """Yield config that names a list, naming each of its alternatives instead."""
    holder = path[:-1]
    names: list[str] = []
    for name in listed(at(ground.body, holder[:-1]), "requests"):
        subs = [a.name for a in askings(ground.body) if a.sub and a.request == name]
        names += [each for each in (subs or [name]) if each not in names]
    values = {**found.values, "new": ", ".join(map(str, names))}
    yield Repair(found.code, holder, "expanded", values, (Put(holder, names),))


def _two_constraints(ground: Ground, path: Path, found: Finding) -> Iterator[Repair]:
    """Yield a constraint with both attributes as two."""
    if found.variant != "both_constraints":
        return
    row = at(ground.body, path)
    other = {"distinctAttribute": row["distinctAttribute"]}
    if row.get("requests"):
        other = {"requests": list(row["requests"]), **other}
    edits = (Drop((*path, "distinctAttribute")), Append(path[:-1], other))
    yield Repair(found.code, path, "two_constraints", {}, edits)


def _instead(ground: Ground, path: Path, found: Finding) -> Iterator[Repair]:
    """Yield the key that all devices do publish, where there is one of its name."""
    row = at(ground.body, path)
    near = str(found.values.get("instead") or "")
    if not near or "," in near or not isinstance(row, dict):
        return
    field = "matchAttribute" if row.get("matchAttribute") else "distinctAttribute"
    old = str(row[field])
    if near == old or plain(near) == plain(old):
        return
    values = {"old": old, "name": near}
    edits = (Put((*path, field), near),)
    yield Repair(found.code, (*path, field), "renamed", values, edits)


def _no_effect(ground: Ground, path: Path, found: Finding) -> Iterator[Repair]:
    edits = (Drop(path),)
    yield Repair(found.code, path, "dropped", found.values, edits, optional=True)


def _tolerated(ground: Ground, path: Path, found: Finding) -> Iterator[Repair]:
    where = (*path, "tolerations")
    edits = (Append(where, {"operator": "Exists"}, "count"),)
    yield Repair(found.code, where, "tolerated", found.values, edits, optional=True)


def _guarded(ground: Ground, path: Path, found: Finding) -> Iterator[Repair]:
    """Yield the condition that a device has a key, before the part that reads it."""
    text, key = at(ground.body, path), str(found.values.get("key"))
    if not isinstance(text, str):
        return
    parts = conjuncts(text)
    read = re.compile(
        rf"""device\.(attributes|capacity)\[["']([^"']+)["']\]\.{re.escape(key)}\b"""
    )
    for i, part in enumerate(parts):
        place = read.search(part)
        if place is None:
            continue
        guard = f'"{key}" in device.{place[1]}["{place[2]}"]'
        new = with_part(parts, i, f"{guard} && {part}")
        values = {**found.values, "new": guard}
        yield Repair(found.code, path, "guarded", values, (Put(path, new),), about=key)
        return


def _kept_apart(ground: Ground, path: Path, found: Finding) -> Iterator[Repair]:
    """Yield a constraint by which two requests get different cards, if it is chosen."""
    names = [str(found.values.get("one")), str(found.values.get("other"))]
    asks = [ask for ask in askings(ground.body) if ask.name in names]
    tables = [
        ground.world.devices[d].attributes
        for ask in asks
        for d in ground.candidates(ask)
    ]
    common = set.intersection(*map(set, tables)) if tables else set()
    key = next((k for k in sorted(common) if k.endswith("/uuid")), "")
    if len(asks) != 2 or not key:
        return
    base = (*devices_path(ground.body), "constraints")
    row = {"requests": names, "distinctAttribute": key}
    values = {**found.values, "key": key}
    edits = (Append(base, row, "requests"),)
    yield Repair(found.code, path, "kept_apart", values, edits, optional=True)


_BY_CODE: dict[str, Callable[[Ground, Path, Finding], Iterator[Repair]]] = {
    "capacity.key_mismatch": _renamed_capacity,
    "capacity.whole_device": _shared_only,
    "config.parent_request": _expanded,
    "claim.odd": _two_constraints,
    "constraint.key_missing": _instead,
    "constraint.no_effect": _no_effect,
    "constraint.distinct": _kept_apart,
    "cel.runtime_missing_key": _guarded,
    "admin.taint_blocks": _tolerated,
}

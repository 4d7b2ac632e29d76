"""A cluster as it would be: what would stand over its objects, never written anywhere."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from claims.domain.checks.world import name_of, namespace_of
from inventory.domain.engine import Row
from inventory.domain.parse import parse_allocations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from claims.domain.checks.world import World

Json = dict[str, Any]

HOSTNAME = "kubernetes.io/hostname"
TAINT_KEY = "slicewise.example/what-if"


class Kind(StrEnum):
    """What is supposed."""

    DRAIN = "drain"
    TAINT = "taint"
    ADD = "add"
    END = "end"


@dataclass(frozen=True, slots=True)
class Supposition:
    """One thing supposed.

    Attributes:
        target: a node; for TAINT `driver/pool/device`; for END `namespace/name`.
    """

    kind: Kind
    target: str


class NothingThere(LookupError):
    """The cluster holds nothing of that name."""


@dataclass(frozen=True, slots=True)
class Supposed:
    """What would be different.

    Attributes:
        rows: to be laid over the snapshot.
        displaced: (namespace, name) of claims whose pods would have to move.
    """

    rows: tuple[Row, ...]
    displaced: tuple[tuple[str, str], ...] = ()


def supposed(supposition: Supposition, world: World) -> Supposed:
    """Return what would stand over the cluster's objects.

    Raises:
        NothingThere: There is no such node, device or claim.
    """
    match supposition.kind:
        case Kind.DRAIN:
            return _drained(supposition.target, world)
        case Kind.TAINT:
            return Supposed((_tainted(supposition.target, world),))
        case Kind.ADD:
            return Supposed(tuple(_added(supposition.target, world)))
        case Kind.END:
            return Supposed((_ended(supposition.target, world),))


def _drained(node: str, world: World) -> Supposed:
    """A drained node takes no pods, and what its own devices gave comes to an end."""
    if world.find("Node", "", node) is None:
        raise NothingThere(node)
    pools = {
        (str(body["spec"].get("driver")), str(body["spec"]["pool"].get("name")))
        for body in _slices_of(node, world)
    }
    gone = [
        (namespace_of(claim), name_of(claim))
        for claim in world.objects.get("ResourceClaim", [])
        if any(
            (value.driver, value.pool) in pools for value in parse_allocations(claim)
        )
    ]
    ended = (Row("ResourceClaim", space, name, None) for space, name in gone)
    return Supposed((Row("Node", "", node, None), *ended), tuple(gone))


def _tainted(target: str, world: World) -> Row:
    """A taint is laid on the device in its slice, as a driver would publish it."""
    device = world.devices.get(target)
    if device is None or world.find("ResourceSlice", "", device.slice_name) is None:
        raise NothingThere(target)
    taint = {"key": TAINT_KEY, "effect": "NoSchedule"}
    (row,) = republished(
        [target], world, lambda each: {"taints": [*(each.get("taints") or []), taint]}
    )
    return row


def republished(
    devices: Iterable[str], world: World, change: Callable[[Json], Json]
) -> list[Row]:
    """Return the slices of some devices, by id, with members of those devices changed.

    Args:
        devices: ids; those that no slice publishes are passed over.
        world: the cluster's.
        change: a device as published → the members that it has instead.
    """
    named: dict[str, set[str]] = defaultdict(set)
    for each in devices:
        if (device := world.devices.get(each)) is not None:
            named[device.slice_name].add(device.name)
    rows = []
    for slice_name, names in named.items():
        body = world.find("ResourceSlice", "", slice_name)
        if body is None:
            continue
        listed = [
            {**each, **change(each)}
            if isinstance(each, dict) and each.get("name") in names
            else each
            for each in body["spec"].get("devices") or []
        ]
        changed = {**body, "spec": {**body["spec"], "devices": listed}}
        rows.append(Row("ResourceSlice", "", slice_name, changed))
    return rows


def _added(like: str, world: World) -> Iterator[Row]:
    """A node like another: its labels, and all that its own slices publish."""
    node = world.find("Node", "", like)
    if node is None:
        raise NothingThere(like)
    name = _unused(f"{like}-more", world)
    labels = {**(node["metadata"].get("labels") or {}), HOSTNAME: name}
    metadata = {"name": name, "labels": labels}
    yield Row("Node", "", name, {**node, "metadata": metadata, "spec": {}})
    for body in _slices_of(like, world):
        spec = body["spec"]
        pool = {**spec["pool"], "name": f"{spec['pool'].get('name', '')}-more"}
        slice_name = f"{name_of(body)}-more"
        changed = {
            **body,
            "metadata": {"name": slice_name},
            "spec": {**spec, "nodeName": name, "pool": pool},
        }
        yield Row("ResourceSlice", "", slice_name, changed)


def _unused(name: str, world: World) -> str:
    while world.find("Node", "", name) is not None:
        name += "-more"
    return name


def _ended(target: str, world: World) -> Row:
    namespace, _slash, name = target.partition("/")
    if world.find("ResourceClaim", namespace, name) is None:
        raise NothingThere(target)
    return Row("ResourceClaim", namespace, name, None)


def _slices_of(node: str, world: World) -> list[Json]:
    """Return the slices that belong to a node alone."""
    return [
        body
        for body in world.objects.get("ResourceSlice", [])
        if isinstance(body.get("spec"), dict)
        and body["spec"].get("nodeName") == node
        and isinstance(body["spec"].get("pool"), dict)
    ]

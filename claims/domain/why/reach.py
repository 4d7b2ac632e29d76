"""Which devices a node reaches.

Source: k8s.io/dynamic-resource-allocation structured NodeMatches: a slice, or with
perDeviceNodeSelection a device, names a node, all nodes, or a node selector.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from claims.domain.checks.world import name_of
from inventory.domain.node_selectors import selects
from inventory.domain.parse import pool_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from claims.domain.checks.world import World

Json = dict[str, Any]


def reached(world: World) -> dict[str, tuple[str, ...]]:
    """Return node → ids of the devices that it reaches, each once, in slices' order."""
    nodes = {
        name_of(body): (body.get("metadata") or {}).get("labels") or {}
        for body in world.objects.get("Node", [])
    }
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for body in _newest(world.objects.get("ResourceSlice", [])):
        spec = body["spec"]
        head = f"{pool_key(body)}/"
        each = spec.get("perDeviceNodeSelection") is True
        shared = () if each else tuple(_nodes(spec, nodes))
        for device in _dicts(spec.get("devices")):
            for node in tuple(_nodes(device, nodes)) if each else shared:
                found[node][f"{head}{device.get('name', '')}"] = None
    return {node: tuple(ids) for node, ids in found.items()}


def _newest(slices: Iterable[Json]) -> list[Json]:
    """Return the slices of each pool's newest generation, by name."""
    known = [body for body in slices if isinstance(body.get("spec"), dict)]
    newest: dict[str, int] = {}
    for body in known:
        key = pool_key(body)
        newest[key] = max(newest.get(key, 0), _generation(body))
    kept = [body for body in known if _generation(body) == newest[pool_key(body)]]
    return sorted(kept, key=name_of)


def _generation(body: Json) -> int:
    pool = body["spec"].get("pool")
    value = pool.get("generation") if isinstance(pool, dict) else 0
    return value if isinstance(value, int) else 0


def _nodes(holder: Json, nodes: dict[str, Json]) -> Iterator[str]:
    if name := holder.get("nodeName"):
        yield str(name)
    elif holder.get("allNodes"):
        yield from nodes
    elif isinstance(holder.get("nodeSelector"), dict):
        for name, labels in nodes.items():
            if selects(holder["nodeSelector"], name, labels):
                yield name


def _dicts(value: Any) -> list[Json]:
    found = value if isinstance(value, list) else []
    return [item for item in found if isinstance(item, dict)]

"""Which devices a node reaches.

Source: k8s.io/dynamic-resource-allocation structured NodeMatches and
k8s.io/component-helpers scheduling/corev1/nodeaffinity: a slice, or with
perDeviceNodeSelection a device, names a node, all nodes, or a node selector.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from claims.domain.checks.world import name_of
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
        terms = _dicts(holder["nodeSelector"].get("nodeSelectorTerms"))
        for name, labels in nodes.items():
            if any(_term(term, name, labels) for term in terms):
                yield name


def _term(term: Json, name: str, labels: Json) -> bool:
    """Return whether one term selects a node; an empty one selects none."""
    by_label = _dicts(term.get("matchExpressions"))
    by_field = _dicts(term.get("matchFields"))
    return bool(by_label or by_field) and (
        all(_holds(rule, labels) for rule in by_label)
        and all(_holds(rule, {"metadata.name": name}) for rule in by_field)
    )


def _holds(rule: Json, labels: Json) -> bool:
    key, operator = str(rule.get("key")), rule.get("operator")
    values = rule.get("values") or []
    if operator == "Exists":
        return key in labels
    if operator == "DoesNotExist":
        return key not in labels
    if operator == "NotIn":
        return labels.get(key) not in values
    if operator == "In":
        return key in labels and labels[key] in values
    return operator in {"Gt", "Lt"} and _compares(operator, labels.get(key), values)


def _compares(operator: str, label: Any, values: list[Any]) -> bool:
    try:
        have, wanted = int(str(label)), int(str(values[0]))
    except (ValueError, IndexError):
        return False
    return have > wanted if operator == "Gt" else have < wanted


def _dicts(value: Any) -> list[Json]:
    found = value if isinstance(value, list) else []
    return [item for item in found if isinstance(item, dict)]

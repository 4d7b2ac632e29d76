"""What kind of value stands where in the objects that are read.

The API server gives no other; a file may hold anything. `fault_of` finds the
first value of the wrong kind, so that nothing else need look out for it.
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
Schema = dict[str, Any] | list[Any] | type

# {} is a mapping, [x] a list of x, "*" any key, a type a value, `object` any;
# null is absent.
_META: Json = {"namespace": str, "labels": {}, "annotations": {}, "finalizers": [str]}
_COUNTERS: Json = {"counterSet": str, "counters": {"*": {}}}
_POLICY: Json = {"validValues": [object], "validRange": {}}
_TAINT: Json = {"key": str, "value": str, "effect": str}
_TAINTS: Schema = [_TAINT]
_SELECTORS: Schema = [{"cel": {"expression": str}}]
_DEVICES_OF_RULE: Json = {
    **dict.fromkeys(("driver", "pool", "device", "deviceClassName"), str),
    "selectors": _SELECTORS,
}
_POD: Json = {"resourceClaims": [{"name": str}], "containers": [{"resources": {}}]}
_RESULT: Json = {
    "request": str,
    "driver": str,
    "pool": str,
    "device": str,
    "consumedCapacity": {},
}
_SHAPES: dict[str, Json] = {
    "ResourceSlice": {
        "spec": {
            "driver": str,
            "nodeName": str,
            "pool": {"name": str, "generation": int, "resourceSliceCount": int},
            "nodeSelector": {"nodeSelectorTerms": [{}]},
            "sharedCounters": [{"name": str, "counters": {"*": {}}}],
            "devices": [
                {
                    "name": str,
                    "nodeName": str,
                    "attributes": {"*": {}},
                    "capacity": {"*": {"requestPolicy": _POLICY}},
                    "consumesCounters": [_COUNTERS],
                    "taints": _TAINTS,
                }
            ],
        }
    },
    "DeviceClass": {"spec": {"selectors": _SELECTORS, "extendedResourceName": str}},
    "DeviceTaintRule": {"spec": {"deviceSelector": _DEVICES_OF_RULE, "taint": _TAINT}},
    "ResourceClaim": {
        "status": {
            "reservedFor": [{}],
            "allocation": {"devices": {"results": [_RESULT]}},
        }
    },
    "ResourceClaimTemplate": {"spec": {"metadata": _META}},
    "ResourceQuota": {"spec": {"hard": {}}, "status": {"used": {}}},
    "Node": {"spec": {"taints": [{}]}, "status": {"conditions": [{}]}},
    "Pod": {"spec": _POD, "status": {"extendedResourceClaimStatus": {}}},
    "Job": {
        "spec": {"template": {"spec": _POD}},
        "status": {"conditions": [{"type": str, "status": str}]},
    },
    "CronJob": {
        "spec": {"jobTemplate": {"spec": {"template": {"spec": _POD}}}},
        "status": {},
    },
}
for _kind in (
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "ReplicaSet",
    "ReplicationController",
):
    _SHAPES[_kind] = _SHAPES["Job"]


def fault_of(body: Json) -> tuple[str, str] | None:
    """Return (path, expected) of the first value of the wrong kind, or None.

    Kinds that are not described are only looked at in `metadata`.
    """
    schema = {"metadata": _META, **_SHAPES.get(str(body.get("kind")), {})}
    return _fault(body, schema, "")


def _fault(value: Any, schema: Schema, path: str) -> tuple[str, str] | None:
    if value is None:
        return None
    if isinstance(schema, dict):
        return _mapping_fault(value, schema, path)
    if isinstance(schema, list):
        return _list_fault(value, schema[0], path)
    right = isinstance(value, schema) and not (schema is int and value is True)
    return None if right else (path, {str: "text", int: "number"}[schema])


def _list_fault(value: Any, inner: Schema, path: str) -> tuple[str, str] | None:
    """A null inside a list is no item."""
    if not isinstance(value, list):
        return path, "list"
    for at, item in enumerate(value):
        if item is None:
            return f"{path}[{at}]", "object"
        if found := _fault(item, inner, f"{path}[{at}]"):
            return found
    return None


def _mapping_fault(value: Any, schema: Json, path: str) -> tuple[str, str] | None:
    if not isinstance(value, dict):
        return path, "object"
    head = f"{path}." if path else ""
    for key, inner in schema.items():
        items = value.items() if key == "*" else [(key, value.get(key))]
        for name, item in items:
            if key == "*" and item is None:
                return f"{head}{name}", "object"
            if found := _fault(item, inner, f"{head}{name}"):
                return found
    return None

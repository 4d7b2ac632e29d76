"""What is kept of an object: what nothing here reads is left out before it is stored.

Pods count in tens of thousands and a node's list of images is longer than the
rest of it. Of pods, only those that ask for devices are kept at all.
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

_POD_SPEC = (
    *("resourceClaims", "nodeName", "nodeSelector"),
    *("priority", "priorityClassName"),
)
# Of affinity, only what a node must have.
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_POD_STATUS = (
    "phase",
    "conditions",
    "resourceClaimStatuses",
    "extendedResourceClaimStatus",
)
_CONTAINERS = ("initContainers", "containers")
_CONTAINER = ("name", "resources")
# deviceclass.resource.kubernetes.io/<class> asks for a device of that class.
_IMPLICIT = "deviceclass.resource.kubernetes.io/"


def trimmed(obj: Json) -> Json | None:
    """Return the part of an object that is kept, or None where it is not kept.

    The object is not changed.
    """
    kind = obj.get("kind")
    if kind == "Pod" and not asks_for_devices(obj):
        return None
    kept = {**obj, "metadata": _without(obj.get("metadata"), "managedFields")}
    if kind == "Pod":
        kept["spec"] = _pod_spec(_mapping(obj.get("spec")))
        kept["status"] = _only(_mapping(obj.get("status")), _POD_STATUS)
    elif kind == "Node":
        kept["status"] = _without(obj.get("status"), "images")
    return kept


def asks_for_devices(pod: Json) -> bool:
    """Return whether a pod has claims, or requests extended resources."""
    spec = _mapping(pod.get("spec"))
    if spec.get("resourceClaims"):
        return True
    return any(
        is_extended(str(name))
        for key in _CONTAINERS
        for container in _list(spec.get(key))
        for asked in _mapping(_mapping(container).get("resources")).values()
        for name in _mapping(asked)
    )


def is_extended(resource: str) -> bool:
    """Return whether a resource's name is an extended one, such as nvidia.com/gpu.

    Source: k8s.io/component-helpers, IsExtendedResourceName; and the names of
    device classes, which Kubernetes' own domain holds.
    """
    if resource.startswith(_IMPLICIT):
        return True
    domain, slash, _name = resource.rpartition("/")
    return bool(slash) and "kubernetes.io" not in domain


def _pod_spec(spec: Json) -> Json:
    kept = _only(spec, _POD_SPEC)
    affinity = _mapping(_mapping(spec.get("affinity")).get("nodeAffinity"))
    if affinity.get(_REQUIRED):
        kept["affinity"] = {"nodeAffinity": _only(affinity, (_REQUIRED,))}
    for key in _CONTAINERS:
        if spec.get(key):
            kept[key] = [_only(_mapping(each), _CONTAINER) for each in _list(spec[key])]
    return kept


def _only(mapping: Json, keys: tuple[str, ...]) -> Json:
    return {key: mapping[key] for key in keys if key in mapping}


def _without(value: Any, key: str) -> Any:
    return {k: v for k, v in _mapping(value).items() if k != key}


def _mapping(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []

"""What the API server would refuse of a claim's or template's structure.

What is read may be anything that YAML can hold.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from claims.domain.checks.findings import Finding
from inventory.domain.quantity import is_quantity, normal_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]

MOST_ALTERNATIVES = 8
MOST_LISTED = 32
MOST_COUNT = 2**63 - 1
LONGEST_NAME = 253
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
)
_COMMON = {
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "tolerations",
    "capacity",
}
_EXACT = _COMMON | {"adminAccess", "optionalNodeOperations", "derivedAttributes"}
_SUB = _COMMON | {"name", "optionalNodeOperations", "derivedAttributes"}
_REQUEST = {"name", "exactly", "firstAvailable"}
_QUALIFIED = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z_][A-Za-z0-9_]{0,31}")
_TOLERATION = {"key", "operator", "value", "effect", "tolerationSeconds"}
_CONSTRAINT = {"requests", "matchAttribute", "distinctAttribute"}
_DEVICES = {"requests", "constraints", "config"}
_CONFIG = {"requests", "opaque"}
_OPAQUE = {"driver", "parameters"}
_TEMPLATE_SPEC = {"metadata", "spec"}


def name_findings(manifest: Json) -> Iterator[Finding]:
    """Yield a name that the API server refuses."""
    name = str(manifest["metadata"]["name"])
    if len(name) > LONGEST_NAME:
        values = {"name": name, "length": len(name), "limit": LONGEST_NAME}
        yield Finding("name.too_long", "metadata.name", values)
    elif not _SUBDOMAIN.fullmatch(name):
        yield Finding("claim.invalid", "metadata.name", {"name": name}, "object_name")


def shape_findings(manifest: Json) -> list[Finding]:
    """Return what the API server would refuse of a claim's structure.

    Source: resource.k8s.io/v1 with strict field validation.
    """
    template = manifest.get("kind") == "ResourceClaimTemplate"
    steps = ("spec", "spec", "devices") if template else ("spec", "devices")
    node: Any = manifest
    path = ""
    strange: list[Finding] = []
    for i, step in enumerate(steps):
        if path:
            known = _TEMPLATE_SPEC if steps[i:] == ("spec", "devices") else {"devices"}
            strange += _unknown(node, known, path)
        path = f"{path}.{step}" if path else step
        node = node.get(step)
        if node is None and (step == "devices" or strange):
            return strange
        if not isinstance(node, dict):
            return [_wrong(path, "object")]
    return [*strange, *_devices_shape(node, path)]


def _devices_shape(devices: Json, path: str) -> Iterator[Finding]:
    yield from _unknown(devices, _DEVICES, path)
    requests = devices.get("requests")
    if requests is not None and not isinstance(requests, list):
        yield _wrong(f"{path}.requests", "list")
        return
    for i, request in enumerate(requests or []):
        yield from _request_shape(request, f"{path}.requests[{i}]")
    yield from _names_shape(requests or [], f"{path}.requests")
    known = _names(requests or [])
    for key in ("constraints", "config"):
        yield from _list_of_objects(devices.get(key), f"{path}.{key}")
        for i, item in enumerate(_objects(devices.get(key))):
            shape = _constraint_shape if key == "constraints" else _config_shape
            yield from shape(item, f"{path}.{key}[{i}]")
            yield from _unknown_names(item, known, f"{path}.{key}[{i}].requests")
    for key in ("requests", "constraints", "config"):
        if isinstance(devices.get(key), list) and len(devices[key]) > MOST_LISTED:
            values = {"limit": MOST_LISTED}
            yield Finding("claim.invalid", f"{path}.{key}", values, "too_many")


def _objects(value: Any) -> list[Json]:
    """Return a list's entries as objects, what is none as an empty one."""
    items = value if isinstance(value, list) else []
    return [item if isinstance(item, dict) else {} for item in items]


def _names(requests: list[Any]) -> set[str]:
    """Return what constraints and config may name: requests and their alternatives."""
    known: set[str] = set()
    for request in _objects(requests):
        name = str(request.get("name", ""))
        subs = _objects(request.get("firstAvailable"))
        known |= {name, *(f"{name}/{sub.get('name', '')}" for sub in subs)}
    return known


def _names_shape(named: list[Any], path: str) -> Iterator[Finding]:
    """Yield names that an earlier request, or alternative of the list, has."""
    seen: set[str] = set()
    for i, item in enumerate(_objects(named)):
        name = str(item.get("name", ""))
        if name and name in seen:
            yield Finding(
                "claim.invalid", f"{path}[{i}].name", {"name": name}, "duplicate"
            )
        seen.add(name)


def _unknown_names(item: Json, known: set[str], path: str) -> Iterator[Finding]:
    names = item.get("requests")
    for j, name in enumerate(names if isinstance(names, list) else ()):
        if str(name) not in known:
            values = {"name": str(name), "known": ", ".join(sorted(known))}
            variant = "unknown_request" if known else "unknown_request.none"
            yield Finding("claim.invalid", f"{path}[{j}]", values, variant)


def _list_of_objects(value: Any, path: str) -> Iterator[Finding]:
    if value is not None and not isinstance(value, list):
        yield _wrong(path, "list")
        return
    for i, item in enumerate(value or []):
        if not isinstance(item, dict):
            yield _wrong(f"{path}[{i}]", "object")
        elif not isinstance(item.get("requests") or [], list):
            yield _wrong(f"{path}[{i}].requests", "list")


def _request_shape(request: Any, path: str) -> Iterator[Finding]:
    if not isinstance(request, dict):
        yield _wrong(path, "object")
        return
    yield from _unknown(request, _REQUEST, path)
    yield from _name_shape(request.get("name"), f"{path}.name")
    exactly, listed = request.get("exactly"), request.get("firstAvailable")
    if (exactly is None) == (listed is None):
        yield Finding("claim.invalid", path, {}, "one_of")
    if exactly is not None:
        yield from _ask_shape(exactly, f"{path}.exactly", _EXACT)
    if listed is not None:
        yield from _list_shape(listed, f"{path}.firstAvailable")


def _list_shape(listed: Any, path: str) -> Iterator[Finding]:
    if not isinstance(listed, list):
        yield _wrong(path, "list")
        return
    if not 0 < len(listed) <= MOST_ALTERNATIVES:
        yield Finding("claim.invalid", path, {}, "alternatives")
    for j, sub in enumerate(listed):
        yield from _ask_shape(sub, f"{path}[{j}]", _SUB)
        if isinstance(sub, dict):
            yield from _name_shape(sub.get("name"), f"{path}[{j}].name")
    yield from _names_shape(listed, path)


def _ask_shape(body: Any, path: str, known: set[str]) -> Iterator[Finding]:
    if not isinstance(body, dict):
        yield _wrong(path, "object")
        return
    yield from _unknown(body, known, path)
    yield from _class_shape(body.get("deviceClassName"), f"{path}.deviceClassName")
    yield from _count_shape(body, path)
    if not isinstance(body.get("adminAccess") or False, bool):
        yield _wrong(f"{path}.adminAccess", "boolean")
    for key in ("selectors", "tolerations"):
        yield from _list_of_objects(body.get(key), f"{path}.{key}")
    selectors = body.get("selectors")
    for i, selector in enumerate(selectors if isinstance(selectors, list) else ()):
        cel = selector.get("cel") if isinstance(selector, dict) else None
        if not isinstance(cel, dict) or not isinstance(cel.get("expression"), str):
            yield Finding("claim.invalid", f"{path}.selectors[{i}]", {}, "selector")
    for i, toleration in enumerate(_objects(body.get("tolerations"))):
        yield from _toleration_shape(toleration, f"{path}.tolerations[{i}]")
    yield from _capacity_shape(body.get("capacity"), f"{path}.capacity")


def _capacity_shape(capacity: Any, path: str) -> Iterator[Finding]:
    asked = capacity.get("requests") if isinstance(capacity, dict) else capacity
    if capacity is not None and not isinstance(asked or {}, dict):
        yield _wrong(path, "object")
    for key, amount in asked.items() if isinstance(asked, dict) else ():
        written = amount if isinstance(amount, int) else str(amount)
        if isinstance(amount, bool) or not is_quantity(written):
            yield _no_quantity(f"{path}.requests[{key}]", _shown(amount))


def _count_shape(body: Json, path: str) -> Iterator[Finding]:
    if body.get("allocationMode") not in (None, "", "ExactCount", "All"):
        yield Finding("claim.invalid", f"{path}.allocationMode", {}, "mode")
    count = body.get("count")
    whole = isinstance(count, int) and not isinstance(count, bool)
    if count is not None and (not whole or not 0 <= count <= MOST_COUNT):
        yield Finding("claim.invalid", f"{path}.count", {}, "count")
    elif count and body.get("allocationMode") == "All":
        yield Finding("claim.invalid", f"{path}.count", {}, "count_of_all")


def _class_shape(name: Any, path: str) -> Iterator[Finding]:
    if not isinstance(name, str) or not name:
        yield Finding("claim.invalid", path, {}, "class")
    elif not _SUBDOMAIN.fullmatch(name):
        yield Finding("claim.invalid", path, {"name": name}, "object_name")


def _constraint_shape(item: Json, path: str) -> Iterator[Finding]:
    yield from _unknown(item, _CONSTRAINT, path)
    if not item.get("matchAttribute") and not item.get("distinctAttribute"):
        yield Finding("claim.invalid", path, {}, "constraint")
    for key in ("matchAttribute", "distinctAttribute"):
        name = item.get(key)
        if name and not _QUALIFIED.fullmatch(str(name)):
            values = {"name": str(name)}
            yield Finding("claim.invalid", f"{path}.{key}", values, "attribute")


def _config_shape(item: Json, path: str) -> Iterator[Finding]:
    """Yield what is refused; Source: validateOpaqueConfiguration of Kubernetes."""
    yield from _unknown(item, _CONFIG, path)
    opaque = item.get("opaque")
    if not isinstance(opaque, dict):
        yield _wrong(f"{path}.opaque", "object")
        return
    yield from _unknown(opaque, _OPAQUE, f"{path}.opaque")
    if not _SUBDOMAIN.fullmatch(str(opaque.get("driver") or "")):
        yield Finding("claim.invalid", f"{path}.opaque.driver", {}, "config_driver")
    if not isinstance(opaque.get("parameters"), dict):
        yield _wrong(f"{path}.opaque.parameters", "object")


def _toleration_shape(toleration: Json, path: str) -> Iterator[Finding]:
    """Yield what is refused; Source: ValidateDeviceToleration of Kubernetes."""
    yield from _unknown(toleration, _TOLERATION, path)
    operator = toleration.get("operator") or "Equal"
    if operator not in ("Exists", "Equal"):
        yield Finding("claim.invalid", f"{path}.operator", {}, "operator")
    elif operator == "Exists" and toleration.get("value"):
        yield Finding("claim.invalid", f"{path}.value", {}, "value_of_exists")
    elif operator == "Equal" and not toleration.get("key"):
        yield Finding("claim.invalid", f"{path}.key", {}, "key_of_equal")
    if toleration.get("effect") not in (None, "", "NoSchedule", "NoExecute", "None"):
        yield Finding("claim.invalid", f"{path}.effect", {}, "effect")


def _name_shape(name: Any, path: str) -> Iterator[Finding]:
    if not isinstance(name, str) or not name:
        yield Finding("claim.invalid", path, {}, "name")
    elif len(name) > 63:
        values = {"name": name, "length": len(name), "limit": 63}
        yield Finding("name.too_long", path, values)
    elif not _LABEL.fullmatch(name):
        yield Finding("claim.invalid", path, {"name": name}, "label")


def _unknown(body: Json, known: set[str], path: str) -> Iterator[Finding]:
    for key in body:
        if key not in known:
            yield Finding(
                "claim.invalid", f"{path}.{key}", {"field": str(key)}, "unknown_field"
            )


def _shown(amount: Any) -> str:
    """Return a value as text; Python writes out no number of thousands of digits."""
    huge = isinstance(amount, int) and abs(amount) > MOST_COUNT
    return hex(amount) if huge else str(amount)


def _no_quantity(path: str, amount: str) -> Finding:
    fixed = normal_quantity(amount)
    variant = "quantity_meant" if fixed else "quantity"
    values = {"value": amount, "fixed": fixed or ""}
    return Finding("claim.invalid", path, values, variant, replacement=fixed)


def _wrong(path: str, expected: str) -> Finding:
    return Finding("claim.invalid", path, {"expected": expected}, "type")

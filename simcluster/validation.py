"""What the API server refuses in an object, as causes with field paths."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator
from typing import NamedTuple

from simcluster.defaults import claim_spec, leaves
from simcluster.kinds import (
    CLAIM,
    CLASS,
    COMPUTE_DOMAIN,
    NAMESPACE,
    SLICE,
    TEMPLATE,
    Kind,
    Object,
)
from simcluster.refusals import Cause

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_BAD_LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or"
    " '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or"
    f" '123-abc', regex used for validation is '{_LABEL}')"
)
_BAD_SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters,"
    " '-' or '.', and must start and end with an alphanumeric character (e.g."
    f" 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_BAD_QUALIFIED = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start"
    " and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or"
    f" '123-abc', regex used for validation is '{_QUALIFIED}')"
)
_BAD_REFERENCE = (
    "must be the name of a request in the claim or the name of a request and a"
    " subrequest separated by '/'"
)
_NUMBER = "(0|[1-9][0-9]*)"
_SEMVER = rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}([-+].*)?"
_PLACES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
_ONE_OF = "exactly one of `exactly` or `firstAvailable` is required"
_ONE_ATTRIBUTE = (
    'exactly one of "matchAttribute" or "distinctAttribute" is required,'
    " but multiple fields are set"
)
_NO_DOMAIN = "a fully qualified name must be a domain and a name separated by a slash"
ADMIN_LABEL = "resource.kubernetes.io/admin-access"
_NO_ADMIN = (
    f"admin access to devices requires the `{ADMIN_LABEL}: true` label on the"
    " containing namespace"
)
_MAX_BYTES, _MAX_NAME = 10 * 1024, 253
_MAX_REQUESTS, _MAX_ALTERNATIVES = 32, 8
_CHOICES = {
    "allocationMode": ("All", "ExactCount"),
    "operator": ("Equal", "Exists"),
    "effect": ("NoExecute", "NoSchedule", "None"),
}

_MODES_OF_CHANNELS = ("All", "Single")

Causes = Iterator[Cause]


class Verdict(NamedTuple):
    """What the compiler says of an expression: an empty reason where it is fine."""

    reason: str = ""
    text: str = ""


Judge = Callable[[list[str]], Awaitable[list[Verdict]]]


async def problems(kind: Kind, body: Object, judge: Judge) -> list[Cause]:
    """Return what is wrong with a defaulted object."""
    found = list(_name(kind, body["metadata"].get("name", "")))
    if kind in (CLAIM, TEMPLATE):
        path = "spec.devices" if kind == CLAIM else "spec.spec.devices"
        found += _claim(claim_spec(kind, body)["devices"], path)
    elif kind == SLICE:
        found += _slice(body.get("spec", {}))
    elif kind == COMPUTE_DOMAIN:
        found += _domain(body.get("spec") or {})
    return found + await _expressions(list(_selectors(kind, body)), judge)


def admin_problems(kind: Kind, body: Object, namespace: Object | None) -> list[Cause]:
    """Return where an object wants admin access that its namespace does not grant."""
    labels = (namespace or {}).get("metadata", {}).get("labels", {})
    if kind not in (CLAIM, TEMPLATE) or labels.get(ADMIN_LABEL) == "true":
        return []
    return [
        Cause("Forbidden", f"spec.devices.requests[{number}].adminAccess", _NO_ADMIN)
        for number, request in enumerate(
            claim_spec(kind, body)["devices"]["requests"] or []
        )
        if request.get("exactly", {}).get("adminAccess")
    ]


def _name(kind: Kind, name: str) -> Causes:
    if not name:
        yield Cause("Required", "metadata.name", "name or generateName is required")
    elif kind == NAMESPACE and not re.fullmatch(_LABEL, name):
        yield Cause("Invalid", "metadata.name", _BAD_LABEL, name)
    elif kind.group.startswith("rbac.") or kind == NAMESPACE:
        return
    elif len(name) > _MAX_NAME:
        text = f"must be no more than {_MAX_NAME} characters"
        yield Cause("Invalid", "metadata.name", text, name)
    elif not re.fullmatch(_SUBDOMAIN, name):
        yield Cause("Invalid", "metadata.name", _BAD_SUBDOMAIN, name)


def _claim(devices: Object, path: str) -> Causes:
    requests = devices["requests"] or []
    if len(requests) > _MAX_REQUESTS:
        limit = f"must have at most {_MAX_REQUESTS} items"
        yield Cause("TooMany", f"{path}.requests", limit, len(requests))
        return
    names: set[str] = set()
    yield from _twice(requests, f"{path}.requests")
    for number, request in enumerate(requests):
        name = request.get("name", "")
        alternatives = request.get("firstAvailable", [])
        names |= {name, *(f"{name}/{each.get('name')}" for each in alternatives)}
        yield from _request(request, f"{path}.requests[{number}]")
    for number, constraint in enumerate(devices.get("constraints", [])):
        yield from _constraint(constraint, f"{path}.constraints[{number}]", names)
    for number, config in enumerate(devices.get("config", [])):
        yield from _config(config, f"{path}.config[{number}]", names)


def _request(request: Object, path: str) -> Causes:
    yield from _matches(request, "name", path, _LABEL, _BAD_LABEL)
    alternatives = request.get("firstAvailable", [])
    if "exactly" in request and alternatives:
        text = f"{_ONE_OF}, but multiple fields are set"
        yield Cause("Invalid", path, text)
    elif "exactly" in request:
        yield from _leaf(request["exactly"], f"{path}.exactly")
    elif not alternatives:
        yield Cause("Required", path, _ONE_OF)
    if len(alternatives) > _MAX_ALTERNATIVES:
        limit = f"must have at most {_MAX_ALTERNATIVES} items"
        yield Cause("TooMany", f"{path}.firstAvailable", limit, len(alternatives))
    yield from _twice(alternatives, f"{path}.firstAvailable")
    for number, each in enumerate(alternatives):
        place = f"{path}.firstAvailable[{number}]"
        yield from _matches(each, "name", place, _LABEL, _BAD_LABEL)
        yield from _leaf(each, place)


def _leaf(request: Object, path: str) -> Causes:
    yield from _matches(request, "deviceClassName", path, _SUBDOMAIN, _BAD_SUBDOMAIN)
    yield from _one_of(request, "allocationMode", path)
    count, mode = request.get("count", 0), request["allocationMode"]
    if mode == "All" and count:
        text = "must not be specified when allocationMode is 'All'"
        yield Cause("Invalid", f"{path}.count", text, count)
    elif mode == "ExactCount" and count < 0:
        yield Cause("Invalid", f"{path}.count", "must be greater than zero", count)
    for number, toleration in enumerate(request.get("tolerations", [])):
        yield from _toleration(toleration, f"{path}.tolerations[{number}]")


def _toleration(toleration: Object, path: str) -> Causes:
    yield from _one_of(toleration, "operator", path)
    if toleration.get("value") and toleration["operator"] == "Exists":
        text = "must be empty for operator `Exists`"
        yield Cause("Invalid", f"{path}.value", text, toleration["value"])
    key = toleration.get("key", "")
    if key and not re.fullmatch(_QUALIFIED, key.rpartition("/")[2]):
        yield Cause("Invalid", f"{path}.key", _BAD_QUALIFIED, key)
    if toleration.get("effect"):
        yield from _one_of(toleration, "effect", path)


def _constraint(constraint: Object, path: str, names: set[str]) -> Causes:
    yield from _references(constraint, path, names)
    attributes = [
        f for f in ("matchAttribute", "distinctAttribute") if constraint.get(f)
    ]
    if not attributes:
        yield Cause("Required", path, _ONE_ATTRIBUTE)
    for field in attributes:
        if "/" not in constraint[field]:
            yield Cause("Invalid", f"{path}.{field}", _NO_DOMAIN, constraint[field])


def _config(config: Object, path: str, names: set[str]) -> Causes:
    yield from _references(config, path, names)
    if "opaque" not in config:
        yield Cause("Required", f"{path}.opaque")
        return
    place = f"{path}.opaque"
    yield from _matches(config["opaque"], "driver", place, _SUBDOMAIN, _BAD_SUBDOMAIN)
    parameters = config["opaque"].get("parameters")
    if parameters is None:
        yield Cause("Required", f"{place}.parameters")
    elif not isinstance(parameters, dict):
        text = "must be a valid JSON object"
        yield Cause("Invalid", f"{place}.parameters", text, parameters)


def _twice(items: list[Object], path: str) -> Causes:
    names = [item.get("name") for item in items]
    for number, item in enumerate(items):
        if item.get("name") in names[:number]:
            yield Cause("Duplicate", f"{path}[{number}]", "", item)


def _references(holder: Object, path: str, names: set[str]) -> Causes:
    asked = [{"name": name} for name in holder.get("requests", [])]
    yield from _twice(asked, f"{path}.requests")
    for number, name in enumerate(holder.get("requests", [])):
        if name not in names:
            yield Cause("Invalid", f"{path}.requests[{number}]", _BAD_REFERENCE, name)


def _matches(holder: Object, field: str, path: str, pattern: str, text: str) -> Causes:
    value = holder.get(field, "")
    if not value and field != "name":
        yield Cause("Required", f"{path}.{field}")
    elif not re.fullmatch(pattern, value):
        yield Cause("Invalid", f"{path}.{field}", text, value)


def _one_of(
    holder: Object, field: str, path: str, choices: tuple[str, ...] = ()
) -> Causes:
    value, choices = holder[field], choices or _CHOICES[field]
    if value not in choices:
        text = "supported values: " + ", ".join(f'"{choice}"' for choice in choices)
        yield Cause("NotSupported", f"{path}.{field}", text, value)


def _domain(spec: Object) -> Causes:
    if not isinstance(spec.get("numNodes"), int):
        yield Cause("Required", "spec.numNodes")
    channel = spec.get("channel") or {}
    if not (channel.get("resourceClaimTemplate") or {}).get("name"):
        yield Cause("Required", "spec.channel.resourceClaimTemplate.name")
    if "allocationMode" in channel:
        yield from _one_of(
            channel, "allocationMode", "spec.channel", _MODES_OF_CHANNELS
        )


def _slice(spec: Object) -> Causes:
    devices = spec.get("devices", [])
    if sum(field in spec for field in _PLACES) != 1:
        text = (
            f"exactly one of {', '.join(f'`{field}`' for field in _PLACES)} is required"
        )
        yield Cause("Required", "spec", text)
    yield from _twice(devices, "spec.devices")
    for number, device in enumerate(devices):
        path = f"spec.devices[{number}]"
        yield from _matches(device, "name", path, _LABEL, _BAD_LABEL)
        for name, value in device.get("attributes", {}).items():
            place = f"{path}.attributes[{name}]"
            if len(value) != 1:
                yield Cause(
                    "Invalid", place, "exactly one value must be specified", value
                )
            elif not re.fullmatch(_SEMVER, value.get("version", "0.0.0")):
                yield Cause(
                    "Invalid", f"{place}.version", "must be a semver", value["version"]
                )


def _selectors(kind: Kind, body: Object) -> Iterator[tuple[str, Object]]:
    """Return each selector with its path."""
    holders: list[tuple[str, Object]] = []
    if kind == CLASS:
        holders = [("spec", body.get("spec", {}))]
    elif kind in (CLAIM, TEMPLATE):
        root = "spec.devices" if kind == CLAIM else "spec.spec.devices"
        for number, request in enumerate(
            claim_spec(kind, body)["devices"]["requests"] or []
        ):
            path = f"{root}.requests[{number}]"
            for place, leaf in enumerate(leaves(request)):
                single = "exactly" in request and not place
                last = "exactly" if single else f"firstAvailable[{place}]"
                holders.append((f"{path}.{last}", leaf))
    for path, holder in holders:
        for number, selector in enumerate(holder.get("selectors", [])):
            yield f"{path}.selectors[{number}].cel", selector


async def _expressions(
    selectors: list[tuple[str, Object]], judge: Judge
) -> list[Cause]:
    found = [
        Cause("Required", path) for path, selector in selectors if "cel" not in selector
    ]
    texts = {p: s["cel"].get("expression", "") for p, s in selectors if "cel" in s}
    verdicts = await judge(list(texts.values())) if texts else []
    for (path, text), verdict in zip(texts.items(), verdicts, strict=True):
        place = f"{path}.expression"
        if len(text.encode()) > _MAX_BYTES:
            limit = f"may not be more than {_MAX_BYTES} bytes"
            found.append(Cause("TooLong", place, limit))
        elif verdict.reason == "cost":
            found.append(Cause("Forbidden", place, "too complex, exceeds cost limit"))
        elif verdict.reason:
            found.append(Cause("Invalid", place, verdict.text, text))
    return found

"""The canonical manifest of a claim, its digest, and what a server made of it.

A plan is compared three times: what was sent with what the dry run answered, and
what was created with what the dry run answered. The digest is over the claim's
spec alone (of a template: the spec inside), defaulted, so that a template and the
claims made from it carry the same one.

Source: resource.k8s.io/v1 ResourceClaim, ResourceClaimTemplate; resource.nvidia.com
ComputeDomain, whose spec is pinned whole.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from inventory.domain.quantity import BadQuantity, parse_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

API_VERSION = "resource.k8s.io/v1"
DOMAIN_API_VERSION = "resource.nvidia.com/v1beta1"
TEMPLATE = "ResourceClaimTemplate"
CLAIM = "ResourceClaim"
DOMAIN = "ComputeDomain"
KINDS = (CLAIM, TEMPLATE)
MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
MANAGED_BY = "slicewise"
REQUEST_LABEL = "slicewise.io/request-id"
# The X-Request-ID of the call that asked for it; never read by us.
TRACE_ANNOTATION = "slicewise.io/http-request-id"
# On a namespace, with exactly the value "true".
ADMIN_LABEL = "resource.kubernetes.io/admin-access"

# Kubernetes' documented order of the keys that occur; others follow by name.
_ORDER = {
    key: place
    for place, key in enumerate(
        (
            *("apiVersion", "kind", "metadata", "name", "namespace", "labels"),
            *(
                "annotations",
                "spec",
                "devices",
                "requests",
                "exactly",
                "firstAvailable",
            ),
            *("deviceClassName", "selectors", "allocationMode", "count", "adminAccess"),
            *("tolerations", "capacity", "constraints", "matchAttribute"),
            *("distinctAttribute", "config"),
        )
    )
}
_KEPT_METADATA = (
    "name",
    "generateName",
    "namespace",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
)
_EMPTY: tuple[object, ...] = (None, "", [], {})


def ordered(value: Any) -> Any:
    """Return the same JSON with keys in Kubernetes' order, at every depth."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: (_ORDER.get(key, len(_ORDER)), key))
        return {key: ordered(value[key]) for key in keys}
    if isinstance(value, list):
        return [ordered(item) for item in value]
    return value


def canonical(
    manifest: Mapping[str, Any], request_id: str, *, trace: str = ""
) -> dict[str, Any]:
    """Return the manifest as it is sent: marked as ours, nothing that a server sets.

    A template's claims are marked as well: only what stands in `spec.metadata`
    is copied to them.

    Args:
        manifest: as it was asked for.
        request_id: of the claim request.
        trace: of the HTTP request, kept as an annotation; "" for none.
    """
    spec = dict(manifest["spec"])
    if manifest["kind"] == TEMPLATE:
        spec["metadata"] = _marked(spec.get("metadata") or {}, request_id)
    kept = {
        key: manifest["metadata"][key]
        for key in _KEPT_METADATA
        if manifest["metadata"].get(key)
    }
    is_domain = manifest["kind"] == DOMAIN
    body = {
        "apiVersion": DOMAIN_API_VERSION if is_domain else API_VERSION,
        "kind": manifest["kind"],
        "metadata": _traced(_marked(kept, request_id), trace),
        "spec": spec,
    }
    return ordered(body)  # type: ignore[no-any-return]


def _traced(metadata: dict[str, Any], trace: str) -> dict[str, Any]:
    if not trace:
        return metadata
    kept = metadata.get("annotations") or {}
    return {**metadata, "annotations": {**kept, TRACE_ANNOTATION: trace}}


def _marked(metadata: Mapping[str, Any], request_id: str) -> dict[str, Any]:
    labels = {
        **(metadata.get("labels") or {}),
        MANAGED_BY_LABEL: MANAGED_BY,
        REQUEST_LABEL: request_id,
    }
    return {**metadata, "labels": labels}


def named_by_pods(manifest: Mapping[str, Any]) -> tuple[str, str]:
    """Return kind and name of what pods name to use an object that was asked for.

    Of a ComputeDomain that is the template which its controller makes.
    """
    if manifest["kind"] != DOMAIN:
        return manifest["kind"], manifest["metadata"]["name"]
    channel = manifest["spec"].get("channel") or {}
    return TEMPLATE, str((channel.get("resourceClaimTemplate") or {}).get("name", ""))


def request_id_of(body: Mapping[str, Any]) -> str:
    """Return the claim request that an object says it comes from, or an empty text."""
    labels = body["metadata"].get("labels") or {}
    if labels.get(MANAGED_BY_LABEL) != MANAGED_BY:
        return ""
    return str(labels.get(REQUEST_LABEL, ""))


def claim_spec(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ResourceClaimSpec of a claim, or of the claims of a template."""
    spec = body["spec"]
    return dict(spec.get("spec") or {}) if body["kind"] == TEMPLATE else dict(spec)


def digest_of(body: Mapping[str, Any]) -> str:
    """Return `sha256:…` over the canonical JSON of the claim's spec."""
    text = json.dumps(
        claim_spec(body), sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def device_requests(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every request and every alternative, in order, as exact requests."""
    for request in (claim_spec(body).get("devices") or {}).get("requests") or []:
        if request.get("exactly"):
            yield request["exactly"]
        yield from request.get("firstAvailable") or []


def class_names(body: Mapping[str, Any]) -> list[str]:
    """Return the names of the device classes of any alternative, sorted, once each."""
    names = {asked.get("deviceClassName", "") for asked in device_requests(body)}
    return sorted(names - {""})


def asks_admin_access(body: Mapping[str, Any]) -> bool:
    """Return whether any request asks for adminAccess."""
    return any(asked.get("adminAccess") is True for asked in device_requests(body))


def changed_fields(sent: Mapping[str, Any], returned: Mapping[str, Any]) -> list[str]:
    """Return the paths of what was sent and did not come back as it was sent.

    What the server added (defaults, uid, …) is no change, an empty value that it
    left out neither; quantities are compared by value. Paths are written as
    Kubernetes writes them: `spec.devices.requests[0].exactly.capacity`.
    """
    return list(_changes(sent, returned, ""))


def is_same_spec(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether the server takes the specs of two claims or templates for equal.

    Both as they would be stored. Source: k8s.io/apimachinery equality.Semantic: what
    is empty is as if it were left out, quantities are compared by value; what opaque
    config holds is compared as it stands.
    """
    first, second = _filled(one), _filled(other)
    return (
        not changed_fields(first, second)
        and not changed_fields(second, first)
        and _as_written(one) == _as_written(other)
    )


def _filled(body: Mapping[str, Any]) -> dict[str, Any]:
    devices = claim_spec(body).get("devices") or {}
    return {key: value for key, value in devices.items() if value not in _EMPTY}


def _as_written(body: Mapping[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """Return a template's metadata for its claims, and the parameters of each config."""
    template = body.get("kind") == TEMPLATE
    metadata = (body.get("spec") or {}).get("metadata") if template else None
    config = (claim_spec(body).get("devices") or {}).get("config") or []
    return (
        {key: value for key, value in (metadata or {}).items() if value not in _EMPTY},
        [(item.get("opaque") or {}).get("parameters") for item in config],
    )


def _changes(sent: Any, returned: Any, path: str) -> Iterator[str]:
    if returned in _EMPTY and sent in _EMPTY:
        return
    if isinstance(sent, dict) and isinstance(returned, dict):
        for key in sent:
            yield from _changes(sent[key], returned.get(key), _under(path, key))
    elif isinstance(sent, list) and isinstance(returned, list):
        yield from _list_changes(sent, returned, path)
    elif not _same(sent, returned):
        yield path


def _list_changes(sent: list[Any], returned: list[Any], path: str) -> Iterator[str]:
    if len(sent) != len(returned):
        yield path
        return
    for index, (one, other) in enumerate(zip(sent, returned, strict=True)):
        yield from _changes(one, other, f"{path}[{index}]")


def _under(path: str, key: str) -> str:
    if any(sign in key for sign in "./[]"):
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else key


def _same(sent: Any, returned: Any) -> bool:
    if sent == returned:
        return type(sent) is type(returned)
    try:
        return parse_quantity(sent) == parse_quantity(returned)
    except BadQuantity:
        return False

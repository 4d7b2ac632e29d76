"""Pods that ask for GPUs, and claims for them, read from their objects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from portal.adoption.domain.facts import GPU_DRIVER, PLUGIN_PREFIXES
from portal.adoption.domain.gates import ClaimFacts, GpuPod
from portal.adoption.domain.mapping import asking_pod

Json = dict[str, Any]
# A Deployment's ReplicaSet is named after it, with the hash of its template.
_HASHED = re.compile(r"-[a-z0-9]{5,10}\Z", re.ASCII)


def read_pod(body: Json) -> GpuPod | None:
    """Return a pod that asks for GPUs or has claims, or None for any other."""
    metadata, spec, status = (
        _dict(body.get(key)) for key in ("metadata", "spec", "status")
    )
    if status.get("phase") in {"Succeeded", "Failed"}:
        return None
    asks = {
        name: asked.count
        for name in sorted(set(_plugin_resources(spec)))
        if (asked := asking_pod(body, name))
    }
    claims = tuple(sorted(set(_claims(spec, status))))
    if not (asks or claims):
        return None
    extended = _dict(status.get("extendedResourceClaimStatus"))
    return GpuPod(
        namespace=str(metadata.get("namespace") or ""),
        name=str(metadata.get("name") or ""),
        node=str(spec.get("nodeName") or ""),
        phase=str(status.get("phase") or "Pending"),
        asks=asks,
        implicit=str(extended.get("resourceClaimName") or ""),
        claims=claims,
        owner=_owner(metadata),
    )


def read_claim(body: Json, gpu_classes: frozenset[str]) -> ClaimFacts | None:
    """Return a claim for GPUs, or None for any other.

    Args:
        body: a ResourceClaim in v1 shape.
        gpu_classes: classes of NVIDIA's devices; what a claim without devices asks.
    """
    metadata, status = _dict(body.get("metadata")), _dict(body.get("status"))
    allocation = _dict(status.get("allocation"))
    results = _dicts(_dict(allocation.get("devices")).get("results"))
    drivers = {str(each.get("driver")) for each in results}
    if GPU_DRIVER not in drivers and not (gpu_classes & set(_classes(body))):
        return None
    return ClaimFacts(
        namespace=str(metadata.get("namespace") or ""),
        name=str(metadata.get("name") or ""),
        allocated=bool(allocation),
        reserved=bool(status.get("reservedFor")),
    )


def _plugin_resources(spec: Json) -> Iterator[str]:
    for key in ("initContainers", "containers"):
        for container in _dicts(spec.get(key)):
            for part in _dict(container.get("resources")).values():
                yield from (n for n in _dict(part) if n.startswith(PLUGIN_PREFIXES))


def _claims(spec: Json, status: Json) -> Iterator[str]:
    for each in (
        *_dicts(status.get("resourceClaimStatuses")),
        *_dicts(spec.get("resourceClaims")),
    ):
        if name := each.get("resourceClaimName"):
            yield str(name)


def _classes(claim: Json) -> Iterator[str]:
    devices = _dict(_dict(claim.get("spec")).get("devices"))
    for request in _dicts(devices.get("requests")):
        for each in (
            _dict(request.get("exactly")),
            *_dicts(request.get("firstAvailable")),
        ):
            yield str(each.get("deviceClassName") or "")


def _owner(metadata: Json) -> tuple[str, str]:
    for each in _dicts(metadata.get("ownerReferences")):
        if each.get("controller"):
            kind, name = str(each.get("kind") or ""), str(each.get("name") or "")
            if kind == "ReplicaSet":
                return "Deployment", _HASHED.sub("", name)
            return kind, name
    return "", ""


def _dict(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _dicts(value: Any) -> list[Json]:
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []

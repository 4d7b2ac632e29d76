"""A claim as the manifest that is sent, deterministic: equal claims, equal text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claims.domain.spec import AllocationMode, Kind

if TYPE_CHECKING:
    from claims.domain.spec import (
        AskedDevices,
        Claim,
        DeviceConstraint,
        DeviceRequest,
        DeviceToleration,
    )

API_VERSION = "resource.k8s.io/v1"


def to_manifest(claim: Claim) -> dict[str, Any]:
    """Return the manifest of a claim, keys in Kubernetes' documented order."""
    spec: dict[str, Any] = {"devices": _devices(claim)}
    return {
        "apiVersion": API_VERSION,
        "kind": claim.kind.value,
        "metadata": {"name": claim.name, "namespace": claim.namespace},
        "spec": {"spec": spec} if claim.kind is Kind.TEMPLATE else spec,
    }


def _devices(claim: Claim) -> dict[str, Any]:
    devices: dict[str, Any] = {"requests": [_request(r) for r in claim.requests]}
    if claim.constraints:
        devices["constraints"] = [_constraint(c) for c in claim.constraints]
    return devices


def _request(request: DeviceRequest) -> dict[str, Any]:
    if request.exactly is not None:
        asked = _asked(request.exactly)
        if request.exactly.admin_access:
            asked["adminAccess"] = True
        return {"name": request.name, "exactly": asked}
    return {
        "name": request.name,
        "firstAvailable": [
            {"name": sub.name, **_asked(sub)} for sub in request.first_available
        ],
    }


def _asked(asked: AskedDevices) -> dict[str, Any]:
    body: dict[str, Any] = {"deviceClassName": asked.device_class_name}
    if asked.selectors:
        body["selectors"] = [
            {"cel": {"expression": selector.expression}} for selector in asked.selectors
        ]
    body["allocationMode"] = asked.allocation_mode.value
    if asked.allocation_mode is AllocationMode.EXACT_COUNT:
        body["count"] = asked.count
    if asked.tolerations:
        body["tolerations"] = [_toleration(t) for t in asked.tolerations]
    if asked.capacity:
        body["capacity"] = {"requests": dict(asked.capacity)}
    return body


def _toleration(toleration: DeviceToleration) -> dict[str, str]:
    body = {
        "key": toleration.key,
        "operator": toleration.operator,
        "value": toleration.value,
        "effect": toleration.effect,
    }
    return {key: value for key, value in body.items() if value}


def _constraint(constraint: DeviceConstraint) -> dict[str, Any]:
    body: dict[str, Any] = {}
    if constraint.requests:
        body["requests"] = list(constraint.requests)
    if constraint.match_attribute:
        body["matchAttribute"] = constraint.match_attribute
    if constraint.distinct_attribute:
        body["distinctAttribute"] = constraint.distinct_attribute
    return body

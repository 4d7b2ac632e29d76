"""What the API server fills in when a claim is written.

Source: k8s.io/kubernetes/pkg/apis/resource/v1 SetDefaults_ExactDeviceRequest,
SetDefaults_DeviceSubRequest, SetDefaults_DeviceToleration.
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def defaulted_claim(claim: Json) -> Json:
    """Return a ResourceClaim as it would be stored; the argument is not changed."""
    spec = claim.get("spec")
    devices = spec.get("devices") if isinstance(spec, dict) else None
    requests = devices.get("requests") if isinstance(devices, dict) else None
    if not isinstance(spec, dict) or not isinstance(devices, dict):
        return claim
    if not isinstance(requests, list):
        return claim
    changed = {**devices, "requests": [_request(request) for request in requests]}
    return {**claim, "spec": {**spec, "devices": changed}}


def _request(request: Any) -> Any:
    if not isinstance(request, dict):
        return request
    changed = dict(request)
    if isinstance(request.get("exactly"), dict):
        changed["exactly"] = _ask(request["exactly"])
    if isinstance(request.get("firstAvailable"), list):
        changed["firstAvailable"] = [
            _ask(sub) if isinstance(sub, dict) else sub
            for sub in request["firstAvailable"]
        ]
    return changed


def _ask(ask: Json) -> Json:
    mode = ask.get("allocationMode") or "ExactCount"
    changed = {**ask, "allocationMode": mode}
    if mode == "ExactCount" and not ask.get("count"):
        changed["count"] = 1
    if isinstance(ask.get("tolerations"), list):
        changed["tolerations"] = [
            {"operator": "Equal", **toleration}
            if isinstance(toleration, dict)
            else toleration
            for toleration in ask["tolerations"]
        ]
    return changed

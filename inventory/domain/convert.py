"""resource.k8s.io objects of older API versions, turned into their v1 shape.

Source: k8s.io/kubernetes/pkg/apis/resource/v1beta1 conversion: v1beta1 wraps a
slice's device in `basic` and puts a request's fields beside its name, as did
v1alpha3; v1beta2 has v1's shape. DeviceTaintRule has one shape in all its versions.
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

_GROUP = "resource.k8s.io/"
_EXACT = (
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "adminAccess",
    "tolerations",
    "capacity",
)


def to_v1(obj: Json) -> Json:
    """Return a resource.k8s.io object in its v1 shape; others as they are.

    The object is not changed. What is already v1 is returned itself.
    """
    version = str(obj.get("apiVersion", ""))
    if not version.startswith(_GROUP) or version == _GROUP + "v1":
        return obj
    converted = {**obj, "apiVersion": _GROUP + "v1"}
    if version != _GROUP + "v1beta2":
        convert = _BETA1.get(str(obj.get("kind")))
        if convert and isinstance(obj.get("spec"), dict):
            converted["spec"] = convert(obj["spec"])
    return converted


def _slice_spec(spec: Json) -> Json:
    devices = spec.get("devices")
    if not isinstance(devices, list):
        return spec
    return {**spec, "devices": [_device(device) for device in devices]}


def _device(device: Any) -> Any:
    if not isinstance(device, dict) or not isinstance(device.get("basic"), dict):
        return device
    rest = {key: value for key, value in device.items() if key != "basic"}
    return {**rest, **device["basic"]}


def _claim_spec(spec: Json) -> Json:
    devices = spec.get("devices")
    if not isinstance(devices, dict) or not isinstance(devices.get("requests"), list):
        return spec
    requests = [_device_request(request) for request in devices["requests"]]
    return {**spec, "devices": {**devices, "requests": requests}}


def _device_request(request: Any) -> Any:
    if (
        not isinstance(request, dict)
        or "exactly" in request
        or "firstAvailable" in request
    ):
        return request
    exactly = {key: request[key] for key in _EXACT if key in request}
    if not exactly:
        return request
    rest = {key: value for key, value in request.items() if key not in exactly}
    return {**rest, "exactly": exactly}


def _template_spec(spec: Json) -> Json:
    inner = spec.get("spec")
    return {**spec, "spec": _claim_spec(inner)} if isinstance(inner, dict) else spec


_BETA1 = {
    "ResourceSlice": _slice_spec,
    "ResourceClaim": _claim_spec,
    "ResourceClaimTemplate": _template_spec,
}

"""What the API server fills in where a new object is silent."""

from __future__ import annotations

from simcluster.kinds import (
    CLAIM,
    COMPUTE_DOMAIN,
    NAMESPACE,
    NODE,
    POD,
    SLICE,
    TAINT_RULE,
    TEMPLATE,
    Kind,
    Object,
)

_POD = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
    "priority": 0,
    "enableServiceLinks": True,
    "preemptionPolicy": "PreemptLowerPriority",
}
_CONTAINER = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "imagePullPolicy": "IfNotPresent",
    "resources": {},
}
_NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def fill_in(kind: Kind, body: Object, now: str) -> None:
    """Set the defaults of a new object's kind in its body."""
    if kind in (CLAIM, TEMPLATE):
        _fill_in_claim(claim_spec(kind, body))
    elif kind == NAMESPACE:
        metadata = body["metadata"]
        metadata.setdefault("labels", {})["kubernetes.io/metadata.name"] = metadata[
            "name"
        ]
        body["spec"], body["status"] = (
            {"finalizers": ["kubernetes"]},
            {"phase": "Active"},
        )
    elif kind == NODE:
        body.setdefault("spec", {}).setdefault("taints", []).append(_NOT_READY)
    elif kind == POD:
        body["spec"] = _POD | body.get("spec", {})
        containers = body["spec"].get("containers", [])
        body["spec"]["containers"] = [_CONTAINER | each for each in containers]
        body["status"] = {"phase": "Pending", "qosClass": "BestEffort"}
    elif kind in (SLICE, TAINT_RULE):
        _fill_in_taints(body.get("spec", {}), now)
    elif kind == COMPUTE_DOMAIN and (channel := body.get("spec", {}).get("channel")):
        channel.setdefault("allocationMode", "Single")
    if kind == CLAIM:
        body["status"] = {}


def claim_spec(kind: Kind, body: Object) -> Object:
    """Return the claim's spec inside a claim or a template; made when missing."""
    spec: Object = body.setdefault("spec", {})
    inner: Object = spec if kind == CLAIM else spec.setdefault("spec", {})
    return inner


def leaves(request: Object) -> list[Object]:
    """Return what a request asks for: `exactly`, and each alternative."""
    exactly = [request["exactly"]] if "exactly" in request else []
    return [*exactly, *request.get("firstAvailable", [])]


def _fill_in_claim(spec: Object) -> None:
    requests = spec.setdefault("devices", {}).setdefault("requests", None)
    for each in (leaf for request in requests or [] for leaf in leaves(request)):
        if each.setdefault("allocationMode", "ExactCount") == "ExactCount":
            each["count"] = each.get("count") or 1
        for toleration in each.get("tolerations", []):
            toleration.setdefault("operator", "Equal")


def _fill_in_taints(spec: Object, now: str) -> None:
    taints = [
        taint
        for device in spec.get("devices", [])
        for taint in device.get("taints", [])
    ]
    for taint in [*taints, *([spec["taint"]] if "taint" in spec else [])]:
        taint.setdefault("timeAdded", now)

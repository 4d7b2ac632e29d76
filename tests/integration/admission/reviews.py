"""Admission reviews as an API server sends them."""

from __future__ import annotations

import base64
import json
import uuid

from asgiref.sync import async_to_sync
from django.http import HttpResponse
from django.utils import timezone

from portal.admission.serving import HookApp

ADA = {"username": "ada@orchid", "groups": ["slicewise:orchid"]}
CONTROLLER = {
    "username": "system:serviceaccount:kube-system:resource-claim-controller",
    "groups": ["system:serviceaccounts"],
}
MULTIPLE = "gpu.nvidia.com"


class Answered(HttpResponse):
    """What the server of the webhooks answered, as a client sees it."""

    def json(self):
        """Return the body, decoded."""
        return json.loads(self.content)


def sent(path, body=b"", method="POST", content_type="application/json"):
    """Send bytes to the server of the webhooks, in two parts; its answer."""
    halves = [body[: len(body) // 2], body[len(body) // 2 :]]
    coming = [
        {"type": "http.request", "body": halves[0], "more_body": True},
        {"type": "http.request", "body": halves[1], "more_body": False},
    ]
    start, content = {}, []

    async def receive():
        return coming.pop(0)

    async def keep(message):
        start.update(message)
        content.append(message.get("body", b""))

    headers = [(b"content-type", content_type.encode())]
    scope = {"type": "http", "method": method, "path": path, "headers": headers}
    async_to_sync(HookApp())(scope, receive, keep)
    told = {name.decode(): value.decode() for name, value in start["headers"]}
    return Answered(b"".join(content), status=start["status"], headers=told)


def claim(
    namespace="ai-training",
    name="wish",
    kind="ResourceClaim",
    labels=None,
    version="v1",
    **asked,
):
    """Return a claim or template as it will be stored."""
    exactly = {
        "deviceClassName": "gpu.nvidia.com",
        "allocationMode": "ExactCount",
        "count": 1,
        **asked,
    }
    request = {"name": "gpu", "exactly": exactly}
    if version == "v1beta1":
        request = {"name": "gpu", **exactly}
    spec = {"devices": {"requests": [request]}}
    if kind == "ResourceClaimTemplate":
        spec = {"spec": spec}
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": str(uuid.uuid4()),
            **({"labels": labels} if labels else {}),
        },
        "spec": spec,
    }


def device_class(*expressions, name="risky"):
    """Return a DeviceClass with some selectors."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name, "uid": str(uuid.uuid4())},
        "spec": {"selectors": [{"cel": {"expression": e}} for e in expressions]},
    }


def review(body, user=ADA, *, dry_run=False, operation="CREATE", extra=None):
    """Return the AdmissionReview for an object."""
    group, _slash, version = body["apiVersion"].rpartition("/")
    user = {**user, **({"extra": extra} if extra else {})}
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": str(uuid.uuid4()),
            "kind": {"group": group, "version": version, "kind": body["kind"]},
            "resource": {"group": group, "version": version, "resource": "x"},
            "operation": operation,
            "namespace": body["metadata"].get("namespace", ""),
            "name": body["metadata"].get("name", ""),
            "userInfo": user,
            "dryRun": dry_run,
            "object": body,
        },
    }


def portal(request_id):
    """Return the portal's mark, as userInfo.extra carries it."""
    return {"slicewise.io/request-id": [str(request_id)]}


def patch_of(response):
    """Return the JSON patch of a response, or None."""
    text = response.get("patch")
    return json.loads(base64.b64decode(text)) if text else None


def stored(where, body):
    """Store a claim as the inventory would that saw it."""
    from inventory.models import KubeObject

    return KubeObject.objects.create(
        cluster=where,
        kind=body["kind"],
        namespace=body["metadata"]["namespace"],
        name=body["metadata"]["name"],
        uid=body["metadata"]["uid"],
        body=body,
        revision=where.revision,
        seen_at=timezone.now(),
    )

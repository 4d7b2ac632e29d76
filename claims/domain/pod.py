"""The pod that uses a template or a claim: as a text to copy, and in the demo."""

from __future__ import annotations

from typing import Any

from claims.domain.manifest import (
    MANAGED_BY,
    MANAGED_BY_LABEL,
    REQUEST_LABEL,
    TEMPLATE,
)

REF = "gpu"
PAUSE_IMAGE = "registry.k8s.io/pause:3.10"
# "<name>-" and five letters must stay a DNS label.
LONGEST_PREFIX = 50


def pod_using(kind: str, name: str, namespace: str, image: str) -> dict[str, Any]:
    """Return a pod whose one container gets the devices of a template or a claim.

    Source: core/v1 PodResourceClaim, ResourceClaim (of a container).
    """
    is_template = kind == TEMPLATE
    field = "resourceClaimTemplateName" if is_template else "resourceClaimName"
    container = {
        "name": "main",
        "image": image,
        "resources": {"claims": [{"name": REF}]},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": f"{name[:LONGEST_PREFIX].rstrip('.-')}-",
            "namespace": namespace,
        },
        "spec": {
            "restartPolicy": "Never",
            "resourceClaims": [{"name": REF, field: name}],
            "containers": [container],
        },
    }


def demo_pod(kind: str, name: str, namespace: str, request_id: str) -> dict[str, Any]:
    """Return a pod that does nothing, marked as started from a request's page."""
    pod = pod_using(kind, name, namespace, PAUSE_IMAGE)
    labels = {MANAGED_BY_LABEL: MANAGED_BY, REQUEST_LABEL: request_id}
    return {**pod, "metadata": {**pod["metadata"], "labels": labels}}

"""The webhook configurations of a cluster, told which authorities to trust."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inventory.domain.kinds import Kind
from inventory.gateways.errors import NotFound
from inventory.gateways.kube import AS_ITSELF
from inventory.services.connections import kube_for
from portal.admission.domain.manifests import NAME
from portal.admission.services.certificates import ca_bundle

if TYPE_CHECKING:
    from datetime import datetime

    from inventory.models import Cluster

Json = dict[str, Any]

_GROUP = "admissionregistration.k8s.io"
CONFIGURATIONS = tuple(
    Kind(
        f"{name}WebhookConfiguration",
        f"{name.lower()}webhookconfigurations",
        _GROUP,
        ("v1",),
        False,
    )
    for name in ("Validating", "Mutating")
)


def trust_in(cluster: Cluster, *, now: datetime) -> list[str]:
    """Put the authorities into a cluster's configurations; return which were changed.

    One that is not installed is left out. The webhooks stay as they are otherwise; a
    configuration that changed meanwhile is left to the next time.

    Raises:
        KubeError: The API server cannot be asked, or does not let us.
    """
    kube = kube_for(cluster, AS_ITSELF)
    bundle = ca_bundle(now=now)
    done = []
    for kind in CONFIGURATIONS:
        try:
            body = kube.get(kind, NAME)
        except NotFound:
            continue
        patch = _patch(body, bundle)
        if patch:
            kube.patch(kind, NAME, patch)
            done.append(kind.kind)
    return done


def untold_in(cluster: Cluster, *, now: datetime) -> tuple[list[str], list[str]]:
    """Return which configurations a cluster has, and which do not trust us yet.

    Raises:
        KubeError: The API server cannot be asked, or does not let us.
    """
    kube = kube_for(cluster, AS_ITSELF)
    bundle = ca_bundle(now=now)
    installed, untold = [], []
    for kind in CONFIGURATIONS:
        try:
            body = kube.get(kind, NAME)
        except NotFound:
            continue
        installed.append(kind.kind)
        if _patch(body, bundle):
            untold.append(kind.kind)
    return installed, untold


def _patch(body: Json, bundle: str) -> list[Json]:
    """Return a JSON patch that names each webhook it changes, or nothing to change."""
    patch: list[Json] = []
    for index, webhook in enumerate(body.get("webhooks") or []):
        if webhook["clientConfig"].get("caBundle") == bundle:
            continue
        path = f"/webhooks/{index}"
        patch += [
            {"op": "test", "path": f"{path}/name", "value": webhook["name"]},
            {"op": "add", "path": f"{path}/clientConfig/caBundle", "value": bundle},
        ]
    return patch

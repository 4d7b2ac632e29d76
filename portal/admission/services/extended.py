"""A pod that asks for extended GPU resources, as the claim that it will become.

Source: k8s.io/dynamic-resource-allocation: the scheduler makes one claim for a
pod's extended resources, by the DeviceClass that maps each of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from inventory.domain.quantity import quantity_or_zero
from inventory.queries.classes import class_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inventory.models import Cluster
    from portal.admission.domain.review import Review

Json = dict[str, Any]

IMPLICIT = "deviceclass.resource.kubernetes.io/"


def claim_of_pod(cluster: Cluster, review: Review) -> Review:
    """Return the review with the claim in place of the pod that will be made for it."""
    mapped = _mapped(cluster)
    requests = []
    for index, (resource, count) in enumerate(_asked(review.body["spec"])):
        class_name = mapped.get(resource)
        if resource.startswith(IMPLICIT):
            class_name = resource.removeprefix(IMPLICIT)
        if class_name is None:
            continue
        exactly = {
            "deviceClassName": class_name,
            "allocationMode": "ExactCount",
            "count": count,
        }
        requests.append({"name": f"container-{index}", "exactly": exactly})
    body = {**review.body, "spec": {"devices": {"requests": requests}}}
    return replace(review, body=body)


def _mapped(cluster: Cluster) -> dict[str, str]:
    """Return extended resource → the class that serves it, as far as is determined."""
    found: dict[str, str] = {}
    for row in class_rows(cluster):
        if row.facts.extended_resource:
            found[row.facts.extended_resource] = row.winner or row.facts.name
    return found


def _asked(spec: Json) -> Iterator[tuple[str, int]]:
    for key in ("initContainers", "containers"):
        for container in spec.get(key) or []:
            limits = (container.get("resources") or {}).get("limits") or {}
            for resource, quantity in limits.items():
                if "/" in resource:
                    yield resource, int(quantity_or_zero(quantity))

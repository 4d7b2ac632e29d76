"""Who asks for an extended resource, and which nodes' device plugins offer it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from django.db.models.fields.json import KeyTextTransform, KeyTransform

from inventory.models import Device, KubeObject
from portal.adoption.domain.mapping import AskingPod, asking_pod
from portal.adoption.domain.pods import read_pod
from portal.adoption.queries.facts import sees

if TYPE_CHECKING:
    from inventory.models import Cluster


def pods_asking(cluster: Cluster, resource: str) -> list[AskingPod] | None:
    """Return the pods that ask for a resource, by name; None where pods are not read."""
    if not sees(cluster, "Pod"):
        return None
    rows = KubeObject.objects.filter(cluster=cluster, kind="Pod", deleted_at=None)
    bodies = rows.order_by("namespace", "name").values_list("body", flat=True)
    found = (asking_pod(body, resource) for body in bodies.iterator())
    return [each for each in found if each is not None]


def nodes_offering(cluster: Cluster, resource: str) -> list[str] | None:
    """Return the nodes whose device plugin offers a resource; None: not read."""
    if not sees(cluster, "Node"):
        return None
    rows = KubeObject.objects.filter(cluster=cluster, kind="Node", deleted_at=None)
    offered = rows.annotate(
        offered=KeyTextTransform(
            resource, KeyTransform("allocatable", KeyTransform("status", "body"))
        )
    ).filter(offered__isnull=False)
    found = offered.exclude(offered="0").order_by("name")
    return list(found.values_list("name", flat=True))


def resources_asked(cluster: Cluster) -> dict[str, int] | None:
    """Return NVIDIA's resources that pods ask for, with how many; None: not read."""
    if not sees(cluster, "Pod"):
        return None
    rows = KubeObject.objects.filter(cluster=cluster, kind="Pod", deleted_at=None)
    read = (read_pod(body) for body in rows.values_list("body", flat=True).iterator())
    return dict(Counter(name for pod in read if pod for name in pod.asks))


def faces_of(
    cluster: Cluster, devices: frozenset[tuple[str, str, str]]
) -> set[tuple[str, str, str]]:
    """Return driver, type and profile of some devices; "" where one is not told."""
    found: set[tuple[str, str, str]] = set()
    for driver in sorted({driver for driver, _pool, _name in devices}):
        told = [
            KeyTextTransform("string", KeyTransform(f"{driver}/{key}", "attributes"))
            for key in ("type", "profile")
        ]
        rows = Device.objects.filter(cluster=cluster, driver=driver)
        fields = rows.values_list("pool", "name", *told)
        found |= {
            (driver, kind or "", profile or "")
            for pool, name, kind, profile in fields.iterator()
            if (driver, pool, name) in devices
        }
    return found


def types_of(
    cluster: Cluster, devices: frozenset[tuple[str, str, str]]
) -> list[tuple[str, str]]:
    """Return (type, node) of each of some devices; type is "" where none is told."""
    found = []
    for driver in sorted({driver for driver, _pool, _name in devices}):
        told = KeyTextTransform("string", KeyTransform(f"{driver}/type", "attributes"))
        rows = Device.objects.filter(cluster=cluster, driver=driver)
        fields = rows.values_list("pool", "name", "node_name", told)
        found += [
            (kind or "", node)
            for pool, name, node, kind in fields.iterator()
            if (driver, pool, name) in devices
        ]
    return found

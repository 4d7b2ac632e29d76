"""Who asks for an extended resource, and which nodes' device plugins offer it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models.fields.json import KeyTextTransform, KeyTransform

from inventory.models import Device, KubeObject
from portal.adoption.domain.mapping import AskingPod, asking_pod
from portal.adoption.queries.facts import gpu_pods, sees

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inventory.models import Cluster

DeviceKey = tuple[str, str, str]  # driver, pool, name


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
    pods = gpu_pods(cluster)
    if pods is None:
        return None
    return dict(Counter(name for pod in pods for name in pod.asks))


@dataclass(frozen=True, slots=True)
class Told:
    """What a device tells of itself; "" where it does not."""

    type: str
    profile: str
    node: str


def told_by(cluster: Cluster, drivers: Iterable[str]) -> dict[DeviceKey, Told]:
    """Return what each device of some drivers tells; a query a driver."""
    found: dict[DeviceKey, Told] = {}
    for driver in sorted(set(drivers)):
        told = [
            KeyTextTransform("string", KeyTransform(f"{driver}/{key}", "attributes"))
            for key in ("type", "profile")
        ]
        rows = Device.objects.filter(cluster=cluster, driver=driver)
        fields = rows.values_list("pool", "name", "node_name", *told)
        for pool, name, node, kind, profile in fields.iterator():
            found[driver, pool, name] = Told(kind or "", profile or "", node)
    return found

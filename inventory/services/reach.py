"""What the filters of class and tenant mean in a cluster, for one person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inventory.queries.clusters import owners_of
from inventory.queries.gpu_filter import Reach
from inventory.services.availability import devices_of_class

if TYPE_CHECKING:
    from inventory.domain.visibility import Viewer
    from inventory.models import Cluster
    from inventory.queries.classes import ClassRow


def reach_of(
    cluster: Cluster, viewer: Viewer, device_class: str, classes: list[ClassRow]
) -> tuple[Reach, str]:
    """Return the devices of a class and the tenants that a person may name.

    Returns:
        Both, and one sentence where what the class selects is not known, or "".
    """
    owners = {
        namespace: tenant
        for namespace, tenant in owners_of(cluster.name).items()
        if viewer.sees(namespace)
    }
    devices, problem = None, ""
    if device_class:
        devices, problem = devices_of_class(cluster, device_class, classes)
    return Reach(devices, owners), problem

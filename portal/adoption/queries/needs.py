"""What owners told of their workloads' needs, and what they are asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portal.adoption.models import WorkloadNeed

if TYPE_CHECKING:
    from inventory.models import Cluster
    from portal.adoption.domain.savings import Workload


def needs_of(cluster: Cluster) -> dict[Workload, WorkloadNeed]:
    """Return what was asked or told in a cluster, by workload; one query."""
    rows = WorkloadNeed.objects.filter(cluster=cluster.name)
    return {(row.namespace, row.kind, row.name): row for row in rows}


def told_needs(cluster: Cluster) -> dict[Workload, int]:
    """Return the bytes of each card that owners told; one query."""
    return {
        key: row.memory
        for key, row in needs_of(cluster).items()
        if row.memory is not None
    }

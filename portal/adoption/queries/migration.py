"""What is stored of a cluster's way to DRA: pods, claims, the mapping, and the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inventory.models import KubeObject
from inventory.queries.classes import class_rows
from portal.adoption.domain.facts import GPU_DRIVER, RESOURCE
from portal.adoption.domain.gates import (
    ClaimFacts,
    MigrationFacts,
)
from portal.adoption.domain.pods import read_claim
from portal.adoption.models import MigrationPlan, MigrationStep
from portal.adoption.queries.facts import gpu_pods, sees

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.db.models import QuerySet

    from inventory.models import Cluster
    from inventory.queries.classes import ClassRow
    from portal.adoption.domain.facts import ClusterFacts


def migration_facts(cluster: Cluster, facts: ClusterFacts) -> MigrationFacts:
    """Return what the gates look at; three queries beside those of readiness."""
    rows = class_rows(cluster) if sees(cluster, "DeviceClass") else None
    classes = _gpu_classes(rows or ())
    return MigrationFacts(
        facts,
        pods=gpu_pods(cluster),
        claims={(c.namespace, c.name): c for c in _claims(cluster, classes)}
        if sees(cluster, "ResourceClaim")
        else None,
        mapped=None
        if rows is None
        else tuple(
            row.facts.name for row in rows if row.facts.extended_resource == RESOURCE
        ),
    )


def plan_of(cluster: Cluster) -> MigrationPlan:
    """Return a cluster's plan; one that is not stored yet where nobody has begun."""
    found = MigrationPlan.objects.filter(cluster=cluster.name).first()
    return found or MigrationPlan(cluster=cluster.name, version=0)


def steps_of(cluster: Cluster) -> QuerySet[MigrationStep]:
    """Return what was done of a cluster's plan."""
    return MigrationStep.objects.filter(plan__cluster=cluster.name)


def _gpu_classes(rows: list[ClassRow] | tuple[()]) -> frozenset[str]:
    """Return the classes whose name or selectors speak of NVIDIA's GPUs."""
    return frozenset(
        row.facts.name
        for row in rows
        if row.facts.name.endswith("nvidia.com")
        or any(GPU_DRIVER in text for text in row.facts.selectors)
    )


def _claims(cluster: Cluster, classes: frozenset[str]) -> Iterator[ClaimFacts]:
    rows = KubeObject.objects.filter(
        cluster=cluster, kind="ResourceClaim", deleted_at=None
    )
    for body in rows.values_list("body", flat=True).iterator():
        if claim := read_claim(body, classes):
            yield claim

"""What stands above the composer: what is free now, and what quota leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claims.domain.checks.quota import quotas_left
from claims.services.checking import world_of
from inventory.queries.cards import fleet_of
from inventory.queries.classes import class_rows
from inventory.services.availability import class_uses
from portal.accounts.queries import namespaces_of

if TYPE_CHECKING:
    from claims.domain.checks.quota import QuotaLeft
    from inventory.models import Cluster
    from inventory.services.availability import ClassUse
    from portal.accounts.models import User


def free_now(cluster: Cluster) -> list[ClassUse]:
    """Return each class with how many of its devices are free; None is unknown."""
    return class_uses(cluster, fleet_of(cluster), class_rows(cluster))


def quotas_of(user: User, cluster: Cluster, namespace: str) -> list[QuotaLeft]:
    """Return what Kubernetes' quotas leave in one of this person's namespaces."""
    if namespace not in namespaces_of(user, cluster.name):
        return []
    return quotas_left(namespace, world_of(cluster))

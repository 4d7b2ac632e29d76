"""Claims that hold devices though nothing uses them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Q

from inventory.models import KubeObject

if TYPE_CHECKING:
    from inventory.domain.visibility import Viewer
    from inventory.models import Cluster


def unused_claims(cluster: Cluster, viewer: Viewer) -> list[tuple[str, str]]:
    """Return namespace and name of claims that are allocated and reserved for no pod.

    By namespace and name, and only those that this person may see; one query.
    """
    nobody = Q(body__status__reservedFor=None) | Q(body__status__reservedFor=[])
    rows = KubeObject.objects.filter(
        Q(body__status__reservedFor__isnull=True) | nobody,
        cluster=cluster,
        kind="ResourceClaim",
        deleted_at=None,
        body__status__allocation__isnull=False,
    )
    if not viewer.sees_everyone:
        rows = rows.filter(namespace__in=viewer.namespaces)
    return list(rows.order_by("namespace", "name").values_list("namespace", "name"))

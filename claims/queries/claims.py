"""Reads about the claims of a cluster, whoever made them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Q, QuerySet

from claims.domain.follow import FollowedClaim, followed, owner_pod_uid
from inventory.models import Cluster, KubeObject
from portal.accounts.domain.roles import Permission
from portal.accounts.queries import namespaces_of

if TYPE_CHECKING:
    from portal.accounts.models import User


def visible_claims(user: User, cluster: Cluster) -> QuerySet[KubeObject]:
    """Return the claims whose names a person may see, by namespace and name.

    Those of their namespaces, or all with the permission to.
    """
    rows = KubeObject.objects.filter(
        cluster=cluster, kind="ResourceClaim", deleted_at=None
    ).order_by("namespace", "name")
    if user.may(Permission.SEE_ALL_CLAIMS):
        return rows
    return rows.filter(namespace__in=namespaces_of(user, cluster.name))


def narrowed(
    rows: QuerySet[KubeObject], *, text: str, namespace: str
) -> QuerySet[KubeObject]:
    """Return the claims whose name holds a text, of one namespace where named."""
    if text:
        rows = rows.filter(Q(name__icontains=text))
    return rows.filter(namespace=namespace) if namespace else rows


def with_pods(cluster: Cluster, rows: list[KubeObject]) -> list[FollowedClaim]:
    """Return claims as they stand, with the pods that own them; one query."""
    uids = {owner_pod_uid(row.body) for row in rows} - {""}
    pods = KubeObject.objects.filter(
        cluster=cluster, kind="Pod", uid__in=uids, deleted_at=None
    ).values_list("uid", "body")
    by_uid = dict(pods)
    return [followed(row.body, by_uid) for row in rows]

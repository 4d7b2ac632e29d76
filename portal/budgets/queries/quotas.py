"""Reads about Kubernetes' own quotas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inventory.models import Cluster, KubeObject
from portal.accounts.domain.roles import Permission
from portal.accounts.models import TenantNamespace
from portal.budgets.domain.quotas import QuotaLine, lines_of

if TYPE_CHECKING:
    from portal.accounts.models import User

_UNREAD = frozenset({"forbidden", "not-served"})


@dataclass(frozen=True, slots=True)
class QuotaRow:
    """A ResourceQuota with limits on devices; `tenant` is "" for nobody's namespace."""

    cluster: str
    namespace: str
    name: str
    tenant: str
    lines: tuple[QuotaLine, ...]


@dataclass(frozen=True, slots=True)
class Quotas:
    """What quotas a person may see; `unread` are clusters that do not let them be read."""

    rows: tuple[QuotaRow, ...]
    unread: tuple[str, ...]


def quotas_for(user: User, cluster: str = "") -> Quotas:
    """Return the quotas on devices in a person's namespaces, or in all; three queries."""
    spaces = TenantNamespace.objects.select_related("tenant")
    clusters = Cluster.objects.only("name", "kinds").order_by("name")
    sees_all = user.may(Permission.SEE_ALL_CLAIMS)
    if not sees_all:
        spaces = spaces.filter(tenant__members=user)
    if cluster:
        clusters = clusters.filter(name=cluster)
    owners = {(row.cluster, row.namespace): row.tenant.name for row in spaces}
    if not sees_all:
        clusters = clusters.filter(name__in={name for name, _space in owners})
    known = list(clusters)
    rows = KubeObject.objects.filter(
        cluster__in=known, kind="ResourceQuota", deleted_at=None
    ).order_by("cluster__name", "namespace", "name")
    found = []
    for name, namespace, quota, body in rows.values_list(
        "cluster__name", "namespace", "name", "body"
    ):
        lines = tuple(lines_of(body))
        if lines and (sees_all or (name, namespace) in owners):
            tenant = owners.get((name, namespace), "")
            found.append(QuotaRow(name, namespace, quota, tenant, lines))
    unread = [row.name for row in known if row.state_of("ResourceQuota") in _UNREAD]
    return Quotas(tuple(found), tuple(unread))

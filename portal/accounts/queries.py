"""Reads about people and tenants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portal.accounts.models import TenantNamespace, User

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from portal.accounts.models import Tenant


def namespaces_of(user: User, cluster: str) -> list[str]:
    """Return the namespaces of a cluster that are this person's, sorted; one query."""
    return sorted(
        TenantNamespace.objects.filter(
            tenant__members=user, cluster=cluster
        ).values_list("namespace", flat=True)
    )


def tenant_of(cluster: str, namespace: str) -> Tenant | None:
    """Return the tenant that a namespace belongs to, or None; one query."""
    row = (
        TenantNamespace.objects.filter(cluster=cluster, namespace=namespace)
        .select_related("tenant")
        .first()
    )
    return row.tenant if row else None


def service_accounts_of(user: User) -> QuerySet[User]:
    """Return the service accounts of a person's tenants that are not ended, by name."""
    rows = User.objects.filter(service_of__in=user.tenants.all(), is_active=True)
    return rows.select_related("service_of").order_by("username")


def groups_of(user: User) -> list[str]:
    """Return the Kubernetes groups that this person acts with, sorted; one query."""
    return sorted(user.tenants.values_list("group", flat=True))

"""Writes about people and tenants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib.auth.hashers import check_password
from django.db import transaction

from portal.accounts.models import Membership, Tenant, TenantNamespace, User

if TYPE_CHECKING:
    from collections.abc import Iterable


@transaction.atomic
def keep_person(*, username: str, password: str, roles: Iterable[str]) -> User:
    """Make this person be there, with this password and these roles."""
    user, _ = User.objects.get_or_create(username=username)
    user.roles = list(roles)
    if not check_password(password, user.password):
        user.set_password(password)
    user.save(update_fields=["roles", "password"])
    return user


@transaction.atomic
def keep_tenant(
    *, name: str, group: str, cluster: str, namespaces: Iterable[str]
) -> Tenant:
    """Make this tenant be there, with these namespaces of a cluster and no others."""
    tenant, _ = Tenant.objects.update_or_create(name=name, defaults={"group": group})
    wanted = set(namespaces)
    tenant.namespaces.filter(cluster=cluster).exclude(namespace__in=wanted).delete()
    for namespace in wanted:
        TenantNamespace.objects.update_or_create(
            cluster=cluster, namespace=namespace, defaults={"tenant": tenant}
        )
    return tenant


def join(*, user: User, tenant: Tenant) -> None:
    """Make a person a member of a tenant."""
    Membership.objects.get_or_create(user=user, tenant=tenant)

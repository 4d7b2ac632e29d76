"""Writes about people and tenants."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from django.contrib.auth.hashers import check_password
from django.db import transaction
from django.utils.translation import gettext as _

from portal.accounts.models import Membership, Tenant, TenantNamespace, User
from portal.audit.context import acting
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Iterable


@transaction.atomic
def keep_person(*, username: str, password: str, roles: Iterable[str]) -> User:
    """Make this person be there, with this password and these roles."""
    user, _made = User.objects.get_or_create(username=username)
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
    tenant, _made = Tenant.objects.update_or_create(
        name=name, defaults={"group": group}
    )
    wanted = set(namespaces)
    tenant.namespaces.filter(cluster=cluster).exclude(namespace__in=wanted).delete()
    for namespace in wanted:
        TenantNamespace.objects.update_or_create(
            cluster=cluster, namespace=namespace, defaults={"tenant": tenant}
        )
    return tenant


def password_was_set(user: User, *, request_id: str, now: datetime) -> None:
    """Store a password that a person has just set themself, and when."""
    user.password_set_at = now
    with acting(actor=user.username, request_id=request_id):
        user.save(update_fields=["password", "password_set_at"])


class NameTaken(PortalError):
    """An account of that name is there already."""

    code = "accounts.name_taken"


@transaction.atomic
def make_service_account(*, tenant: Tenant, name: str) -> User:
    """Make an account of a tenant that no person has, and that only tokens sign in as.

    Raises:
        NameTaken: The tenant has, or had, one of that name.
    """
    user = User(username=f"service:{tenant.name}:{name}", service_of=tenant)
    user.set_unusable_password()
    if User.objects.filter(username=user.username).exists():
        raise NameTaken(_("There is, or was, one of that name: take another."))
    user.save()
    join(user=user, tenant=tenant)
    return user


@transaction.atomic
def end_service_account(user: User, *, now: datetime) -> None:
    """End an account of a tenant: its tokens work no longer, its name stays taken."""
    user.api_tokens.filter(revoked_at=None).update(revoked_at=now)
    User.objects.filter(pk=user.pk).update(is_active=False)


def join(*, user: User, tenant: Tenant) -> None:
    """Make a person a member of a tenant."""
    Membership.objects.get_or_create(user=user, tenant=tenant)

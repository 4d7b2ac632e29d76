"""People that a provider vouches for: their account, roles and teams follow it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from portal.accounts.models import GroupMapping, Membership, User
from portal.core.errors import PortalError

LONGEST_NAME = 150


class NotAdmitted(PortalError):
    """The provider vouches for somebody that cannot be let in."""

    code = "accounts.not_admitted"


@transaction.atomic
def keep_provided_person(claims: Mapping[str, Any]) -> User:
    """Return the person of checked claims, made or brought up to date.

    Known by issuer and subject; an account with a password is never taken over.

    Raises:
        NotAdmitted: They have no name that can be used here.
    """
    name = username_of(claims)
    identity = {
        "issuer": settings.SLICEWISE_OIDC_ISSUER,
        "subject": str(claims["sub"]),
    }
    user = User.objects.select_for_update().filter(**identity).first()
    user = user or User(**identity, password="!")  # noqa: S106  none that works
    if User.objects.filter(username=name).exclude(pk=user.pk).exists():
        raise NotAdmitted(
            _("Somebody else has the name %(name)s here. Ask an administrator.")
            % {"name": name}
        )
    user.username = name
    user.email = str(claims.get("email") or "")[:254]
    roles, tenants = rights_of(groups_in(claims) or [])
    user.roles = roles
    user.save()
    Membership.objects.filter(user=user).exclude(tenant__in=tenants).delete()
    Membership.objects.bulk_create(
        [Membership(user=user, tenant_id=tenant) for tenant in tenants],
        ignore_conflicts=True,
    )
    return user


def username_of(claims: Mapping[str, Any]) -> str:
    """Return the name that the cluster, too, knows the person by.

    Raises:
        NotAdmitted: The claim is missing, unverified, too long, or a name that
            belongs to Kubernetes or to a service account.
    """
    claim = settings.SLICEWISE_OIDC_USERNAME_CLAIM
    value = claims.get(claim)
    if not isinstance(value, str) or not value.strip():
        raise NotAdmitted(
            _("The provider sends no “%(claim)s” for you. Ask an administrator.")
            % {"claim": claim}
        )
    if claim == "email" and claims.get("email_verified", True) is not True:
        raise NotAdmitted(_("Your e-mail address is not verified at the provider."))
    name = f"{settings.SLICEWISE_OIDC_USERNAME_PREFIX}{value}"
    if name.startswith(("system:", "service:")) or len(name) > LONGEST_NAME:
        raise NotAdmitted(
            _("Nobody may have the name %(name)s here. Ask an administrator.")
            % {"name": name[:LONGEST_NAME]}
        )
    return name


def groups_in(claims: Mapping[str, Any]) -> list[str] | None:
    """Return the groups that claims name; None where they say nothing of groups."""
    value = claims.get(settings.SLICEWISE_OIDC_GROUPS_CLAIM)
    if value is None:
        return None
    listed = [value] if isinstance(value, str) else value
    return [each for each in listed if isinstance(each, str)]


def rights_of(groups: Iterable[str]) -> tuple[list[str], list[int]]:
    """Return the roles, and the ids of the tenants, that groups give; one query."""
    rows = list(GroupMapping.objects.filter(group__in=list(groups)))
    roles = sorted({row.role for row in rows if row.role})
    return roles, sorted({row.tenant_id for row in rows if row.tenant_id is not None})

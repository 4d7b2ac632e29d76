"""Tenants, made and changed by administrators: by compare-and-set, audited."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import F, ProtectedError
from django.utils.translation import gettext as _

from portal.accounts.clusters import known_clusters
from portal.accounts.domain.roles import Permission
from portal.accounts.models import Membership, Tenant, TenantNamespace, User
from portal.audit.context import acting
from portal.core.errors import FieldRefused, PortalError

if TYPE_CHECKING:
    from django.db.models import QuerySet

Place = tuple[str, str]


class TenantRefused(FieldRefused):
    """A tenant that cannot be; the message says why.

    Attributes:
        field: name, group, members, namespaces, or "".
    """

    code = "tenant.refused"


class TenantChanged(PortalError):
    """Somebody changed it since it was read."""

    code = "tenant.changed"


class TenantInUse(PortalError):
    """Requests or budgets are of this tenant, so that it has to stay."""

    code = "tenant.in_use"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a tenant is to be.

    Attributes:
        group: the Kubernetes group that its members act with.
        members: names of people with passwords; whoever comes by the provider
            follows their groups, and is neither added nor removed.
        namespaces: (cluster, namespace) of each.
    """

    group: str
    members: frozenset[str]
    namespaces: frozenset[Place]


def tenants_for(user: User) -> QuerySet[Tenant]:
    """Return the tenants that a person may look at: their own, or all; by name."""
    rows = Tenant.objects.order_by("name").prefetch_related("namespaces", "members")
    if user.may(Permission.MANAGE_PEOPLE) or user.may(Permission.SEE_ALL_CLAIMS):
        return rows
    return rows.filter(pk__in=user.tenants.values("pk"))


def make_tenant(name: str, wanted: Wanted, *, actor: User, request_id: str) -> Tenant:
    """Make a tenant.

    Raises:
        TenantRefused: The name is taken, or something in it cannot be.
    """
    row = Tenant(name=name, group=wanted.group)
    _check_columns(row)
    with (
        transaction.atomic(),
        acting(actor=actor.username, request_id=request_id),
    ):
        _saved(row)
        _set_members(row, wanted.members)
        _set_namespaces(row, wanted.namespaces)
    return row


def change_tenant(
    tenant: Tenant,
    wanted: Wanted,
    *,
    version: int,
    reason: str,
    actor: User,
    request_id: str,
) -> Tenant:
    """Set a tenant's group, members and namespaces.

    Args:
        tenant: which; its name stays.
        wanted: all that it has from now on.
        version: the one that the administrator saw.
        reason: for the audit trail.
        actor: who changes it.
        request_id: of the HTTP request, for the audit trail.

    Raises:
        TenantRefused: Something in it cannot be; nothing was changed.
        TenantChanged: Somebody was first.
    """
    with (
        transaction.atomic(),
        acting(actor=actor.username, reason=reason, request_id=request_id),
    ):
        row = _taken(tenant, version)
        row.group = wanted.group
        _check_columns(row)
        _saved(row)
        _set_members(row, wanted.members)
        _set_namespaces(row, wanted.namespaces)
    return row


def remove_tenant(
    tenant: Tenant, *, version: int, reason: str, actor: User, request_id: str
) -> None:
    """Remove a tenant that nothing was ever asked for.

    Raises:
        TenantChanged: Somebody was first.
        TenantInUse: Requests, budgets or service accounts are of it.
    """
    try:
        with (
            transaction.atomic(),
            acting(actor=actor.username, reason=reason, request_id=request_id),
        ):
            _taken(tenant, version).delete()
    except ProtectedError as error:
        raise TenantInUse(
            _(
                "Requests, budgets or service accounts are of %(name)s, and their"
                " record stays: take its members and namespaces away instead."
            )
            % {"name": tenant.name}
        ) from error


def _taken(tenant: Tenant, version: int) -> Tenant:
    """Return the tenant, a version further; of two at once one is told."""
    rows = Tenant.objects.filter(pk=tenant.pk, version=version)
    if not rows.update(version=F("version") + 1):
        raise TenantChanged(
            _("Somebody changed this team meanwhile: look again, then change it.")
        )
    return Tenant.objects.get(pk=tenant.pk)


def _check_columns(row: Tenant) -> None:
    try:
        row.full_clean(validate_unique=False, validate_constraints=False)
    except ValidationError as error:
        field, messages = next(iter(error.message_dict.items()))
        raise TenantRefused(" ".join(messages), field) from error


def _saved(row: Tenant) -> None:
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError as error:
        field = "group" if "group" in str(error) else "name"
        raise TenantRefused(
            _("Another team has that group.")
            if field == "group"
            else _("There is a team of that name already."),
            field,
        ) from error


def _set_members(tenant: Tenant, names: frozenset[str]) -> None:
    people = {
        user.username: user
        for user in User.objects.filter(username__in=names, service_of=None)
    }
    if unknown := sorted(names - people.keys()):
        raise TenantRefused(
            _(
                "There is no person named %(name)s: make them first, or see the spelling."
            )
            % {"name": unknown[0]},
            "members",
        )
    members = Membership.objects.filter(tenant=tenant)
    here = set(members.values_list("user__username", flat=True))
    for name in sorted(people.keys() - here):
        if people[name].subject:
            raise TenantRefused(
                _("%(name)s comes by the provider: map one of their groups instead.")
                % {"name": name},
                "members",
            )
        Membership.objects.create(user=people[name], tenant=tenant)
    by_hand = members.filter(user__subject="", user__service_of=None)
    by_hand.exclude(user__username__in=names).delete()


def _set_namespaces(tenant: Tenant, places: frozenset[Place]) -> None:
    here = {(row.cluster, row.namespace): row for row in tenant.namespaces.all()}
    new = sorted(places - here.keys())
    _check_places(new)
    for place in here.keys() - places:
        here[place].delete()
    for cluster, namespace in new:
        try:
            with transaction.atomic():
                TenantNamespace.objects.create(
                    tenant=tenant, cluster=cluster, namespace=namespace
                )
        except IntegrityError as error:
            raise TenantRefused(
                _("%(namespace)s in %(cluster)s is another team's: take it away there.")
                % {"namespace": namespace, "cluster": cluster},
                "namespaces",
            ) from error


def _check_places(places: Iterable[Place]) -> None:
    known = known_clusters()
    for cluster, namespace in places:
        if cluster not in known:
            raise TenantRefused(
                _("There is no cluster named “%(name)s”: see the spelling.")
                % {"name": cluster},
                "namespaces",
            )
        row = TenantNamespace(cluster=cluster, namespace=namespace)
        try:
            row.clean_fields(exclude=["tenant"])
        except ValidationError as error:
            raise TenantRefused(" ".join(error.messages), "namespaces") from error

"""What groups of the sign-in provider give: added and taken away, audited."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from portal.accounts.domain.roles import Role
from portal.accounts.models import GroupMapping, Tenant
from portal.audit.context import acting
from portal.core.errors import FieldRefused

if TYPE_CHECKING:
    from portal.accounts.models import User


class MappingRefused(FieldRefused):
    """A mapping that cannot be.

    Attributes:
        field: group, role or tenant.
    """

    code = "group_mapping.refused"


def add_mapping(
    *, group: str, role: str, tenant: str, actor: User, request_id: str
) -> GroupMapping:
    """Let a group give one role, or membership of one tenant, from the next sign-in.

    Args:
        group: as the provider writes it.
        role: a role, or "".
        tenant: a tenant's name, or "".
        actor: who lets it.
        request_id: of the HTTP request, for the audit trail.

    Raises:
        MappingRefused: It gives neither or both, what there is not, or that already.
    """
    if bool(role) == bool(tenant):
        raise MappingRefused(_("Name a role or a team: one of the two."), "role")
    if role and role not in {each.value for each in Role}:
        raise MappingRefused(
            _("There is no role %(name)s: take %(known)s.")
            % {"name": role, "known": ", ".join(each.value for each in Role)},
            "role",
        )
    row = Tenant.objects.filter(name=tenant).first() if tenant else None
    if tenant and row is None:
        raise MappingRefused(
            _("There is no tenant named “%(name)s”: choose one that there is.")
            % {"name": tenant},
            "tenant",
        )
    try:
        with (
            transaction.atomic(),
            acting(actor=actor.username, request_id=request_id),
        ):
            return GroupMapping.objects.create(group=group, role=role, tenant=row)
    except IntegrityError as error:
        raise MappingRefused(_("This group gives that already."), "group") from error


def remove_mapping(pk: int, *, actor: User, request_id: str) -> bool:
    """Take away what a group gives; return whether there was such a mapping."""
    with acting(actor=actor.username, request_id=request_id):
        _count, by_model = GroupMapping.objects.filter(pk=pk).delete()
    return bool(by_model)

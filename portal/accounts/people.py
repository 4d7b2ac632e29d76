"""People, made and changed by administrators: by compare-and-set, audited."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from django.contrib.auth.tokens import default_token_generator
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import gettext as _

from portal.accounts import second_factor
from portal.accounts.domain.roles import Role
from portal.accounts.models import User, not_system
from portal.audit.context import acting
from portal.core.errors import FieldRefused, PortalError

if TYPE_CHECKING:
    from django.db.models import QuerySet

# Names that are not a person's of their own choice.
SERVICE = "service:"


class PersonRefused(FieldRefused):
    """What cannot be; the message says why.

    Attributes:
        field: of the form, or "".
    """

    code = "person.refused"


class PersonChanged(PortalError):
    """Somebody changed them since they were read."""

    code = "person.changed"


def people_found(text: str = "") -> QuerySet[User]:
    """Return people, not service accounts, whose name or e-mail holds a text; by name."""
    rows = User.objects.filter(service_of=None).prefetch_related("tenants")
    if text:
        rows = rows.filter(Q(username__icontains=text) | Q(email__icontains=text))
    return rows.select_related("second_factor").order_by("username")


def state_of(user: User) -> str:
    """Return what changes with a person's roles and whether they may sign in."""
    text = f"{user.pk} {sorted(user.roles)} {user.is_active}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def make_person(
    *, username: str, roles: Iterable[str], actor: User, request_id: str
) -> User:
    """Make an account with a password that is yet to be chosen, by a link.

    Raises:
        PersonRefused: The name is taken, or cannot be one.
    """
    user = User(username=username.strip(), roles=_known(roles))
    user.set_unusable_password()
    try:
        not_system(user.username)
        user.full_clean(exclude=["password"])
    except ValidationError as error:
        raise PersonRefused(" ".join(error.messages), "username") from error
    if user.username.startswith(SERVICE):
        raise PersonRefused(
            _("A name that starts with “service:” is of a service account."), "username"
        )
    try:
        with transaction.atomic(), acting(actor=actor.username, request_id=request_id):
            user.save()
    except IntegrityError as error:
        raise PersonRefused(
            _("There is a person of that name already."), "username"
        ) from error
    return user


@transaction.atomic
def change_person(  # noqa: PLR0913  each is one fact of the change
    user: User,
    *,
    seen: str,
    roles: Iterable[str],
    is_active: bool,
    reason: str,
    actor: User,
    request_id: str,
) -> User:
    """Set a person's roles, and whether they may sign in.

    Args:
        user: who.
        seen: `state_of` as the administrator saw it.
        roles: all that they have from now on.
        is_active: whether they may sign in, and their tokens work.
        reason: for the audit trail.
        actor: who changes it.
        request_id: of the HTTP request, for the audit trail.

    Raises:
        PersonChanged: Somebody was first.
        PersonRefused: Roles follow the provider's groups, or no administrator is left.
    """
    admins = _lock_admins()
    row = User.objects.select_for_update().get(pk=user.pk)
    if state_of(row) != seen:
        raise PersonChanged(
            _("Somebody changed this person meanwhile: look again, then change it.")
        )
    wanted = _known(roles)
    if row.subject and wanted != sorted(row.roles):
        raise PersonRefused(
            _(
                "Roles of whoever signs in by the provider follow their groups: map those."
            ),
            "roles",
        )
    stays = is_active and Role.ADMIN in wanted
    if not stays and admins == {row.pk}:
        raise PersonRefused(
            _("This is the last administrator: make another one first."), "roles"
        )
    row.roles, row.is_active = wanted, is_active
    with acting(actor=actor.username, reason=reason, request_id=request_id):
        row.save(update_fields=["roles", "is_active"])
    return row


def _lock_admins() -> set[int]:
    """Return who may administer, locked, so that two do not remove each other."""
    rows = User.objects.select_for_update().filter(
        roles__contains=[Role.ADMIN.value], is_active=True
    )
    return set(rows.order_by("pk").values_list("pk", flat=True))


def _known(roles: Iterable[str]) -> list[str]:
    wanted = sorted(set(roles))
    unknown = [name for name in wanted if name not in {role.value for role in Role}]
    if unknown:
        raise PersonRefused(
            _("There is no role %(name)s: take %(known)s.")
            % {"name": unknown[0], "known": ", ".join(role.value for role in Role)},
            "roles",
        )
    return wanted


def password_link(
    user: User, *, reason: str, actor: User, request_id: str, now: datetime
) -> str:
    """Return the path by which a person chooses a password, once, within three days.

    Whoever has it can sign in as them, so that it is for nobody else.

    Raises:
        PersonRefused: They come by the provider, or are no person.
    """
    if user.subject or user.service_of_id is not None:
        raise PersonRefused(_("This account has no password of the portal's own."))
    user.link_given_at = now
    with acting(actor=actor.username, reason=reason, request_id=request_id):
        user.save(update_fields=["link_given_at"])
    key = urlsafe_base64_encode(force_bytes(user.pk))
    token = default_token_generator.make_token(user)
    return reverse("accounts:set-password", args=[key, token])


def reset_second_factor(
    user: User, *, actor: User, reason: str, request_id: str
) -> None:
    """Ask no code of a person any more, who then sets up another phone.

    Raises:
        PersonRefused: It is oneself, nobody said why, or there is nothing to reset.
    """
    if user.pk == actor.pk:
        raise PersonRefused(_("Your own is switched off on the page “Your account”."))
    if not reason.strip():
        raise PersonRefused(_("Say why, in a sentence: it is recorded."), "reason")
    there = second_factor.switch_off(
        user, actor=actor.username, reason=reason.strip(), request_id=request_id
    )
    if not there:
        raise PersonRefused(_("This person has no second factor: nothing was changed."))

"""Making, finding and ending API tokens."""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING

from django.db.models import Q

from portal.accounts.domain.scopes import permissions_within
from portal.accounts.models import ApiToken

if TYPE_CHECKING:
    from collections.abc import Iterable
    from uuid import UUID

    from django.db.models import QuerySet

    from portal.accounts.models import User

PREFIX = "swt_"
SHOWN_CHARACTERS = 10
# The moment of last use is written at most so often.
USE_NOTED_EVERY = timedelta(minutes=1)


def make_token(
    *,
    user: User,
    name: str,
    scopes: Iterable[str],
    days: int,
    now: datetime,
    addresses: Iterable[str] = (),
) -> tuple[ApiToken, str]:
    """Make a token; return its row and the token, which nobody can show again.

    Args:
        user: its owner.
        name: what it is for, in the owner's words.
        scopes: values of Scope.
        days: after so many it ends.
        now: the moment of asking.
        addresses: networks from which alone it works; none: from anywhere.
    """
    token = PREFIX + secrets.token_urlsafe(32)
    row = ApiToken.objects.create(
        user=user,
        name=name,
        prefix=token[:SHOWN_CHARACTERS],
        digest=digest_of(token),
        scopes=sorted(set(scopes)),
        addresses=list(addresses),
        created_at=now,
        expires_at=now + timedelta(days=days),
    )
    return row, token


def digest_of(token: str) -> str:
    """Return what is stored of a token. It holds 256 random bits: no salt is needed."""
    return hashlib.sha256(token.encode()).hexdigest()


def tokens_of(user: User) -> QuerySet[ApiToken]:
    """Return a person's tokens, newest first."""
    return ApiToken.objects.filter(user=user).order_by("-created_at", "-pk")


def use_token(token: str, *, now: datetime) -> ApiToken | None:
    """Return the token's row with its owner narrowed to it, or None; notes the use.

    One query, a second at most once a minute.
    """
    row = _valid(now).filter(digest=digest_of(token)).first()
    if row is None:
        return None
    if row.last_used_at is None or row.last_used_at < now - USE_NOTED_EVERY:
        ApiToken.objects.filter(pk=row.pk).update(last_used_at=now)
    row.user.limited_to = permissions_within(row.scopes)
    return row


def works_from(row: ApiToken, address: str) -> bool:
    """Return whether a token works from an address; one that is unknown is none."""
    if not row.addresses:
        return True
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    plain = getattr(found, "ipv4_mapped", None) or found
    return any(plain in ip_network(network) for network in row.addresses)


def present_owner(user: User, token: ApiToken | None, *, now: datetime) -> User | None:
    """Return who somebody that signed in earlier is now; None where they are nobody.

    Makes one query, and notes no use.

    Args:
        user: as they signed in.
        token: what they signed in with; None where it was a session.
        now: the moment of asking.
    """
    if token is None:
        found = type(user).objects.filter(pk=user.pk, is_active=True).first()
        if found is not None:
            found.limited_to = user.limited_to
        return found
    row = _valid(now).filter(pk=token.pk).first()
    if row is None:
        return None
    row.user.limited_to = permissions_within(row.scopes)
    return row.user


def _valid(now: datetime) -> QuerySet[ApiToken]:
    return ApiToken.objects.select_related("user").filter(
        revoked_at=None, expires_at__gt=now, user__is_active=True
    )


def revoke_token(*, user: User, public_id: UUID, now: datetime) -> bool:
    """End one of a person's tokens; return whether there was such a token to end."""
    rows = ApiToken.objects.filter(Q(revoked_at=None), user=user, public_id=public_id)
    return bool(rows.update(revoked_at=now))

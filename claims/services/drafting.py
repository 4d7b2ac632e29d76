"""Drafts: forms kept for a person until they are submitted, discarded or too old."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import orjson
from django.utils.translation import gettext as _

from claims.domain.draft_fields import to_fields
from claims.models import ComposeDraft
from claims.services.writing import draft_of
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from claims.domain.draft import Draft
    from inventory.models import Cluster
    from portal.accounts.models import User

KEPT_FOR = timedelta(days=30)
MOST_DRAFTS = 100
MOST_BYTES = 512 * 1024


class DraftRefused(PortalError):
    """A draft that is not kept."""

    code = "draft.refused"


def drafts_of(user: User) -> QuerySet[ComposeDraft]:
    """Return a person's drafts, the last changed first."""
    rows = ComposeDraft.objects.filter(owner=user).select_related("cluster")
    return rows.order_by("-changed_at", "-pk")


def form_key(given: str) -> uuid.UUID:
    """Return a form's key as it came, or a new one where it is none."""
    try:
        return uuid.UUID(given)
    except ValueError:
        return uuid.uuid4()


def keep(
    user: User,
    cluster: Cluster,
    draft: Draft,
    *,
    key: uuid.UUID,
    origin: str,
    now: datetime,
) -> ComposeDraft:
    """Keep a form as it stands; the same key is the same draft.

    Args:
        user: whose it is.
        cluster: where it would be submitted.
        draft: the form.
        key: the form's own.
        origin: what it was begun from, as the form carries it; "" for nothing.
        now: the moment.

    Raises:
        DraftRefused: There are too many, or it is too large.
    """
    fields = to_fields(draft)
    if len(orjson.dumps(fields)) > MOST_BYTES:
        text = _("The form is too large to be kept as a draft: submit it, or split it.")
        raise DraftRefused(text, code="draft.too_large")
    mine = ComposeDraft.objects.filter(owner=user)
    if not mine.filter(public_id=key).exists() and mine.count() >= MOST_DRAFTS:
        raise DraftRefused(
            _("You have %(n)d drafts already: discard one first.") % {"n": MOST_DRAFTS},
            code="draft.too_many",
        )
    changed = {
        "cluster": cluster,
        "fields": fields,
        "origin": origin[:400],
        "changed_at": now,
    }
    row, _made = ComposeDraft.objects.update_or_create(
        owner=user,
        public_id=key,
        defaults=changed,
        create_defaults={**changed, "created_at": now},
    )
    return row


def form_of(row: ComposeDraft) -> Draft:
    """Return the form as it was kept."""
    return draft_of(row.fields)


def discard(user: User, key: uuid.UUID) -> bool:
    """Forget a draft; return whether there was one."""
    deleted, _rows = ComposeDraft.objects.filter(owner=user, public_id=key).delete()
    return bool(deleted)


def forget_old(*, now: datetime) -> int:
    """Forget the drafts that nobody changed for a month; return how many."""
    old = ComposeDraft.objects.filter(changed_at__lt=now - KEPT_FOR)
    deleted, _rows = old.delete()
    return deleted

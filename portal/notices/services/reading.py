"""What a person does with their bell."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from portal.notices.models import Receipt

if TYPE_CHECKING:
    from collections.abc import Collection
    from uuid import UUID

    from portal.accounts.models import User


def mark_read(
    person: User, *, now: datetime, ids: Collection[UUID] | None = None
) -> int:
    """Mark a person's notices as read, some or all; return how many were not yet."""
    rows = Receipt.objects.filter(person=person, read_at=None)
    if ids is not None:
        rows = rows.filter(notice__public_id__in=ids)
    return rows.update(read_at=now)

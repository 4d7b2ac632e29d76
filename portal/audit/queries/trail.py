"""Reads about the sealed record."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from django.db.models import Q

from portal.audit.context import AUDIT_IDS
from portal.audit.models import Seal

if TYPE_CHECKING:
    from django.db.models import QuerySet


@dataclass(frozen=True)
class Filters:
    """What is looked for; empty finds everything.

    Attributes:
        text: in the reason, the request id, the API server's audit id, or the changed
            object's id or message.
        is_whole: also what says nothing but that a worker was at it.
    """

    actor: str = ""
    text: str = ""
    table: str = ""
    since: datetime | None = None
    until: datetime | None = None
    is_whole: bool = False


def trail(filters: Filters) -> QuerySet[Seal]:
    """Return seals, newest first."""
    rows = Seal.objects.order_by("-number")
    if not filters.is_whole:
        rows = rows.filter(is_routine=False)
    if filters.actor:
        rows = rows.filter(actor=filters.actor)
    if filters.table:
        rows = rows.filter(table=filters.table)
    if filters.since:
        rows = rows.filter(at__gte=filters.since)
    if filters.until:
        rows = rows.filter(at__lt=filters.until)
    if filters.text:
        rows = rows.filter(
            Q(reason__icontains=filters.text)
            | Q(request_id=filters.text)
            | Q(content__context__contains={AUDIT_IDS: [filters.text]})
            | Q(content__event__public_id=filters.text)
            | Q(content__event__message__icontains=filters.text)
            | Q(content__event__justification__icontains=filters.text)
        )
    return rows

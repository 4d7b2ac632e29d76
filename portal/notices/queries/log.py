"""The log of events, as far as a person may see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import connection
from django.db.models import Exists, Min, OuterRef, Q

from portal.accounts.domain.roles import Permission
from portal.notices.models import Delivery, Notice, Receipt, Subscription

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from portal.accounts.models import User


def visible_notices(person: User) -> QuerySet[Notice]:
    """Return the notices that a person may see: their own, their tenants', or all."""
    rows = Notice.objects.select_related("tenant")
    if person.may(Permission.SEE_ALL_CLAIMS):
        return rows
    told = Receipt.objects.filter(notice=OuterRef("pk"), person=person)
    return rows.filter(Q(tenant__in=person.tenants.all()) | Exists(told))


def notices_after(person: User, number: int, limit: int) -> list[Notice]:
    """Return the next notices behind a number, in the order of the log."""
    rows = visible_notices(person).filter(number__gt=number).order_by("number")
    return list(rows[:limit])


def span() -> tuple[int, int]:
    """Return (the number before the first that is kept, the newest that was given)."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT CASE WHEN is_called THEN last_value ELSE 0 END"
            " FROM notices_notice_number"
        )
        (newest,) = cursor.fetchone()
    first = Notice.objects.aggregate(first=Min("number"))["first"]
    return (newest if first is None else first - 1), newest


def receipts_of(person: User) -> QuerySet[Receipt]:
    """Return what a person's bell holds, newest first."""
    rows = Receipt.objects.filter(person=person, is_quiet=False)
    return rows.select_related("notice__tenant").order_by("-pk")


def unread_count(person: User) -> int:
    """Return how many notices a person has not read; one query on an index."""
    return Receipt.objects.filter(person=person, is_quiet=False, read_at=None).count()


def subscriptions_of(person: User) -> QuerySet[Subscription]:
    """Return the subscriptions that a person manages: theirs and their tenants'."""
    rows = Subscription.objects.filter(
        Q(person=person) | Q(tenant__in=person.tenants.all())
    )
    return rows.select_related("tenant", "person").order_by("-pk")


def deliveries_of(person: User) -> QuerySet[Delivery]:
    """Return the deliveries of the subscriptions that a person manages, newest first."""
    rows = Delivery.objects.filter(
        Q(subscription__person=person)
        | Q(subscription__tenant__in=person.tenants.all())
    )
    return rows.select_related("notice__tenant", "subscription").order_by("-pk")

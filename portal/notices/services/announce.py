"""The one way to tell people and programs that something happened."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from portal.core.wake import notify, wake
from portal.notices.domain.events import EVENTS, QUIET
from portal.notices.models import Delivery, Notice, Receipt, Subscription

if TYPE_CHECKING:
    from collections.abc import Iterable

    from portal.accounts.models import Tenant, User

# A notification of Postgres holds 8,000 bytes; whoever is beyond sees it on reload.
MOST_TOLD_LIVE = 500


@transaction.atomic
def announce(  # noqa: PLR0913  each is one fact of the notice
    event: str,
    *,
    subject: str,
    tenant: Tenant | None,
    people: Iterable[User] = (),
    payload: dict[str, Any],
    url: str,
    at: datetime | None = None,
) -> Notice:
    """Write a notice, who is told of it, and its deliveries, in the caller's transaction.

    Args:
        event: one of `portal.notices.domain.events.EVENTS`.
        subject: what it is about, in names that need no translation.
        tenant: whose it is; its members see it in the log of events, and the
            tenant's subscriptions get it.
        people: whose bell shows it, and whose own subscriptions get it.
        payload: JSON that whoever gets it may see; no secrets.
        url: the path of the page that shows it.
        at: when it happened; now, where that is not said.

    Raises:
        ValueError: There is no such event.
    """
    if event not in EVENTS:
        raise ValueError(f"no event is called {event}")
    now = at or timezone.now()
    notice = Notice.objects.create(
        event=event,
        subject=subject[:400],
        tenant=tenant,
        payload=payload,
        url=url,
        at=now,
    )
    told = {person.pk for person in people}
    Receipt.objects.bulk_create(
        Receipt(notice=notice, person_id=pk, is_quiet=event in QUIET)
        for pk in sorted(told)
    )
    _deliver(notice, told, now)
    notify(notice=notice.pk, people=sorted(told)[:MOST_TOLD_LIVE])
    return notice


def _deliver(notice: Notice, told: set[int], now: datetime) -> None:
    rows = Subscription.objects.filter(
        Q(person__in=told, person__is_active=True)
        | Q(tenant__isnull=False, tenant=notice.tenant),
        events__contains=[notice.event],
        off_because="",
    )
    made = Delivery.objects.bulk_create(
        Delivery(notice=notice, subscription=row, created_at=now, changed_at=now)
        for row in rows
    )
    for delivery in made:
        wake("notices.deliver", delivery_id=delivery.pk)

"""Reads about budgets: whose there are, and what is taken of each."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from django.db.models import Q
from django.utils import timezone

from claims.domain.lifecycle import IN_CLUSTER, State
from portal.accounts.domain.roles import Permission
from portal.budgets.domain.amounts import NOTHING, Amounts
from portal.budgets.domain.limits import Open, Taken, month_of, taken_of
from portal.budgets.models import Booking, Budget
from portal.budgets.queries.hours import hours_held
from portal.budgets.queries.use import Held

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.db.models import QuerySet

    from portal.accounts.models import Tenant, User

# Its request is not over yet: what it booked counts.
_COUNTS = Q(
    claim_request__state__in=[
        *(State.SUBMITTED, State.PENDING_APPROVAL, State.APPROVED, State.APPLYING),
    ]
) | Q(claim_request__state__in=list(IN_CLUSTER)) & ~Q(claim_request__object_uid="")


def visible_to(user: User) -> QuerySet[Budget]:
    """Return the budgets that a person may see: their tenants', or all."""
    rows = Budget.objects.select_related("tenant").order_by(
        "tenant__name", "cluster", "namespace"
    )
    if user.may(Permission.SEE_ALL_CLAIMS):
        return rows
    return rows.filter(tenant__in=user.tenants.all())


def budgets_over(tenant: Tenant, cluster: str, namespace: str) -> QuerySet[Budget]:
    """Return the budgets that a request in a namespace counts in."""
    return (
        Budget.objects.filter(tenant=tenant)
        .filter(Q(cluster="") | Q(cluster=cluster))
        .filter(Q(namespace="") | Q(namespace=namespace))
        .select_related("tenant")
        .order_by("pk")
    )


def open_bookings(tenant: Tenant) -> list[Booking]:
    """Return what a tenant's requests book, of those that are not over; one query."""
    rows = Booking.objects.filter(_COUNTS, claim_request__tenant=tenant)
    return list(rows.select_related("claim_request__plan__cluster"))


def taken(
    budget: Budget,
    held: Iterable[Held],
    bookings: Iterable[Booking],
    *,
    now: datetime,
    without: int | None = None,
    hours: tuple[float, bool] | None = None,
) -> Taken:
    """Return what is taken of a budget.

    Args:
        budget: which.
        held: what claims of its tenant hold, or wait for.
        bookings: open ones of its tenant.
        now: the moment.
        without: key of a request whose own booking and claims do not count.
        hours: as `hours_held` said a moment ago; None to ask it.
    """
    local = timezone.localtime(now)
    begin, end = month_of(local)
    mine = [one for one in held if budget.covers(one.cluster, one.namespace)]
    opened: list[Open] = []
    known: set[str] = set()
    for booking in bookings:
        request = booking.claim_request
        plan = request.plan
        if not budget.covers(plan.cluster.name, plan.namespace):
            continue
        public_id = str(request.public_id)
        known.add(public_id)
        if request.pk == without:
            continue
        own = [one for one in mine if one.request == public_id]
        opened.append(Open(booking.amounts, *_sums(own), until=request.expires_at))
    foreign = [one for one in mine if one.request not in known]
    opened.append(Open(NOTHING, *_sums(foreign)))
    over, at_least = hours or hours_held(budget, begin, now)
    return taken_of(
        opened,
        now=now,
        month_end=end,
        hours=over,
        hours_at_least=at_least,
    )


def _sums(claims: Iterable[Held]) -> tuple[Amounts, Amounts]:
    """Return what claims hold together, and what they wait for."""
    holds = waits = NOTHING
    for one in claims:
        if one.waits:
            waits = waits + one.amounts
        else:
            holds = holds + one.amounts
    return holds, waits

"""The judge of budgets: refuses what would go over a hard limit, books the rest.

What is asked is worked out beforehand. It is booked in the transaction that
stores the request, while the budgets that it counts in are locked, so that of
many requests at once no two take what only one of them can have.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.urls import reverse
from django.utils import timezone

from claims.services.gate import Outcome, Ruling, Standing, Wish
from portal.accounts.domain.roles import GRANTS, Permission
from portal.accounts.models import User
from portal.budgets.domain.limits import Figure, Level, figures, hours_ahead, month_of
from portal.budgets.models import Booking, Budget
from portal.budgets.queries.budgets import budgets_over, open_bookings, taken
from portal.budgets.queries.use import Held
from portal.budgets.services.ledger import counted_claims
from portal.budgets.services.needing import Need, need_in
from portal.budgets.services.wording import (
    amount_text,
    asks_text,
    over_hard_text,
    over_soft_text,
)
from portal.core.errors import PortalError
from portal.notices.models import Notice
from portal.notices.services.announce import announce

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.db.models import QuerySet

    from claims.models import ClaimRequest

CODE = "budget.exceeded"
TOLD_EVERY = timedelta(hours=24)

Judged = list[tuple[Budget, list[Figure]]]


class OverBudget(PortalError):
    """The request would go over a hard limit; the message has the figures."""

    code = CODE


class BudgetJudge:
    """Judges by the budgets of the tenant; books what passes."""

    def judge(self, wish: Wish) -> Ruling:
        """Return whether a wish is within its budgets, as they are at this moment."""
        need = need_in(wish.cluster, wish.manifest)
        detail: dict[str, Any] = {"need": need, "held": []}
        if wish.tenant is None:
            return Ruling(outcome=Outcome.AUTO, detail=detail)
        namespace = str(wish.manifest["metadata"].get("namespace", ""))
        rows = budgets_over(wish.tenant, wish.cluster.name, namespace)
        budgets = list(rows)
        if not budgets:
            return Ruling(outcome=Outcome.AUTO, detail=detail)
        detail["held"] = counted_claims(wish.tenant)
        judged = against(
            budgets,
            need,
            detail["held"],
            now=wish.now,
            until=wish.ends_at,
            without=wish.instead_of,
        )
        return _ruling(judged, need, detail)

    def stored(self, claim_request: ClaimRequest, ruling: Ruling) -> None:
        """Book what a stored request takes, under a lock of its budgets.

        Raises:
            OverBudget: Another request took what was left.
        """
        self._book(claim_request, ruling, now=claim_request.submitted_at)

    def changed(self, claim_request: ClaimRequest, ruling: Ruling) -> None:
        """Book what a changed request takes instead.

        Raises:
            OverBudget: There is not as much left.
        """
        self._book(claim_request, ruling, now=timezone.now())

    def _book(
        self, claim_request: ClaimRequest, ruling: Ruling, *, now: datetime
    ) -> None:
        plan, need = claim_request.plan, ruling.detail["need"]
        budgets = locked(
            budgets_over(claim_request.tenant, plan.cluster.name, plan.namespace)
        )
        if budgets:
            judged = against(
                budgets,
                need,
                ruling.detail["held"],
                now=now,
                until=claim_request.expires_at,
                without=claim_request.pk,
            )
            refuse_over(judged, need)
            tell_soft(judged, claim_request)
        amounts = need.amounts
        Booking.objects.update_or_create(
            claim_request=claim_request,
            defaults={
                "vram": amounts.vram,
                "vram_at_least": amounts.vram_at_least,
                "cards": amounts.cards,
                "slices": amounts.slices,
                "gpus": amounts.gpus,
                "booked_at": now,
            },
        )

    def check_apply(self, claim_request: ClaimRequest, *, now: datetime) -> None:
        """Let it pass: it is booked since it was stored."""

    def standing(self, claim_request: ClaimRequest) -> Standing | None:
        """Return None: budgets are not decided by people."""
        return None

    def tick(self, *, now: datetime) -> None:
        """Do nothing: a booking counts as long as its request."""


def locked(rows: QuerySet[Budget]) -> list[Budget]:
    """Return budgets, held for this transaction, always in the same order."""
    return list(rows.select_for_update(of=("self",)))


def against(
    budgets: Iterable[Budget],
    need: Need,
    held: list[Held],
    *,
    now: datetime,
    until: datetime | None,
    without: int | None = None,
) -> Judged:
    """Return what a need would do to each budget, all of one tenant."""
    rows = list(budgets)
    bookings = open_bookings(rows[0].tenant) if rows else []
    _begin, month_end = month_of(timezone.localtime(now))
    hours = hours_ahead(need.amounts.gpus, until, now, month_end)
    return [
        (
            budget,
            figures(
                budget.limits,
                taken(budget, held, bookings, now=now, without=without),
                need.amounts,
                hours,
            ),
        )
        for budget in rows
    ]


def _ruling(judged: Judged, need: Need, detail: dict[str, Any]) -> Ruling:
    over = _at(judged, Level.HARD)
    if over:
        said = tuple(over_hard_text(b, f, need.problem) for b, f in over)
        return Ruling(outcome=Outcome.DENY, sentences=said, code=CODE, detail=detail)
    notes = [("warn", over_soft_text(b, f)) for b, f in _at(judged, Level.SOFT)]
    notes += [("info", asks_text(b, f)) for b, f in _at(judged, Level.WITHIN) if f.asks]
    return Ruling(outcome=Outcome.AUTO, notes=tuple(notes), detail=detail)


def _at(judged: Judged, level: Level) -> list[tuple[Budget, Figure]]:
    return [
        (budget, figure)
        for budget, each in judged
        for figure in each
        if figure.level is level and (figure.asks or level is Level.HARD)
    ]


def refuse_over(judged: Judged, need: Need) -> None:
    """Refuse what would go over a hard limit.

    Raises:
        OverBudget: With the figures of each.
    """
    over = _at(judged, Level.HARD)
    if over:
        raise OverBudget(" ".join(over_hard_text(b, f, need.problem) for b, f in over))


def tell_soft(judged: Judged, claim_request: ClaimRequest) -> None:
    """Tell the tenant and the admins of each soft limit that is passed, once a day."""
    for budget, figure in _at(judged, Level.SOFT):
        subject = f"{budget}: {figure.measure.value}"
        since = claim_request.submitted_at - TOLD_EVERY
        if Notice.objects.filter(
            event="budget.soft-limit", subject=subject, at__gte=since
        ).exists():
            continue
        announce(
            "budget.soft-limit",
            subject=subject,
            tenant=budget.tenant,
            people={claim_request.requester, *_admins()},
            payload={
                "budget": str(budget.public_id),
                "tenant": budget.tenant.name,
                "measure": figure.measure.value,
                "taken": amount_text(figure.measure, figure.taken + figure.asked),
                "soft": amount_text(figure.measure, figure.soft or 0),
                "claimRequest": str(claim_request.public_id),
            },
            url=reverse("budgets:budget-list"),
            at=claim_request.submitted_at,
        )


def _admins() -> QuerySet[User]:
    named = [r.value for r, may in GRANTS.items() if Permission.MANAGE_BUDGETS in may]
    return User.objects.filter(is_active=True, roles__overlap=named)

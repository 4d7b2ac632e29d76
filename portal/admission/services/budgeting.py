"""Budgets of tenants held at the API server: for claims that no request has booked.

What a request of the portal booked was judged when it was stored. Every other claim
in a tenant's namespaces, and each further one of a template, adds to what counts.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from django.db import connection, transaction
from django.db.models import Exists, OuterRef

from claims.domain.manifest import request_id_of
from inventory.domain.quantity import GIB
from inventory.models import KubeObject
from portal.accounts.models import TenantNamespace
from portal.admission.domain.guards import Breach, GuardMode
from portal.admission.domain.review import CLAIM
from portal.admission.models import AdmittedClaim
from portal.admission.queries.rules import lately
from portal.admission.services.approved import UNSEEN
from portal.admission.services.limiting import count_in
from portal.approvals.services.gating import devices_asked
from portal.budgets.domain.amounts import Amounts, Measure
from portal.budgets.domain.limits import Level
from portal.budgets.models import Budget
from portal.budgets.queries.use import Held
from portal.budgets.services.ledger import Ledger, judged_with, ledger_of
from portal.budgets.services.needing import need_lately
from portal.core.cache_by_content import ContentCache
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from inventory.models import Cluster
    from portal.accounts.models import Tenant
    from portal.admission.domain.guards import GuardRule
    from portal.admission.domain.review import Review
    from portal.budgets.domain.limits import Figure
    from portal.budgets.services.needing import Need

Json = dict[str, Any]

LEDGER_SECONDS = 1.0

_ledgers: ContentCache[Ledger] = ContentCache(seconds=LEDGER_SECONDS, most=500)


class CannotBudget(PortalError):
    """What a claim takes cannot be told now; the webhook's failurePolicy decides."""

    code = "admission.cannot_budget"


def forget() -> None:
    """Read what counts in budgets anew from now on, in this process."""
    _ledgers.clear()


def budgets_of(cluster: Cluster, namespace: str) -> tuple[Budget, ...]:
    """Return the budgets over a namespace, as they were at most two seconds ago."""
    found = lately("budgets", _budgets).get((cluster.name, namespace), ())
    return tuple(each for each in found if each.covers(cluster.name, namespace))


def _budgets() -> dict[tuple[str, str], list[Budget]]:
    """Return the budgets of each namespace's tenant, where it has any; two queries."""
    of: dict[int, list[Budget]] = {}
    for budget in Budget.objects.select_related("tenant").order_by("pk"):
        of.setdefault(budget.tenant_id, []).append(budget)
    rows = TenantNamespace.objects.filter(tenant__in=of)
    return {
        (cluster, namespace): of[tenant]
        for cluster, namespace, tenant in rows.values_list(
            "cluster", "namespace", "tenant_id"
        )
    }


def budgets_breached(
    cluster: Cluster, review: Review, rule: GuardRule, *, now: datetime
) -> list[Breach]:
    """Return the limits that a claim would go over; else count it, if it is made.

    Over a hard limit is what the rule says, over a soft one is a warning.

    Raises:
        CannotBudget: What it takes cannot be told, since the engine does not answer.
    """
    budgets = budgets_of(cluster, review.namespace)
    # The portal's own dry run is judged there, before anything is booked.
    if not budgets or (review.request_id and review.dry_run):
        return []
    need = need_lately(cluster, review.body)
    if need.problem:
        raise CannotBudget(need.problem)
    claim = _held(cluster, review, need)
    tenant = budgets[0].tenant
    # Before the lock, since the engine is asked. What is let through from then on is
    # looked up under it.
    counted = _ledger(tenant, budgets, now)
    with transaction.atomic():
        _lock(tenant)
        ledger = _with_admitted(counted, review, now)
        judged = judged_with(budgets, ledger, claim, now=now)
        breaches = [b for budget, each in judged for b in _over(rule, budget, each)]
        is_made = review.kind == CLAIM and review.object_uid and not review.dry_run
        if is_made and not any(each.mode is GuardMode.DENY for each in breaches):
            _count(cluster, review, claim, now)
    return breaches


def _held(cluster: Cluster, review: Review, need: Need) -> Held:
    request = review.request_id or request_id_of(review.body)
    return Held(cluster.name, review.namespace, review.name, request, need.amounts)


def _ledger(tenant: Tenant, budgets: tuple[Budget, ...], now: datetime) -> Ledger:
    """Return what counts for a tenant, as it was at most a second ago."""
    key = [tenant.pk, [each.pk for each in budgets]]
    return _ledgers.get(key, lambda: ledger_of(tenant, budgets, now=now))


def _with_admitted(ledger: Ledger, review: Review, now: datetime) -> Ledger:
    """Return it with claims that were let through and are not in it yet; one query."""
    ended = KubeObject.objects.filter(
        cluster=OuterRef("cluster"), uid=OuterRef("uid"), deleted_at__isnull=False
    )
    rows = AdmittedClaim.objects.filter(
        ~Exists(ended),
        cluster__name__in={cluster for cluster, _space in ledger.spaces},
        namespace__in={space for _cluster, space in ledger.spaces},
        admitted_at__gt=now - UNSEEN,
        takes__isnull=False,
    ).exclude(uid=review.object_uid)
    columns = rows.values_list("cluster__name", "namespace", "name", "uid", "takes")
    coming = [
        _stored(cluster, space, name, takes or {})
        for cluster, space, name, uid, takes in columns
        if (cluster, space) in ledger.spaces and uid not in ledger.uids
    ]
    return Ledger(
        ledger.spaces,
        ledger.uids,
        (*ledger.held, *coming),
        ledger.bookings,
        ledger.hours,
    )


def _stored(cluster: str, namespace: str, name: str, takes: Json) -> Held:
    """Return a claim as `_count` kept it."""
    amounts = Amounts(**takes["amounts"])
    return Held(cluster, namespace, name, takes["request"], amounts)


def _over(rule: GuardRule, budget: Budget, figures: list[Figure]) -> Iterator[Breach]:
    for figure in figures:
        if not figure.asks or figure.level not in {Level.SOFT, Level.HARD}:
            continue
        is_hard = figure.level is Level.HARD
        limit = figure.limit.hard if is_hard else figure.limit.soft
        mode = rule.mode if is_hard else GuardMode.WARN
        values = {
            "budget": str(budget),
            "limit": limit,
            "taken": _shown(figure, figure.taken),
            "asked": _shown(figure, figure.asked),
        }
        yield Breach(rule.id, mode, _code(figure, is_hard=is_hard), values)


def _code(figure: Figure, *, is_hard: bool) -> str:
    if is_hard and figure.asked_unknown:
        return "budget.vram_unknown"
    name = str(figure.measure).replace("-", "_")
    return f"budget.{name}" if is_hard else f"budget.{name}_soft"


def _shown(figure: Figure, amount: float) -> float | int:
    unit = GIB if figure.measure is Measure.VRAM else 1
    shown = round(amount / unit, 1)
    return int(shown) if shown == int(shown) else shown


def _count(cluster: Cluster, review: Review, claim: Held, now: datetime) -> None:
    amounts = claim.amounts
    columns = {
        "devices": devices_asked(review.body),
        "vram": None if amounts.vram_at_least else amounts.vram,
        "takes": {"request": claim.request, "amounts": asdict(amounts)},
    }
    count_in(cluster, review, columns, now=now)


def _lock(tenant: Tenant) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtext(%s))",
            [f"admission.budget.{tenant.pk}"],
        )

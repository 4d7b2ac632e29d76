"""What counts in a tenant's budgets whoever made it: bookings, and claims as they hold.

A claim that holds nothing yet counts as it asks, so that many that wait never get
more together than there is.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils import timezone

from claims.domain.manifest import CLAIM, request_id_of
from inventory.models import Cluster, KubeObject
from portal.accounts.models import TenantNamespace
from portal.budgets.domain.amounts import Amounts, Measure
from portal.budgets.domain.limits import NONE, Figure, Taken, figures, month_of
from portal.budgets.queries.budgets import open_bookings, taken
from portal.budgets.queries.hours import hours_held
from portal.budgets.queries.use import Held, held_by_tenant
from portal.budgets.services.needing import needs_lately

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from portal.accounts.models import Tenant
    from portal.budgets.models import Booking, Budget
    from portal.budgets.services.gating import Judged


@dataclass(frozen=True, slots=True)
class Ledger:
    """What counts in the budgets of one tenant.

    Attributes:
        spaces: (cluster, namespace) of the tenant.
        uids: of the claims in them, which count here.
        held: what they hold, or ask for while they hold nothing.
        hours: key of a budget → hours that are over, and if that is a lower bound.
    """

    spaces: frozenset[tuple[str, str]]
    uids: frozenset[str]
    held: tuple[Held, ...]
    bookings: tuple[Booking, ...]
    hours: Mapping[int, tuple[float, bool]]


def ledger_of(tenant: Tenant, budgets: Sequence[Budget], *, now: datetime) -> Ledger:
    """Return what counts now; a few queries a cluster, and one a budget with hours."""
    rows = TenantNamespace.objects.filter(tenant=tenant)
    spaces = frozenset(rows.values_list("cluster", "namespace"))
    waiting, uids = _waiting(spaces)
    begin, _end = month_of(timezone.localtime(now))
    limited = [b for b in budgets if b.limits[Measure.HOURS] != NONE]
    return Ledger(
        spaces,
        frozenset(uids),
        (*held_by_tenant(tenant), *waiting),
        tuple(open_bookings(tenant)),
        {each.pk: hours_held(each, begin, now) for each in limited},
    )


def counted_claims(tenant: Tenant) -> list[Held]:
    """Return what a tenant's claims hold, or ask for while they hold nothing."""
    rows = TenantNamespace.objects.filter(tenant=tenant)
    waiting, _uids = _waiting(frozenset(rows.values_list("cluster", "namespace")))
    return [*held_by_tenant(tenant), *waiting]


def _waiting(spaces: frozenset[tuple[str, str]]) -> tuple[list[Held], list[str]]:
    """Return what claims without devices ask for, and the uids of all claims."""
    by_cluster: dict[str, set[str]] = defaultdict(set)
    for name, namespace in spaces:
        by_cluster[name].add(namespace)
    clusters = Cluster.objects.defer("kubeconfig_encrypted")
    held: list[Held] = []
    uids: list[str] = []
    for cluster in clusters.filter(name__in=by_cluster):
        rows = KubeObject.objects.filter(
            cluster=cluster,
            kind=CLAIM,
            namespace__in=by_cluster[cluster.name],
            deleted_at=None,
        )
        found = list(rows.values_list("uid", "namespace", "name", "body"))
        uids += [uid for uid, *_more in found]
        waiting = [
            (namespace, name, body)
            for _uid, namespace, name, body in found
            if not (body.get("status") or {}).get("allocation")
        ]
        needs = needs_lately(cluster, [body for *_names, body in waiting])
        for (namespace, name, body), need in zip(waiting, needs, strict=True):
            request = request_id_of({"metadata": body.get("metadata") or {}})
            held.append(
                Held(cluster.name, namespace, name, request, need.amounts, waits=True)
            )
    return held, uids


@dataclass(frozen=True, slots=True)
class BudgetRow:
    """A budget and how it stands."""

    budget: Budget
    taken: Taken
    figures: tuple[Figure, ...]


def rows_of(budgets: Iterable[Budget], *, now: datetime) -> list[BudgetRow]:
    """Return budgets with how they stand; some queries a tenant."""
    rows = []
    held: dict[int, list[Held]] = {}
    bookings: dict[int, list[Booking]] = {}
    for budget in budgets:
        key = budget.tenant_id
        if key not in held:
            held[key] = counted_claims(budget.tenant)
            bookings[key] = open_bookings(budget.tenant)
        found = taken(budget, held[key], bookings[key], now=now)
        rows.append(BudgetRow(budget, found, tuple(figures(budget.limits, found))))
    return rows


def judged_with(
    budgets: Sequence[Budget], ledger: Ledger, claim: Held, *, now: datetime
) -> Judged:
    """Return what one more claim would do to each budget.

    It asks for what it adds: one that its request has booked adds nothing.
    """
    found = []
    for budget in budgets:
        before = _taken(budget, ledger, ledger.held, now)
        after = _taken(budget, ledger, (*ledger.held, claim), now)
        asks = _added(before, after, claim.amounts)
        hours = after.of(Measure.HOURS) - before.of(Measure.HOURS)
        found.append((budget, figures(budget.limits, before, asks, hours)))
    return found


def _taken(
    budget: Budget, ledger: Ledger, held: Sequence[Held], now: datetime
) -> Taken:
    hours = ledger.hours.get(budget.pk, (0.0, False))
    return taken(budget, held, ledger.bookings, now=now, hours=hours)


def _added(before: Taken, after: Taken, claim: Amounts) -> Amounts:
    old, new = before.counted, after.counted
    gpus = new.gpus - old.gpus
    return Amounts(
        vram=new.vram - old.vram,
        cards=new.cards - old.cards,
        slices=new.slices - old.slices,
        gpus=gpus,
        # What is booked was judged when it was: what was not known then passed.
        vram_at_least=claim.vram_at_least and gpus > 0,
    )

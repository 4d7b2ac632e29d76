"""How many hours cards were held, from the samples that history keeps."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from inventory.domain.history import steps_of
from inventory.models import HistorySample

if TYPE_CHECKING:
    from portal.budgets.models import Budget

# Shorter gaps between samples are jitter.
FORGIVEN = timedelta(minutes=15)


def hours_held(budget: Budget, since: datetime, now: datetime) -> tuple[float, bool]:
    """Return cards times hours that a budget's tenant held, and if that is a lower bound.

    A card of which several parts are held counts once. While nobody looked,
    nothing is known, so that more may have been held. One query.
    """
    if budget.namespace:
        return 0.0, False
    rows = HistorySample.objects.filter(
        scope=HistorySample.Scope.TENANT,
        key=budget.tenant.name,
        at__gte=since,
        at__lte=now,
    )
    if budget.cluster:
        rows = rows.filter(cluster__name=budget.cluster)
    by_cluster: dict[int, list[tuple[datetime, int | None, int | None, bool]]] = {}
    for cluster, at, cards in rows.order_by("at").values_list(
        "cluster_id", "at", "cards"
    ):
        by_cluster.setdefault(cluster, []).append((at, cards, None, False))
    hours, gaps = 0.0, False
    for samples in by_cluster.values():
        steps = steps_of(samples, now)
        spans = [(step.end - step.start, step.allocated or 0) for step in steps]
        hours += sum(cards * span.total_seconds() / 3600 for span, cards in spans)
        seen = sum((span for span, _cards in spans), timedelta())
        gaps = gaps or now - samples[0][0] - seen > FORGIVEN
    return hours, gaps

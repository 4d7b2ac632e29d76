"""The history page and its CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils import timezone
from django.views.decorators.http import require_GET

from inventory.models import HistorySample
from inventory.queries.clusters import tenants_seen_by
from inventory.queries.history import WIDTHS, HistoryFilter, history_page, history_rows
from inventory.views.base import answer, cluster_named, page, without
from inventory.views.csv import csv_response
from inventory.views.filters import text_in

if TYPE_CHECKING:
    from django.http import HttpResponse, QueryDict, StreamingHttpResponse

    from portal.core.http import PortalRequest

COLUMNS = (
    *("at", "by", "name", "cards", "total_bytes", "allocated_bytes"),
    *("allocated_is_lower_bound", "available_bytes"),
)


def history_filter(query: QueryDict) -> HistoryFilter:
    """Return which past is wanted; what is no choice is the first one."""
    by, hours = query.get("by", ""), query.get("hours", "")
    return HistoryFilter(
        by=by if by in HistorySample.Scope.values else "cluster",
        text=text_in(query, "q", 200),
        hours=int(hours) if hours in map(str, WIDTHS) else next(iter(WIDTHS)),
    )


@page
def history(request: PortalRequest, cluster: str) -> HttpResponse:
    """Show what was allocated over time, as charts with tables."""
    found = cluster_named(cluster)
    wanted = history_filter(request.GET)
    tenants = tenants_seen_by(request.user)
    context = {
        "cluster": found,
        "nav": "history",
        "wanted": wanted,
        "scopes": HistorySample.Scope.choices,
        "page": history_page(found, wanted, tenants, timezone.now()),
        "query": without(request.GET),
    }
    return answer(request, "history.html", "history-charts", context)


@require_GET
def history_csv(request: PortalRequest, cluster: str) -> StreamingHttpResponse:
    """Answer with the samples behind the charts."""
    found = cluster_named(cluster)
    wanted = history_filter(request.GET)
    rows = history_rows(found, wanted, tenants_seen_by(request.user), timezone.now())
    return csv_response(
        f"{found.name}-{wanted.by}-{wanted.hours}h.csv",
        COLUMNS,
        map(csv_row, rows),
    )


def csv_row(row: HistorySample) -> tuple[object, ...]:
    """Return a sample as a row of the table; None where something is unknown."""
    return (
        *(row.at.isoformat(), row.scope, row.key, row.cards, row.total),
        *(row.allocated, row.at_least, row.available),
    )

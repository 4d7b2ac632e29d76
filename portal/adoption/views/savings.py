"""What a cluster would save with claims: a page that can be printed, and a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.shortcuts import render
from django.views.decorators.http import require_GET

from inventory.views.base import cluster_named, page
from inventory.views.csv import csv_response
from portal.accounts.decorators import requires
from portal.accounts.domain.roles import Permission
from portal.adoption.domain.savings import NEEDS_MEMORY
from portal.adoption.queries.savings import savings_in
from portal.adoption.services.needs import by_workload
from portal.adoption.services.peaks import peaks_of
from portal.core.http import fragment

if TYPE_CHECKING:
    from django.http import HttpResponse, StreamingHttpResponse

    from portal.core.http import PortalRequest

# Whose owner would know better.
_UNTOLD = frozenset({"", "measured"})
# Workloads to ask about; the one with the most cards first.
MOST_SHOWN = 100
HEADER = (
    *("namespace", "pod", "product", "cards"),
    *("card_memory_bytes", "need_bytes_per_card", "stranded_bytes"),
    *("need_told_by", "node"),
)


@requires(Permission.SEE_HOLDERS)
@page
def savings_page(request: PortalRequest, cluster: str) -> HttpResponse:
    """Show what is stranded on each product, and the node pools that collapse."""
    row = cluster_named(cluster)
    peaks = peaks_of(row)
    found = savings_in(row, peaks.of)
    context = {
        "cluster": row,
        "nav": "adoption",
        "found": found,
        "unknown": sum(not use.is_known for use in found.uses),
        "measured": sum(use.source == "measured" for use in found.uses),
        "told": sum(use.source == "owner" for use in found.uses),
        "peaks": peaks,
        "annotation": NEEDS_MEMORY,
    }
    template = fragment("adoption/savings.html", "live", request)
    if "#" not in template:
        asked = [u for u in by_workload(row, found.uses) if u.source in _UNTOLD]
        context |= {"asked": asked[:MOST_SHOWN], "more": len(asked) - MOST_SHOWN}
    return render(request, template, context)


@requires(Permission.SEE_HOLDERS)
@require_GET
def savings_csv(request: PortalRequest, cluster: str) -> StreamingHttpResponse:
    """Answer with one line for each pod that holds whole cards."""
    row = cluster_named(cluster)
    lines = [
        (
            *(u.namespace, u.name, u.product, u.cards),
            *(u.card_memory, u.need, u.stranded),
            *(u.source, u.node),
        )
        for u in savings_in(row, peaks_of(row).of).uses
    ]
    return csv_response(f"savings-{row.name}.csv", HEADER, lines)

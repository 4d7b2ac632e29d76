"""The overview, and where a person begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.shortcuts import redirect
from django.utils import timezone

from inventory.queries import fleet
from inventory.queries.clusters import (
    cluster_row,
    cluster_rows,
    find_cluster,
    first_cluster_name,
    owners_of,
    viewer_of,
)
from inventory.queries.domains import compute_domains
from inventory.queries.meters import meters_of
from inventory.queries.unused import unused_claims
from inventory.views.base import answer, cluster_named, page

if TYPE_CHECKING:
    from django.http import HttpResponse

    from portal.core.http import PortalRequest


@page
def home(request: PortalRequest) -> HttpResponse:
    """Lead to the first cluster's overview, or say how to add one."""
    name = request.session.get("cluster") or ""
    found = find_cluster(name) if name else None
    chosen = found.name if found else first_cluster_name()
    if chosen is None:
        return redirect("inventory:cluster-list")
    return redirect("inventory:overview", chosen)


@page
def overview(request: PortalRequest, cluster: str) -> HttpResponse:
    """Show the cluster's sums and what needs attention."""
    found = cluster_named(cluster)
    viewer = viewer_of(request.user, cluster)
    meters = meters_of(found, timezone.now())
    context = {
        "cluster": found,
        "nav": "overview",
        "page": fleet.overview(found, viewer, owners_of(cluster), meters),
        "meters": meters,
        "domains": compute_domains(found, viewer),
        "unseen": cluster_row(found).unseen,
        "unused": unused_claims(found, viewer),
        "others": [row.cluster for row in cluster_rows() if row.cluster != found],
    }
    return answer(request, "overview.html", "overview-live", context)

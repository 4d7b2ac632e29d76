"""Pools, classes, compute domains and clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inventory.queries.cards import fleet_of
from inventory.queries.classes import class_rows
from inventory.queries.clusters import cluster_row, cluster_rows, viewer_of
from inventory.queries.domains import compute_domains
from inventory.queries.pools import pool_page
from inventory.services.availability import class_uses
from inventory.views.base import answer, cluster_named, page
from inventory.views.filters import page_number, text_in

if TYPE_CHECKING:
    from django.http import HttpResponse

    from portal.core.http import PortalRequest


@page
def pool_list(request: PortalRequest, cluster: str) -> HttpResponse:
    """Show the pools, those that need attention first."""
    found = cluster_named(cluster)
    text = text_in(request.GET, "q", 200)
    shown = pool_page(found, text=text, number=page_number(request.GET))
    pieces = fleet_of(found).fragmentation_by_pool
    context = {
        "cluster": found,
        "nav": "pools",
        "text": text,
        "page": shown,
        "rows": [
            (row, pieces.get((row.pool.driver, row.pool.name))) for row in shown.rows
        ],
    }
    return answer(request, "pool_list.html", "pool-table", context)


@page
def class_list(request: PortalRequest, cluster: str) -> HttpResponse:
    """Show the DeviceClasses with what each matches now."""
    found = cluster_named(cluster)
    context = {
        "cluster": found,
        "nav": "classes",
        "uses": class_uses(found, fleet_of(found), class_rows(found)),
    }
    return answer(request, "class_list.html", "class-table", context)


@page
def domain_list(request: PortalRequest, cluster: str) -> HttpResponse:
    """Show the ComputeDomains with their members and cliques."""
    found = cluster_named(cluster)
    unseen = [each for each in cluster_row(found).kinds if each.kind == "ComputeDomain"]
    context = {
        "cluster": found,
        "nav": "overview",
        "domains": compute_domains(found, viewer_of(request.user, cluster)),
        "unseen": [each for each in unseen if not each.seen],
    }
    return answer(request, "domain_list.html", "domain-rows", context)


@page
def cluster_list(request: PortalRequest) -> HttpResponse:
    """Show every cluster, how fresh its picture is, and what of it is not seen."""
    context = {"nav": "clusters", "rows": cluster_rows()}
    return answer(request, "cluster_list.html", "cluster-table", context)

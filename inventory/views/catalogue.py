"""Pools, one pool, classes and compute domains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _

from inventory.queries.cards import fleet_of
from inventory.queries.class_users import ClassUsers, class_users
from inventory.queries.classes import class_rows
from inventory.queries.clusters import cluster_row, viewer_of
from inventory.queries.domains import compute_domains
from inventory.queries.pool_detail import pool_detail as detail_of
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
def pool_detail(
    request: PortalRequest, cluster: str, driver: str, pool: str
) -> HttpResponse:
    """Show one pool: its slices, how it was published, what was allocated of it."""
    found = cluster_named(cluster)
    named = "\0" not in driver + pool
    detail = detail_of(found, driver, pool, timezone.now()) if named else None
    if detail is None:
        raise Http404(
            _("“%(cluster)s” has no pool %(driver)s/%(pool)s now.")
            % {"cluster": cluster, "driver": driver, "pool": pool}
        )
    context = {"cluster": found, "nav": "pools", "detail": detail}
    return answer(request, "pool_detail.html", "pool-live", context)


@page
def class_list(request: PortalRequest, cluster: str) -> HttpResponse:
    """Show the DeviceClasses with what each matches now."""
    found = cluster_named(cluster)
    users = class_users(found, viewer_of(request.user, cluster))
    uses = class_uses(found, fleet_of(found), class_rows(found))
    context = {
        "cluster": found,
        "nav": "classes",
        "uses": [(use, users.get(use.row.facts.name, ClassUsers())) for use in uses],
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

"""The GPUs page, its table as CSV, and the views of it that people keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from django.contrib import messages
from django.http import Http404, HttpResponseRedirect, QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from inventory.models import SavedView
from inventory.queries import fleet
from inventory.queries.classes import ClassRow, class_rows
from inventory.queries.clusters import owners_of, viewer_of
from inventory.services.availability import devices_of_class
from inventory.services.saved_views import ViewRefused, remove_view, save_view
from inventory.templatetags.inventory_ui import reason_words
from inventory.views.base import answer, cluster_named, page, without
from inventory.views.csv import csv_response
from inventory.views.filters import gpu_filter

if TYPE_CHECKING:
    from django.http import HttpResponse, StreamingHttpResponse

    from inventory.domain.visibility import Viewer
    from inventory.models import Cluster
    from inventory.queries.rows import CardRow
    from portal.core.http import PortalRequest

# What a kept view holds; where one begins to read is no part of it.
KEPT = ("q", "product", "class", "tenant", "free", "tainted", "mine", "group", "view")
COLUMNS = (
    *("node", "driver", "pool", "card", "product", "cut_into", "total_bytes"),
    *("total_is_lower_bound", "allocated_bytes", "allocated_is_lower_bound"),
    *("available_bytes", "largest_piece_bytes", "largest_profile", "usable"),
    *("why_not_usable", "held_by", "watched_by", "other_holders"),
)


@dataclass(frozen=True, slots=True)
class Asked:
    """The filter of an address, and what it means in a cluster for one person."""

    viewer: Viewer
    wanted: fleet.GpuFilter
    reach: fleet.Reach
    problems: tuple[str, ...]
    classes: list[ClassRow]

    @property
    def tenants(self) -> list[str]:
        """The tenants whose names this person may see, sorted."""
        return sorted(set(self.reach.owners.values()))


def _asked(request: PortalRequest, cluster: Cluster) -> Asked:
    viewer = viewer_of(request.user, cluster.name)
    wanted, problem = gpu_filter(request.GET)
    owners = {
        namespace: tenant
        for namespace, tenant in owners_of(cluster.name).items()
        if viewer.sees(namespace)
    }
    classes = class_rows(cluster)
    devices, unknown = None, ""
    if wanted.device_class:
        devices, unknown = devices_of_class(cluster, wanted.device_class, classes)
    problems = tuple(text for text in (problem, unknown) if text)
    return Asked(viewer, wanted, fleet.Reach(devices, owners), problems, classes)


@page
def gpu_list(request: PortalRequest, cluster: str) -> HttpResponse:
    """Show every card, by node or product, with what is taken and what fits."""
    found = cluster_named(cluster)
    asked = _asked(request, found)
    by_product = request.GET.get("group") == "product"
    context = {
        "cluster": found,
        "nav": "gpus",
        "asked": asked,
        "wanted": asked.wanted,
        "page": fleet.gpu_page(
            found,
            asked.viewer,
            asked.wanted,
            request.GET.get("from", ""),
            reach=asked.reach,
            by_product=by_product,
        ),
        "by_product": by_product,
        "as_table": request.GET.get("view") == "table",
        "query": without(request.GET, "from"),
        "query_view": without(request.GET, "from", "view"),
        "views": SavedView.objects.filter(user=request.user).order_by("name"),
    }
    return answer(request, "gpu_list.html", "gpu-rows", context)


@require_GET
def gpu_csv(request: PortalRequest, cluster: str) -> StreamingHttpResponse:
    """Answer with the cards that the filter leaves, as far as one may see them."""
    found = cluster_named(cluster)
    asked = _asked(request, found)
    cards = fleet.matching_cards(found, asked.viewer, asked.wanted, asked.reach)
    return csv_response(f"{found.name}-gpus.csv", COLUMNS, map(_row, cards))


def _row(card: CardRow) -> tuple[object, ...]:
    used, watched = (
        " ".join(
            f"{h.namespace}/{h.claim}" for h in card.holders if h.admin is watching
        )
        for watching in (False, True)
    )
    return (
        *(card.node, card.driver, card.pool, card.name, card.product, card.kind),
        *(card.total, card.at_least, card.allocated, not card.metered),
        *(card.available, card.largest, card.largest_profile, card.usable),
        "; ".join(map(reason_words, card.reasons)),
        *(used, watched, card.hidden),
    )


@require_POST
def view_save(request: PortalRequest, cluster: str) -> HttpResponse:
    """Keep the filter of the page under a name."""
    found = cluster_named(cluster)
    query = QueryDict(mutable=True)
    for key, value in QueryDict(_shown_query(request, found)).items():
        if key in KEPT and value:
            query[key] = str(value)
    try:
        save_view(request.user, request.POST.get("name", ""), query.urlencode())
    except ViewRefused as error:
        messages.error(request, error.message)
    else:
        messages.success(request, _("The view is kept."))
    return _back(found, query.urlencode())


def _shown_query(request: PortalRequest, cluster: Cluster) -> str:
    """Return the filter of the page that was left, which may have changed in place."""
    left = urlsplit(request.headers.get("Referer", ""))
    if left.path == reverse("inventory:gpu-list", args=[cluster.name]):
        return left.query
    return request.POST.get("query", "")


@require_POST
def view_remove(request: PortalRequest, cluster: str, pk: int) -> HttpResponse:
    """Remove one of one's own views."""
    found = cluster_named(cluster)
    if not remove_view(request.user, pk):
        raise Http404
    return _back(found, "")


def _back(cluster: Cluster, query: str) -> HttpResponse:
    address = reverse("inventory:gpu-list", args=[cluster.name])
    return HttpResponseRedirect(f"{address}?{query}" if query else address)

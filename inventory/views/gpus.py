"""The GPUs page, its table as CSV, and the views of it that people keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from django.contrib import messages
from django.http import Http404, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from inventory.models import SavedView
from inventory.queries import fleet
from inventory.queries.classes import ClassRow, class_rows
from inventory.queries.clusters import viewer_of
from inventory.queries.meters import meters_of
from inventory.services.reach import reach_of
from inventory.services.saved_views import (
    ViewRefused,
    kept_query,
    remove_view,
    save_view,
)
from inventory.templatetags.inventory_ui import reason_words
from inventory.views.base import answer, cluster_named, page, without
from inventory.views.csv import csv_response
from inventory.views.filters import gpu_filter

if TYPE_CHECKING:
    from django.http import HttpResponse, StreamingHttpResponse

    from inventory.domain.visibility import Viewer
    from inventory.models import Cluster
    from inventory.queries.gpu_filter import GpuFilter, Reach
    from inventory.queries.rows import CardRow
    from portal.core.http import PortalRequest

COLUMNS = (
    *("node", "driver", "pool", "card", "product", "cut_into", "total_bytes"),
    *("total_is_lower_bound", "allocated_bytes", "allocated_is_lower_bound"),
    *(
        "available_bytes",
        "unavailable_bytes",
        "largest_piece_bytes",
        "largest_profile",
        "usable",
    ),
    *("why_not_usable", "held_by", "watched_by", "other_holders"),
)
# Only where a Prometheus is set.
METERED = ("used_bytes", "utilisation_percent", "idle_since")


@dataclass(frozen=True, slots=True)
class Asked:
    """The filter of an address, and what it means in a cluster for one person."""

    viewer: Viewer
    wanted: GpuFilter
    reach: Reach
    problems: tuple[str, ...]
    classes: list[ClassRow]

    @property
    def tenants(self) -> list[str]:
        """The tenants whose names this person may see, sorted."""
        return sorted(set(self.reach.owners.values()))


def _asked(request: PortalRequest, cluster: Cluster) -> Asked:
    viewer = viewer_of(request.user, cluster.name)
    wanted, problem = gpu_filter(request.GET)
    classes = class_rows(cluster)
    reach, unknown = reach_of(cluster, viewer, wanted.device_class, classes)
    problems = tuple(text for text in (problem, unknown) if text)
    return Asked(viewer, wanted, reach, problems, classes)


@page
def gpu_list(request: PortalRequest, cluster: str) -> HttpResponse:
    """Show every card, by node or product, with what is taken and what fits."""
    found = cluster_named(cluster)
    asked = _asked(request, found)
    by_product = request.GET.get("group") == "product"
    meters = meters_of(found, timezone.now())
    context = {
        "cluster": found,
        "nav": "gpus",
        "asked": asked,
        "wanted": asked.wanted,
        "page": fleet.gpu_page(
            found,
            asked.viewer,
            asked.wanted,
            fleet.Manner(request.GET.get("from", ""), by_product, meters),
            asked.reach,
        ),
        "meters": meters,
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
    meters = meters_of(found, timezone.now())
    cards = fleet.matching_cards(found, asked.viewer, asked.wanted, asked.reach, meters)
    columns = COLUMNS if meters is None else (*COLUMNS, *METERED)
    rows = (_row(card) if meters is None else _metered(card) for card in cards)
    return csv_response(f"{found.name}-gpus.csv", columns, rows)


def _metered(card: CardRow) -> tuple[object, ...]:
    """Return a row with what is used; empty where nobody told, or it is of others."""
    meter = card.meter
    if meter is None:
        return (*_row(card), None, None, None)
    since = meter.idle_since.isoformat() if meter.idle_since else None
    return (*_row(card), meter.used, meter.utilisation, since)


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
        *(card.available, card.unavailable, card.largest),
        *(card.largest_profile, card.usable),
        "; ".join(map(reason_words, card.reasons)),
        *(used, watched, card.hidden),
    )


@require_POST
def view_save(request: PortalRequest, cluster: str) -> HttpResponse:
    """Keep the filter of the page under a name."""
    found = cluster_named(cluster)
    query = kept_query(_shown_query(request, found))
    try:
        save_view(request.user, request.POST.get("name", ""), query)
    except ViewRefused as error:
        messages.error(request, error.message)
    else:
        messages.success(request, _("The view is kept."))
    return _back(found, query)


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

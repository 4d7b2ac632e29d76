"""Turn workloads on device plugins to claims: pasted, uploaded, or live ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from claims.views.importing import choice_made, shown, text_given
from inventory.views.base import cluster_named
from portal.accounts.decorators import requires
from portal.accounts.domain.roles import Permission
from portal.adoption.services.converting import LAYOUTS, bundle_of, convert
from portal.adoption.services.workloads import (
    live_workloads,
    namespaces_offered,
    text_of,
)
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from claims.services.bundles import SnippetFile
    from inventory.models import Cluster
    from portal.core.http import PortalRequest


@requires(Permission.COMPOSE)
@require_http_methods(["GET", "POST"])
def convert_page(request: PortalRequest, cluster: str) -> HttpResponse:
    """Show the form; with workloads, what becomes of them, or the bundle of it."""
    row = cluster_named(cluster)
    asked = request.POST if request.method == "POST" else request.GET
    context: dict[str, Any] = {
        "nav": "convert",
        "cluster": row,
        "text": "",
        "namespaces": namespaces_offered(request.user, row),
        "namespace": asked.get("namespace", ""),
        "chosen": asked.getlist("workload"),
    }
    try:
        file = _carried_out(request, row, context)
    except PortalError as error:
        context["problem"] = error.message
        return render(request, "adoption/convert.html", context, status=422)
    if file:
        response = HttpResponse(file.content, content_type=file.media)
        response["Content-Disposition"] = f'attachment; filename="{file.name}"'
        return response
    return render(request, "adoption/convert.html", context)


def _carried_out(
    request: PortalRequest, cluster: Cluster, context: dict[str, Any]
) -> SnippetFile | None:
    """Fill in what was found and converted, or return a bundle of it."""
    namespace, is_live = context["namespace"], request.POST.get("action") == "live"
    if request.method == "POST":
        context["text"] = text_given(request)
    if namespace:
        context["listing"] = listing = live_workloads(cluster, request.user, namespace)
        if is_live:
            context["text"] = text_of(listing, context["chosen"])
    if request.method != "POST":
        return None
    text = context["text"]
    found = convert(cluster, text, user=request.user, choice=choice_made(request, text))
    action = request.POST.get("action", "")
    if action in LAYOUTS:
        return bundle_of(found.imported, action)
    context |= {**shown(found.imported, text), "conversion": found}
    return None

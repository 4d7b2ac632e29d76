"""Map an extended resource to a class: choose, see, try, write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from inventory.queries.classes import class_rows
from inventory.views.base import cluster_named
from portal.accounts.decorators import requires
from portal.accounts.domain.roles import Permission
from portal.adoption.domain.facts import RESOURCE
from portal.adoption.models import AppliedMapping
from portal.adoption.services.mapping import (
    apply_mapping,
    preview_mapping,
    proposals_for,
    try_mapping,
)
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from django.http import HttpResponse, QueryDict

    from inventory.models import Cluster
    from portal.core.http import PortalRequest

MOST_PODS = 50
MOST_APPLIED = 10


@requires(Permission.MANAGE_CLUSTERS)
@require_http_methods(["GET", "POST"])
def mapping_page(request: PortalRequest, cluster: str) -> HttpResponse:
    """Show what a mapping would serve; try it or write it when told to."""
    found = cluster_named(cluster)
    asked = request.POST if request.method == "POST" else request.GET
    context = _context(found, asked)
    status = 200
    if "class" in asked:
        try:
            done = _carried_out(request, found, context)
        except PortalError as error:
            context["problem"], status = error.message, 409
        else:
            if done:
                return done
    if "preview" not in context:
        context["proposals"] = proposals_for(found)
    return render(request, "adoption/mapping.html", context, status=status)


def _context(cluster: Cluster, asked: QueryDict) -> dict[str, Any]:
    applied = AppliedMapping.objects.filter(cluster=cluster.name)
    return {
        "cluster": cluster,
        "nav": "adoption",
        "classes": class_rows(cluster),
        "device_class": asked.get("class", ""),
        "resource": asked.get("resource", RESOURCE).strip(),
        "most": MOST_PODS,
        "applied": applied.order_by("-pk")[:MOST_APPLIED],
    }


def _carried_out(
    request: PortalRequest, cluster: Cluster, context: dict[str, Any]
) -> HttpResponse | None:
    """Fill in the preview and the plan, or write and lead back."""
    name, resource = context["device_class"], context["resource"]
    action = request.POST.get("action", "")
    wanted = "" if action in {"try-remove", "remove"} else resource
    context["preview"] = preview_mapping(cluster, name, resource)
    if action in {"try", "try-remove"}:
        context["plan"] = try_mapping(cluster, name, wanted, request.user)
    elif action in {"apply", "remove"}:
        apply_mapping(
            cluster,
            name,
            wanted,
            seen=request.POST.get("seen", ""),
            user=request.user,
            request_id=request.request_id,
            now=timezone.now(),
        )
        messages.success(request, _("The class is changed in the cluster."))
        return HttpResponseRedirect(reverse("adoption:mapping", args=[cluster.name]))
    return None

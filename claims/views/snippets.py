"""Workloads for a request, or for what the composer holds: to copy and to download."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from claims.queries.requests import visible_to
from claims.services.bundles import YAML, NoBundle, claim_in, file_of, snippets_of
from inventory.models import Cluster
from portal.accounts.decorators import requires
from portal.accounts.domain.roles import Permission
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from django.http import QueryDict

    from portal.core.http import PortalRequest


@require_GET
def request_snippet(request: PortalRequest, public_id: UUID) -> HttpResponse:
    """Give a request's workload as a file: YAML, or a bundle as a zip."""
    row = get_object_or_404(visible_to(request.user), public_id=public_id)
    return _file(row.plan.manifest, request.GET)


@requires(Permission.COMPOSE)
@require_http_methods(["GET", "POST"])
def compose_snippets(request: PortalRequest, cluster: str) -> HttpResponse:
    """Show the workloads for a manifest that is sent along, or give one as a file."""
    row = get_object_or_404(Cluster, name=cluster)
    text = request.POST.get("manifest", "").replace("\r\n", "\n")
    if request.method == "GET":
        return redirect("claims:compose", cluster=row.name)
    context: dict[str, Any] = {"nav": "compose", "cluster": row, "manifest": text}
    status = 200
    try:
        manifest = claim_in(text)
        if request.POST.get("workload"):
            return _file(manifest, request.POST)
        context["snippets"] = snippets_of(manifest)
    except PortalError as error:
        context["problem"], status = error.message, 422
    return render(request, "claims/snippets.html", context, status=status)


def _file(manifest: Mapping[str, Any], given: QueryDict) -> HttpResponse:
    shape, layout = given.get("workload", ""), given.get("as", YAML)
    try:
        file = file_of(manifest, shape, layout)
    except NoBundle as error:
        raise Http404(error.message) from error
    response = HttpResponse(file.content, content_type=file.media)
    response["Content-Disposition"] = f'attachment; filename="{file.name}"'
    return response

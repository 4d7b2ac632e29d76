"""The claims of a cluster, as far as a person may see their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.core.paginator import Paginator
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET
from django.views.decorators.vary import vary_on_headers

from claims.queries.claims import narrowed, visible_claims, with_pods
from inventory.models import Cluster
from portal.accounts.domain.roles import Permission
from portal.core.http import PortalRequest, fragment

if TYPE_CHECKING:
    from django.http import HttpResponse

PER_PAGE = 100


@require_GET
@vary_on_headers("HX-Request")
def claim_list(request: PortalRequest, cluster: str) -> HttpResponse:
    """Show the claims of a cluster with state, pods, node and devices."""
    row = get_object_or_404(Cluster, name=cluster)
    text = request.GET.get("q", "").strip()[:253]
    namespace = request.GET.get("namespace", "").strip()[:63]
    visible = visible_claims(request.user, row)
    rows = narrowed(visible, text=text, namespace=namespace)
    page = Paginator(rows, PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "nav": "claims",
        "cluster": row,
        "page": page,
        "claims": with_pods(row, list(page.object_list)),
        "namespaces": visible.order_by("namespace")
        .values_list("namespace", flat=True)
        .distinct(),
        "text": text,
        "namespace": namespace,
        "sees_all": request.user.may(Permission.SEE_ALL_CLAIMS),
    }
    return render(request, fragment("claims/claim_list.html", "rows", request), context)

"""Who can see whose GPU memory right now, and until when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.core.paginator import Paginator
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET
from django.views.decorators.vary import vary_on_headers

from claims.domain.manifest import ADMIN_LABEL
from inventory.models import Cluster
from portal.accounts.decorators import requires
from portal.accounts.domain.roles import Permission
from portal.approvals.models import LabelledSpace
from portal.approvals.queries.exposure import exposure_of
from portal.approvals.services.labelling import setters_in
from portal.core.http import fragment

if TYPE_CHECKING:
    from django.http import HttpResponse

    from portal.core.http import PortalRequest

PER_PAGE = 100
KINDS = ("Namespace", "ResourceClaim", "ResourceClaimTemplate")


@requires(Permission.SEE_EXPOSURE)
@require_GET
@vary_on_headers("HX-Request")
def exposure(request: PortalRequest, cluster: str) -> HttpResponse:
    """Show administrative claims, whom they see, and the labelled namespaces."""
    row = get_object_or_404(Cluster, name=cluster)
    seers, namespaces = exposure_of(row)
    claims = [seer for seer in seers if seer.kind == "ResourceClaim"]
    page = Paginator(claims, PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "nav": "exposure",
        "cluster": row,
        "page": page,
        "claims": page.object_list,
        "templates": [seer for seer in seers if seer.kind != "ResourceClaim"],
        "namespaces": namespaces,
        "admin_label": f'{ADMIN_LABEL}: "true"',
        "unknown": _unknown(row),
        "setters": setters_in(row),
        "appeared": LabelledSpace.objects.filter(cluster=row, is_new=True),
    }
    template = fragment("approvals/exposure.html", "live", request)
    return render(request, template, context)


def _unknown(cluster: Cluster) -> list[str]:
    """Return the kinds that the portal may not read there, so that nothing is known."""
    return [
        kind
        for kind in KINDS
        if cluster.state_of(kind) == "not-served" or cluster.is_blind_to(kind)
    ]

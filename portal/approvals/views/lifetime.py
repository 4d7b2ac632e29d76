"""What is idle in a cluster, and what is not as the portal made it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET
from django.views.decorators.vary import vary_on_headers

from inventory.models import Cluster
from portal.approvals.queries.lifetime import drift_of, idle_of
from portal.core.http import fragment

if TYPE_CHECKING:
    from django.http import HttpResponse

    from portal.core.http import PortalRequest


@require_GET
@vary_on_headers("HX-Request")
def lifetime(request: PortalRequest, cluster: str) -> HttpResponse:
    """Show idle claims, and drift with its differences."""
    row = get_object_or_404(Cluster, name=cluster)
    context = {
        "nav": "lifetime",
        "cluster": row,
        "idle": idle_of(request.user, row),
        "drift": drift_of(request.user, row),
        "hours": f"{settings.SLICEWISE_IDLE_HOURS:g}",
        "is_read": row.sees("ResourceClaim", "Pod"),
    }
    template = fragment("approvals/lifetime.html", "live", request)
    return render(request, template, context)

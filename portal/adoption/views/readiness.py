"""What a cluster and its nodes have of what DRA needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.shortcuts import render

from inventory.views.base import cluster_named, page
from portal.accounts.decorators import requires
from portal.accounts.domain.roles import Permission

if TYPE_CHECKING:
    from django.http import HttpResponse

    from portal.core.http import PortalRequest


@requires(Permission.SEE_HOLDERS)
@page
def readiness_page(request: PortalRequest, cluster: str) -> HttpResponse:
    """Show each verdict with its evidence and what to do."""
    context = {"cluster": cluster_named(cluster), "nav": "adoption"}
    return render(request, "adoption/readiness.html", context)

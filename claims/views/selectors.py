"""Selectors that many templates repeat, for whoever looks after the classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from claims.services import yaml_text
from claims.services.costing import repeated_selectors
from inventory.models import Cluster
from portal.accounts.decorators import requires
from portal.accounts.domain.roles import Permission

if TYPE_CHECKING:
    from django.http import HttpResponse

    from portal.core.http import PortalRequest


@requires(Permission.MANAGE_CLUSTERS)
@require_GET
def selector_list(request: PortalRequest, cluster: str) -> HttpResponse:
    """List repeated selectors, each with the DeviceClass that could replace it."""
    row = get_object_or_404(Cluster, name=cluster)
    found = [(each, yaml_text.dump(body)) for each, body in repeated_selectors(row)]
    context = {"nav": "classes", "cluster": row, "found": found}
    return render(request, "claims/selector_list.html", context)

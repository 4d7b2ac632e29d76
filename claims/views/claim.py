"""One claim of a cluster: what it holds, what it waits for, how to see it oneself."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_GET
from django.views.decorators.vary import vary_on_headers

from claims.domain.binding import binding_of, moment_of
from claims.domain.manifest import request_id_of
from claims.domain.verifying import verifying_commands
from claims.queries.claims import visible_claims, with_pods
from claims.queries.requests import visible_to
from claims.services.admitted import admission_notes
from claims.services.yaml_text import dump
from inventory.models import Cluster
from portal.core.http import PortalRequest, fragment

if TYPE_CHECKING:
    from django.http import HttpResponse

    from claims.models import ClaimRequest
    from inventory.models import KubeObject


@require_GET
@vary_on_headers("HX-Request")
def claim_detail(
    request: PortalRequest, cluster: str, namespace: str, name: str
) -> HttpResponse:
    """Show a claim to who may see its name; to all others there is none."""
    found = get_object_or_404(Cluster, name=cluster)
    rows = visible_claims(request.user, found)
    row = get_object_or_404(rows, namespace=namespace, name=name)
    (claim,) = with_pods(found, [row])
    allocation = (row.body.get("status") or {}).get("allocation") or {}
    context = {
        "nav": "claims",
        "cluster": found,
        "claim": claim,
        "binding": binding_of(row.body, now=timezone.now()),
        "made_at": moment_of(row.body["metadata"].get("creationTimestamp")),
        "allocated_at": moment_of(allocation.get("allocationTimestamp")),
        "commands": verifying_commands(claim),
        "claim_request": _request_of(request, row),
        "notes": admission_notes(row),
        "spec_yaml": dump(row.body.get("spec") or {}),
    }
    template = fragment("claims/claim_detail.html", "live", request)
    return render(request, template, context)


def _request_of(request: PortalRequest, row: KubeObject) -> ClaimRequest | None:
    """Return the request that made a claim, if this person may see it."""
    try:
        public_id = UUID(request_id_of(row.body))
    except ValueError:
        return None
    return visible_to(request.user).filter(public_id=public_id).first()

"""The checks of the form as it stands, each beside its field, with repairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_POST

from claims.domain.compose import to_manifest
from claims.domain.draft import from_fields
from claims.services.composing import read_for
from claims.services.diagnosing import diagnose
from inventory.models import Cluster
from portal.accounts.decorators import requires
from portal.accounts.domain.roles import Permission
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from django.http import HttpResponse

    from claims.domain.draft import Draft
    from claims.domain.reading import Reading
    from portal.accounts.models import User
    from portal.core.http import PortalRequest


@requires(Permission.COMPOSE)
@require_POST
def compose_checks(request: PortalRequest, cluster: str) -> HttpResponse:
    """Answer with the list of findings."""
    row = get_object_or_404(Cluster, name=cluster)
    draft = from_fields(dict(request.POST.lists()))
    reading = read_for(request.user, row, draft)
    context = {"checks": checks_of(request.user, row, draft, reading)}
    return render(request, "claims/compose_checks.html", context)


def checks_of(
    user: User, cluster: Cluster, draft: Draft, reading: Reading
) -> dict[str, Any]:
    """Return what the checks' template takes: findings, or why there are none."""
    if reading.claim is None:
        return {"is_unfinished": True}
    try:
        found = diagnose(cluster, user, to_manifest(reading.claim), draft)
    except PortalError as error:
        return {"failure": error.message}
    return {"findings": found.findings}

"""The checks of the form as it stands, each beside its field, with repairs."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_POST

from claims.domain.reading import hours_of
from claims.services.composing import read_for
from claims.services.diagnosing import diagnose
from claims.services.gate import Wish, the_gate
from claims.services.writing import draft_of, manifest_of
from inventory.models import Cluster
from portal.accounts.decorators import requires
from portal.accounts.domain.roles import Permission
from portal.accounts.queries import tenant_of
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from django.http import HttpResponse

    from claims.domain.draft import Draft
    from claims.domain.reading import Reading
    from claims.services.gate import Ruling
    from portal.accounts.models import User
    from portal.core.http import PortalRequest


@requires(Permission.COMPOSE)
@require_POST
def compose_checks(request: PortalRequest, cluster: str) -> HttpResponse:
    """Answer with the list of findings."""
    row = get_object_or_404(Cluster, name=cluster)
    draft = draft_of(dict(request.POST.lists()))
    reading = read_for(request.user, row, draft)
    context = {"checks": checks_of(request.user, row, draft, reading)}
    return render(request, "claims/compose_checks.html", context)


def checks_of(
    user: User, cluster: Cluster, draft: Draft, reading: Reading
) -> dict[str, Any]:
    """Return what the checks' template takes: findings, or why there are none."""
    if not reading.is_claim:
        return {"is_unfinished": True}
    manifest = manifest_of(draft)
    ruling = ruling_of(user, cluster, manifest, draft.lasting)
    try:
        found = diagnose(cluster, user, manifest, draft)
    except PortalError as error:
        return {"failure": error.message, "ruling": ruling}
    return {"findings": found.findings, "ruling": ruling}


def ruling_of(
    user: User, cluster: Cluster, manifest: dict[str, Any], lasting: str
) -> Ruling:
    """Return who would have to approve this, and why; it lasts hours, as typed."""
    now = timezone.now()
    hours = hours_of(lasting)
    namespace = str(manifest["metadata"].get("namespace") or "")
    wish = Wish(
        user=user,
        tenant=tenant_of(cluster.name, namespace),
        cluster=cluster,
        manifest=manifest,
        now=now,
        ends_at=now + timedelta(hours=hours) if hours else None,
    )
    return the_gate().judge(wish)

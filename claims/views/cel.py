"""One CEL field's verdict, while it is typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asgiref.sync import sync_to_async
from django.http import HttpResponse, HttpResponseBadRequest
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from claims.domain.draft import from_fields, selector_at
from claims.services.composing import classes_of
from claims.services.expressions import ajudge, with_nearest
from inventory.models import Cluster
from portal.accounts.decorators import requires
from portal.accounts.domain.roles import Permission

if TYPE_CHECKING:
    from portal.core.http import PortalRequest


@requires(Permission.COMPOSE)
@require_POST
async def compose_cel(request: PortalRequest, cluster: str) -> HttpResponse:
    """Judge the selector that `judge` names; an answer that nobody awaits is dropped."""
    row = await sync_to_async(get_object_or_404)(Cluster, name=cluster)
    draft = from_fields(dict(request.POST.lists()))
    found = selector_at(draft, request.POST.get("judge", ""))
    if found is None:
        return HttpResponseBadRequest(_("“judge” names no selector of this form."))
    device_class, expression = found
    classes = await sync_to_async(classes_of)(row)
    verdict = await ajudge(row, expression, classes.get(device_class))
    if verdict is not None:
        verdict = await sync_to_async(with_nearest)(row, expression, verdict)
    context = {"verdict": verdict, "target": f"f-{request.POST['judge']}"}
    return await sync_to_async(render)(request, "claims/compose_verdict.html", context)

"""The page of moves that would free a larger piece of a card."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from asgiref.sync import sync_to_async
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from claims.services.diagnosing import hidden_from
from claims.services.moves import amoves
from inventory.models import Cluster
from portal.accounts.decorators import requires
from portal.accounts.domain.roles import Permission
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from django.http import HttpResponse

    from portal.accounts.models import User
    from portal.core.http import PortalRequest


@requires(Permission.COMPOSE)
@require_GET
async def moves(request: PortalRequest, cluster: str) -> HttpResponse:
    """List the moves that are proven now; others' claims are only "in use"."""
    row = await sync_to_async(get_object_or_404)(Cluster, name=cluster)
    user = cast("User", await request.auser())
    context: dict[str, Any] = {"nav": "overview", "cluster": row}
    status = 200
    try:
        context["found"] = await amoves(row)
        context["hidden"] = await sync_to_async(hidden_from)(user, row)
    except PortalError as error:
        context["problem"], status = error.message, 503
    return await sync_to_async(render)(
        request, "claims/moves.html", context, status=status
    )

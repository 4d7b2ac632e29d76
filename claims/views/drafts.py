"""Drafts: kept while one types, listed, gone on with, and discarded after a question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from claims.services.drafting import (
    KEPT_FOR,
    discard,
    drafts_of,
    form_of,
)
from claims.services.writing import draft_of
from claims.views.beginning import keep_posted
from inventory.models import Cluster
from portal.accounts.decorators import requires
from portal.accounts.domain.roles import Permission
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpResponse

    from portal.core.http import PortalRequest


@requires(Permission.COMPOSE)
@require_POST
def compose_keep(request: PortalRequest, cluster: str) -> HttpResponse:
    """Keep the form as it is typed; answer with when, or why not."""
    row = get_object_or_404(Cluster, name=cluster)
    now = timezone.now()
    context: dict[str, object] = {"kept_at": now}
    try:
        keep_posted(request, row, draft_of(dict(request.POST.lists())), now=now)
    except PortalError as error:
        context = {"kept_problem": error.message}
    return render(request, "claims/compose_kept.html", context)


@require_GET
def draft_list(request: PortalRequest) -> HttpResponse:
    """Show this person's drafts, the last changed first."""
    rows = [
        (each, form_of(each), each.changed_at + KEPT_FOR)
        for each in drafts_of(request.user)
    ]
    context = {"nav": "requests", "rows": rows, "days": KEPT_FOR.days}
    return render(request, "claims/draft_list.html", context)


@require_http_methods(["GET", "POST"])
def draft_discard(request: PortalRequest, public_id: UUID) -> HttpResponse:
    """Ask whether a draft may go; on POST, forget it."""
    if request.method == "POST":
        if discard(request.user, public_id):
            messages.success(request, _("The draft was discarded."))
        return HttpResponseRedirect(reverse("claims:draft-list"))
    row = get_object_or_404(drafts_of(request.user), public_id=public_id)
    context = {"nav": "requests", "draft": row, "form": form_of(row)}
    return render(request, "claims/draft_discard.html", context)

"""Asking that a request lasts longer, and deciding about that."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from claims.domain.lifecycle import State
from claims.queries.requests import visible_to
from claims.services.submit import LONGEST_HOURS
from portal.approvals.models import Decision, Extension
from portal.approvals.queries.inbox import extensions_for
from portal.approvals.services.extending import (
    NotExtended,
    ask_longer,
    say_on_longer,
)
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpResponse

    from claims.models import ClaimRequest
    from portal.core.http import PortalRequest


@require_http_methods(["GET", "POST"])
def extension(request: PortalRequest, public_id: UUID) -> HttpResponse:
    """Show what was asked and decided; ask for longer, or decide about it."""
    row = get_object_or_404(visible_to(request.user), public_id=public_id)
    if request.method == "GET":
        return _shown(request, row)
    try:
        said = _carried_out(request, row)
    except PortalError as error:
        return _shown(request, row, problem=error.message)
    messages.success(request, said)
    return HttpResponseRedirect(reverse("approvals:extension", args=[public_id]))


def _carried_out(request: PortalRequest, row: ClaimRequest) -> str:
    """Ask or decide, as the button says; return what to tell."""
    now, reason = timezone.now(), request.POST.get("reason", "")
    verdict = request.POST.get("verdict", "")
    if verdict:
        opened = row.extensions.filter(state=Extension.State.OPEN).first()
        if opened is None or verdict not in Decision.Verdict.values:
            raise NotExtended(_("There is nothing left to decide here."))
        say_on_longer(
            opened,
            user=request.user,
            verdict=Decision.Verdict(verdict),
            reason=reason,
            request_id=request.request_id,
            now=now,
        )
        return _("Your decision is recorded.")
    hours = request.POST.get("hours", "").strip()
    if not hours.isdecimal() or not 1 <= int(hours) <= LONGEST_HOURS:
        raise NotExtended(
            _("Say how many hours longer: 1 to %(most)d.") % {"most": LONGEST_HOURS}
        )
    made = ask_longer(
        row,
        user=request.user,
        until=(row.expires_at or now) + timedelta(hours=int(hours)),
        reason=reason,
        request_id=request.request_id,
        now=now,
    )
    if made.state == Extension.State.GRANTED:
        return _("It lasts longer now.")
    return _("It is asked; those who decide are told.")


def _shown(
    request: PortalRequest, row: ClaimRequest, *, problem: str = ""
) -> HttpResponse:
    extensions = list(
        row.extensions.prefetch_related("words__person").order_by("-asked_at")
    )
    waits = extensions_for(request.user).filter(claim_request=row).first()
    is_own = row.requester_id == request.user.pk
    context = {
        "nav": "requests" if is_own else "approvals",
        "page_cluster": row.plan.cluster,
        "claim_request": row,
        "extensions": extensions,
        "may_decide": waits is not None,
        "may_ask": is_own
        and row.state == State.ACTIVE
        and row.expires_at is not None
        and not any(each.state == Extension.State.OPEN for each in extensions),
        "problem": problem,
        "reason": request.POST.get("reason", ""),
        "hours": request.POST.get("hours", ""),
    }
    status = 409 if problem else 200
    return render(request, "approvals/extension.html", context, status=status)

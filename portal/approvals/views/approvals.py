"""The inbox, one approval with all that there is to know, the decision, the revocation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST
from django.views.decorators.vary import vary_on_headers

from claims.domain.lifecycle import State
from claims.domain.manifest import ADMIN_LABEL, asks_admin_access, ordered
from claims.services.ending import revoke
from claims.services.yaml_text import dump
from inventory.models import KubeObject
from portal.accounts.decorators import requires
from portal.accounts.domain.roles import Permission
from portal.approvals.models import Decision
from portal.approvals.queries.inbox import (
    TABS,
    extensions_for,
    in_tab,
    visible_to,
    waiting_for,
)
from portal.approvals.services.deciding import decide
from portal.approvals.services.narrowing import (
    Narrower,
    approve_narrower,
    counts_of,
    difference_of,
)
from portal.approvals.services.reaching import reached_by
from portal.approvals.services.wording import standing_sentences
from portal.core.errors import PortalError
from portal.core.http import PortalRequest, fragment

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpResponse

    from claims.models import ClaimPlan
    from portal.approvals.models import Approval

PER_PAGE = 50


@require_GET
@vary_on_headers("HX-Request")
def approval_list(request: PortalRequest) -> HttpResponse:
    """Show what this person has to decide, what they asked for, or all they may see."""
    default = "review" if request.user.may(Permission.DECIDE) else "mine"
    tab = request.GET.get("tab", default)
    tab = tab if tab in TABS else default
    rows = in_tab(request.user, tab)
    context = {
        "nav": "approvals",
        "tab": tab,
        "page": Paginator(rows, PER_PAGE).get_page(request.GET.get("page")),
        "waiting": waiting_for(request.user).count(),
        "extensions": extensions_for(request.user) if tab == "review" else (),
        "may_decide": request.user.may(Permission.DECIDE),
        "sees_all": request.user.may(Permission.SEE_ALL_CLAIMS),
    }
    template = fragment("approvals/approval_list.html", "rows", request)
    return render(request, template, context)


@require_GET
@vary_on_headers("HX-Request")
def approval_detail(request: PortalRequest, public_id: UUID) -> HttpResponse:
    """Show one approval: what is asked, whom it would see, who decided, and the buttons."""
    approval = _visible(request, public_id)
    return _shown(request, approval)


@requires(Permission.DECIDE)
@require_POST
def approval_decide(request: PortalRequest, public_id: UUID) -> HttpResponse:
    """Take a decision; a refusal is said on the page, and what was typed stays."""
    approval = _visible(request, public_id)
    verdict, reason = request.POST.get("verdict", ""), request.POST.get("reason", "")
    if verdict not in Decision.Verdict.values:
        return _shown(request, approval, reason=reason, status=422)
    said: dict[str, Any] = {
        "user": request.user,
        "reason": reason,
        "digest": request.POST.get("digest", ""),
        "request_id": request.request_id,
        "now": timezone.now(),
    }
    less = _narrower(request, approval)
    try:
        if less is not None and verdict == Decision.Verdict.APPROVE:
            approve_narrower(approval, less, **said)
        else:
            decide(approval, verdict=Decision.Verdict(verdict), **said)
    except PortalError as error:
        approval = _visible(request, public_id)
        return _shown(
            request, approval, problem=error.message, reason=reason, status=409
        )
    messages.success(request, _("Your decision is recorded."))
    return HttpResponseRedirect(_address(public_id))


@requires(Permission.DECIDE)
@require_POST
def approval_revoke(request: PortalRequest, public_id: UUID) -> HttpResponse:
    """End an active request at once."""
    approval = _visible(request, public_id)
    reason = request.POST.get("reason", "").strip()
    if not reason:
        problem = _("Say why it is revoked: its requester is told.")
        return _shown(request, approval, problem=problem, status=422)
    try:
        revoke(
            approval.claim_request,
            user=request.user,
            reason=reason,
            request_id=request.request_id,
            now=timezone.now(),
        )
    except PortalError as error:
        return _shown(
            request, approval, problem=error.message, reason=reason, status=409
        )
    messages.success(request, _("Revoked: everything that uses it is being ended."))
    return HttpResponseRedirect(_address(public_id))


def _narrower(request: PortalRequest, approval: Approval) -> Narrower | None:
    """Return what is approved of what was asked; None for all of it."""
    asked = counts_of(approval.claim_request.plan.manifest)
    typed = {each.name: request.POST.get(f"count-{each.name}", "") for each in asked}
    counts = {
        each.name: int(typed[each.name])
        for each in asked
        if typed[each.name].isdecimal() and int(typed[each.name]) != each.count
    }
    hours = request.POST.get("hours", "").strip()
    if not counts and not hours:
        return None
    return Narrower(int(hours) if hours.isdecimal() else None, counts)


def _visible(request: PortalRequest, public_id: UUID) -> Approval:
    rows = visible_to(request.user)
    return get_object_or_404(rows, claim_request__public_id=public_id)


def _address(public_id: UUID) -> str:
    return reverse("approvals:approval-detail", args=[public_id])


def _shown(
    request: PortalRequest,
    approval: Approval,
    *,
    problem: str = "",
    reason: str = "",
    status: int = 200,
) -> HttpResponse:
    template = fragment("approvals/approval_detail.html", "live", request)
    context = {**_context(request, approval), "problem": problem, "reason": reason}
    return render(request, template, context, status=status)


def _context(request: PortalRequest, approval: Approval) -> dict[str, Any]:
    claim_request = approval.claim_request
    plan = claim_request.plan
    decisions = list(
        approval.decisions.select_related("person").order_by("decided_at", "pk")
    )
    is_waiting = claim_request.state == State.PENDING_APPROVAL
    may_see = request.user.may(Permission.SEE_EXPOSURE)
    return {
        "nav": "approvals",
        "page_cluster": plan.cluster,
        "approval": approval,
        "claim_request": claim_request,
        "plan": plan,
        "decisions": decisions,
        "asks_admin": asks_admin_access(plan.manifest),
        "label": label_of(plan),
        "admin_label": f'{ADMIN_LABEL}: "true"',
        "sentences": standing_sentences(approval),
        "reached": reached_by(plan) if may_see else None,
        "is_waiting": is_waiting,
        "is_own": claim_request.requester_id == request.user.pk,
        "has_decided": any(
            each.person_id == request.user.pk and each.digest == approval.digest
            for each in decisions
        ),
        "may_decide": is_waiting
        and waiting_for(request.user).filter(pk=approval.pk).exists(),
        "may_revoke": claim_request.state == State.ACTIVE
        and request.user.may(Permission.DECIDE),
        "manifest_yaml": dump(ordered(plan.manifest)),
        "counts": counts_of(plan.manifest),
        "difference": difference_of(approval),
    }


def label_of(plan: ClaimPlan) -> bool | None:
    """Return whether the namespace carries the label, None where it is not known."""
    body = (
        KubeObject.objects.filter(
            cluster=plan.cluster, kind="Namespace", name=plan.namespace, deleted_at=None
        )
        .values_list("body", flat=True)
        .first()
    )
    if body is None:
        return None
    return bool((body["metadata"].get("labels") or {}).get(ADMIN_LABEL) == "true")

"""My requests, one request and what became of it, its release, the demo's pod."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django.views.decorators.vary import vary_on_headers

from claims.domain.follow import FINISHED
from claims.domain.lifecycle import State, sources_of
from claims.domain.manifest import API_VERSION, KINDS, TEMPLATE, ordered
from claims.queries.domains import made_domain
from claims.queries.requests import following, mine, timeline, visible_to
from claims.services.bundles import snippets_of
from claims.services.ending import cancel
from claims.services.gate import the_gate
from claims.services.origins import change_of
from claims.services.releasing import release
from claims.services.retrying import try_again
from claims.services.starting import start_pod
from claims.services.yaml_text import dump
from claims.views.importing import diff_lines
from portal.accounts.domain.roles import Permission
from portal.core.errors import PortalError
from portal.core.http import PortalRequest, fragment

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from django.http import HttpResponse

    from claims.models import ClaimRequest

PER_PAGE = 50
CANCELLABLE = frozenset(sources_of(State.CANCELLED))


@require_GET
@vary_on_headers("HX-Request")
def request_list(request: PortalRequest) -> HttpResponse:
    """Show this person's requests, newest first."""
    page = Paginator(mine(request.user), PER_PAGE).get_page(request.GET.get("page"))
    context = {"nav": "requests", "page": page}
    return render(
        request, fragment("claims/request_list.html", "rows", request), context
    )


@require_GET
@vary_on_headers("HX-Request")
def request_detail(request: PortalRequest, public_id: UUID) -> HttpResponse:
    """Show a request: the object it made, its claims and pods, what happened, as YAML."""
    claim_request = _visible(request, public_id)
    template = fragment("claims/request_detail.html", "live", request)
    return render(request, template, _detail(request, claim_request))


@require_http_methods(["GET", "POST"])
def request_release(request: PortalRequest, public_id: UUID) -> HttpResponse:
    """Show what a release would end; on POST, begin it with the pods that were shown."""
    claim_request = _own(request, public_id)
    if request.method == "POST":
        return _release(request, claim_request)
    if not claim_request.is_in_cluster:
        return _back(claim_request)
    context = _detail(request, claim_request)
    return render(request, "claims/request_release.html", context)


@require_POST
def request_cancel(request: PortalRequest, public_id: UUID) -> HttpResponse:
    """Take a request back before anything is made of it."""
    return _moved(request, _own(request, public_id), cancel)


@require_POST
def request_retry(request: PortalRequest, public_id: UUID) -> HttpResponse:
    """Have a request that could not be applied tried again."""
    return _moved(request, _own(request, public_id), try_again)


@require_POST
def request_pod(request: PortalRequest, public_id: UUID) -> HttpResponse:
    """Start a pod that uses the request, where this is the demo."""
    if not settings.SLICEWISE_DEMO:
        raise Http404
    claim_request = _own(request, public_id)
    try:
        name = start_pod(claim_request)
    except PortalError as error:
        messages.error(request, error.message)
    else:
        messages.success(request, _("The pod %(name)s was started.") % {"name": name})
    return _back(claim_request)


def _moved(
    request: PortalRequest, claim_request: ClaimRequest, move: Callable[..., object]
) -> HttpResponse:
    """Move a request as its requester; whatever refuses is said on its page."""
    try:
        move(
            claim_request,
            user=request.user,
            request_id=request.request_id,
            now=timezone.now(),
        )
    except PortalError as error:
        messages.error(request, error.message)
    return _back(claim_request)


def _release(request: PortalRequest, claim_request: ClaimRequest) -> HttpResponse:
    pods = [pod.partition("/")[::2] for pod in request.POST.getlist("pod")]
    try:
        release(
            claim_request,
            user=request.user,
            pods=pods,
            request_id=request.request_id,
            now=timezone.now(),
        )
    except PortalError as error:
        messages.error(request, error.message)
    return _back(claim_request)


def _visible(request: PortalRequest, public_id: UUID) -> ClaimRequest:
    return get_object_or_404(visible_to(request.user), public_id=public_id)


def _own(request: PortalRequest, public_id: UUID) -> ClaimRequest:
    return get_object_or_404(
        visible_to(request.user), public_id=public_id, requester=request.user
    )


def _back(claim_request: ClaimRequest) -> HttpResponseRedirect:
    return HttpResponseRedirect(
        reverse("claims:request-detail", args=[claim_request.public_id])
    )


def _detail(request: PortalRequest, claim_request: ClaimRequest) -> dict[str, Any]:
    plan = claim_request.plan
    followed = following(claim_request, now=timezone.now())
    is_own = claim_request.requester_id == request.user.pk
    return {
        "nav": "requests",
        "page_cluster": plan.cluster,
        "claim_request": claim_request,
        "plan": plan,
        "following": followed,
        "timeline": timeline(claim_request),
        "is_own": is_own,
        "may_release": is_own and claim_request.is_in_cluster,
        "may_cancel": is_own and claim_request.state in CANCELLABLE,
        "may_retry": is_own and claim_request.state == State.APPLY_FAILED,
        "standing": the_gate().standing(claim_request),
        "may_copy": plan.kind in KINDS and request.user.may(Permission.COMPOSE),
        "newer": visible_to(request.user)
        .filter(revises=claim_request)
        .distinct()
        .order_by("submitted_at"),
        "may_start": is_own
        and settings.SLICEWISE_DEMO
        and claim_request.state == State.ACTIVE,
        "ending": [
            pod
            for pod in (followed.pods if followed else ())
            if pod.phase not in FINISHED or not pod.terminating
        ],
        "manifest_yaml": dump(ordered(plan.manifest)),
        "difference": diff_lines(change_of(claim_request)),
        "made": _made(claim_request),
        "snippets": snippets_of(plan.manifest),
    }


def _made(claim_request: ClaimRequest) -> dict[str, Any] | None:
    """Return the ComputeDomain that a request made, and its templates as YAML."""
    found = made_domain(claim_request)
    if found is None:
        return None
    templates = [
        (body["metadata"]["name"], dump(ordered(_shown_template(body))))
        for body in found.templates
    ]
    return {"domain": found.domain, "templates": templates}


def _shown_template(body: dict[str, Any]) -> dict[str, Any]:
    """Return a controller's template without what only servers write down."""
    kept = ("name", "namespace", "labels", "finalizers")
    metadata = {k: v for k, v in body["metadata"].items() if k in kept}
    head = {"apiVersion": API_VERSION, "kind": TEMPLATE}
    return {**head, "metadata": metadata, "spec": body["spec"]}

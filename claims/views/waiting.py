"""What a pending claim waits for, and where a request stands in Kueue's queues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import Http404
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET
from django.views.decorators.vary import vary_on_headers

from claims.domain.follow import ClaimState, state_of
from claims.domain.kueue import Sought
from claims.domain.manifest import DOMAIN
from claims.queries.claims import visible_claims
from claims.queries.requests import visible_to
from claims.services.queueing import kueue_form, queueing_of
from claims.services.waiting import preemption_words, waiting_of
from inventory.views.base import cluster_named
from portal.core.http import PortalRequest, fragment

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpResponse

    from claims.services.queueing import Queueing

Json = dict[str, Any]


@require_GET
@vary_on_headers("HX-Request")
def claim_waiting(
    request: PortalRequest, cluster: str, namespace: str, name: str
) -> HttpResponse:
    """Show whose end would free a pending claim, what a priority does, and the queue."""
    found = cluster_named(cluster)
    rows = visible_claims(request.user, found)
    row = get_object_or_404(rows, namespace=namespace, name=name)
    pending = state_of(row.body, None) is ClaimState.PENDING
    context: dict[str, Any] = {
        "nav": "claims",
        "cluster": found,
        "namespace": namespace,
        "name": name,
        "pending": pending,
    }
    if pending:
        waiting = waiting_of(found, request.user, row.body)
        context["waiting"] = waiting
        context["words"] = preemption_words(waiting)
        context |= _offer(request, waiting.queueing, waiting.template)
    template = fragment("claims/waiting.html", "panels", request)
    return render(request, template, context)


@require_GET
@vary_on_headers("HX-Request")
def request_queue(request: PortalRequest, public_id: UUID) -> HttpResponse:
    """Show where what a request made stands in Kueue; nothing where there is none."""
    row = get_object_or_404(visible_to(request.user), public_id=public_id)
    plan = row.plan
    if plan.kind == DOMAIN:
        raise Http404(_("A ComputeDomain waits in no queue of its own."))
    sought = Sought(frozenset({(plan.kind, plan.name)}))
    queueing = queueing_of(
        plan.cluster, request.user, plan.namespace, sought, plan.manifest
    )
    context = {
        "nav": "requests",
        "cluster": plan.cluster,
        "page_cluster": plan.cluster,
        "claim_request": row,
        **_offer(request, queueing, plan.manifest),
    }
    template = fragment("claims/request_queue.html", "panels", request)
    return render(request, template, context)


def _offer(
    request: PortalRequest, queueing: Queueing | None, manifest: Json | None
) -> dict[str, Any]:
    """Return Kueue's section: the queue and the priority that were chosen, as YAML."""
    names = [each.name for each in queueing.queues] if queueing else []
    classes = (queueing.priorities if queueing else None) or ()
    queue, priority = request.GET.get("queue", ""), request.GET.get("priority", "")
    queue = queue if queue in names else next(iter(names), "")
    priority = priority if priority in classes else ""
    form = kueue_form(manifest, queue, priority) if manifest else ""
    return {
        "queueing": queueing,
        "queue": queue,
        "priority": priority,
        "kueue_yaml": form,
    }

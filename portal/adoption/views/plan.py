"""The plan to DRA: a page to work by, the record to print, manifests to save."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from inventory.views.base import cluster_named, page
from portal.accounts.decorators import requires
from portal.accounts.domain.roles import Permission
from portal.adoption.domain.gates import may_switch
from portal.adoption.domain.phase_manifests import MANIFESTS
from portal.adoption.domain.phases import NEED_REASON, Move, State
from portal.adoption.domain.readiness import Answer
from portal.adoption.queries.migration import plan_of, steps_of
from portal.adoption.services.migrating import (
    MoveRefused,
    PhaseView,
    make_move,
    manifest_text,
    migration_facts_for,
    plan_view,
)
from portal.adoption.services.phase_words import MOVES, PHASES, STATES
from portal.adoption.views.plan_rows import entry_of, row_of
from portal.core.errors import PortalError
from portal.core.http import fragment
from portal.core.problems import status_of

if TYPE_CHECKING:
    from inventory.models import Cluster
    from portal.core.http import PortalRequest

# The button that one most likely wants stands out.
_MAIN = (Move.GO_ON, Move.START, Move.RESUME, Move.CHECK)
_PLAIN = (Move.START, Move.RESUME, Move.GO_ON, Move.CHECK, Move.PAUSE)


@requires(Permission.SEE_HOLDERS)
@page
def plan_page(request: PortalRequest, cluster: str) -> HttpResponse:
    """Show the phases, the current one open, and what can be done."""
    return _shown(request, cluster_named(cluster))


@requires(Permission.MANAGE_CLUSTERS)
@require_POST
def plan_move(request: PortalRequest, cluster: str) -> HttpResponse:
    """Move the plan, and show it again; what was refused is said there."""
    found = cluster_named(cluster)
    try:
        _moved(request, found)
    except PortalError as error:
        return _shown(
            request,
            found,
            status=status_of(error),
            problem=error.message,
            reason=request.POST.get("reason", ""),
        )
    return HttpResponseRedirect(reverse("adoption:plan", args=[found.name]))


@requires(Permission.SEE_HOLDERS)
@require_GET
def plan_record(request: PortalRequest, cluster: str) -> HttpResponse:
    """Show who did what, when and why, with the evidence of each moment."""
    found = cluster_named(cluster)
    plan = plan_of(found)
    context = {
        "cluster": found,
        "nav": "adoption",
        "plan": plan,
        "current": PHASES[plan.current][0],
        "badge": STATES[State(plan.state)][0],
        "state": STATES[State(plan.state)][1],
        "entries": [entry_of(each) for each in steps_of(found).order_by("number")],
        "now": timezone.now(),
    }
    return render(request, "adoption/record.html", context)


@requires(Permission.SEE_HOLDERS)
@require_GET
def plan_manifest(request: PortalRequest, cluster: str, name: str) -> HttpResponse:
    """Answer with a manifest; GPUCluster's only once nothing stands in its way."""
    found = cluster_named(cluster)
    if name not in MANIFESTS:
        raise Http404(_("There is no manifest of that name."))
    if name == "gpucluster.yaml" and not may_switch(
        migration_facts_for(found, request.user)
    ):
        text = _("Not yet: first drain the nodes, until every GPU is in slices.")
        return _shown(request, found, status=409, problem=text)
    response = HttpResponse(manifest_text(name), content_type="application/yaml")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _moved(request: PortalRequest, cluster: Cluster) -> None:
    sent = request.POST
    known = {each.value: each for each in Move}
    version = sent.get("version", "")
    move = known.get(sent.get("move", ""))
    if move is None or not (version.isascii() and version.isdecimal()):
        raise MoveRefused(_("Choose what to do, by a button of this page."))
    make_move(
        cluster,
        move,
        version=int(version),
        reason=sent.get("reason", ""),
        user=request.user,
        request_id=request.request_id,
        now=timezone.now(),
    )
    messages.success(request, _("Done, and kept in the record: %s.") % MOVES[move])


def _shown(
    request: PortalRequest,
    cluster: Cluster,
    *,
    status: int = 200,
    problem: str = "",
    reason: str = "",
) -> HttpResponse:
    view = plan_view(cluster, request.user)
    may_move = request.user.may(Permission.MANAGE_CLUSTERS)
    moves = view.moves if may_move else ()
    fitting = (m for m in _MAIN if m in moves and _fits(view.current, m))
    main = next(fitting, None)
    context = {
        "cluster": cluster,
        "nav": "adoption",
        "plan": view.plan,
        "rows": [row_of(each, view.plan.current) for each in view.phases],
        "may_move": may_move,
        "moves": [(m.value, MOVES[m], m is main) for m in _PLAIN if m in moves],
        "reasoned": [
            (m.value, MOVES[m])
            for m in moves
            if m in NEED_REASON and _fits(view.current, m)
        ],
        "problem": problem,
        "reason": reason,
        "is_done": view.plan.state == State.DONE,
    }
    template = fragment("adoption/plan.html", "live", request)
    return render(request, template, context, status=status)


def _fits(current: PhaseView, move: Move) -> bool:
    """Whether a move would be made, as far as the gate goes."""
    wanted = {Move.GO_ON: Answer.YES, Move.CONFIRM: Answer.UNKNOWN}
    return current.answer is wanted.get(move, current.answer)

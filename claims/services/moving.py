"""The one place where a claim request changes its state.

Every move is a compare-and-set on the state that it may come from, attributed in
the audit trail and announced to open pages. Whoever loses a race changes nothing
and is told so. A worker's claim on a row is a lease with a number
(`attempt_count`): what a worker records counts only while its number is the
newest, so that one that was thought dead cannot overwrite its successor.
"""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import structlog
from django.db import transaction
from django.db.models import F
from django.urls import reverse
from structlog.contextvars import get_contextvars

from claims.domain.lifecycle import WORKED_ON, State, sources_of
from claims.models import ClaimRequest
from claims.queries.requests import is_due
from inventory.gateways.audit_ids import gathered
from portal.audit.context import acting
from portal.core.sentences import Said, kept
from portal.core.wake import notify
from portal.notices.domain.events import claim_event
from portal.notices.services import announce as notices

if TYPE_CHECKING:
    from collections.abc import Iterable

    from claims.models import ClaimPlan

logger = structlog.get_logger(__name__)

# Longer than one apply takes at its slowest; the sweep takes over afterwards.
LEASE_SECONDS = 15
LONGEST_BACK_OFF_SECONDS = 15
WORKER = "slicewise-worker"


@transaction.atomic
def move(
    claim_request: ClaimRequest,
    to: State,
    *,
    actor: str,
    now: datetime,
    reason: str = "",
    message: str | Said = "",
    **changes: Any,
) -> bool:
    """Move a request to another state if it may still go there; return whether it did.

    The row must stand where the table of moves allows, and its lease number must
    still be the one that `claim_request` carries. `message` says why it is there
    now, `changes` are further columns to set; what was waiting for a retry waits no
    longer.
    """
    values = {**kept(message), "retry_at": None, "lease_until": None, **changes}
    rows = ClaimRequest.objects.filter(
        pk=claim_request.pk,
        state__in=sources_of(to),
        attempt_count=claim_request.attempt_count,
    )
    with acting(
        actor=actor,
        reason=reason,
        request_id=claim_request.request_id,
        audit_ids=gathered(),
    ):
        moved = rows.update(state=to, changed_at=now, **values)
    if moved:
        announce(claim_request, to)
        claim_request.refresh_from_db()
    return bool(moved)


def announce(claim_request: ClaimRequest, state: State) -> None:
    """Tell of a new state: open pages, both logs, whoever subscribed to it."""
    _tell_pages(claim_request, state)
    told = {"state": str(state), **logged_under(claim_request)}
    transaction.on_commit(
        lambda: logger.info("a claim request moved", **told), robust=True
    )
    plan = claim_request.plan
    notices.announce(
        claim_event(state),
        subject=subject_of(plan),
        tenant=claim_request.tenant,
        people=(claim_request.requester,),
        payload={
            "claimRequest": str(claim_request.public_id),
            "state": str(state),
            "cluster": plan.cluster.name,
            "kind": plan.kind,
            "namespace": plan.namespace,
            "name": plan.name,
        },
        url=reverse("claims:request-detail", args=[claim_request.public_id]),
    )


def logged_under(claim_request: ClaimRequest) -> dict[str, str]:
    """Return what lines about a request name: it, and the HTTP request behind this work.

    Where none woke us, as in the sweep, that is the one which last changed it.
    """
    names = {"claim_request": str(claim_request.public_id)}
    given = get_contextvars().get("request_id") or claim_request.request_id
    return names | ({"request_id": str(given)} if given else {})


def subject_of(plan: ClaimPlan) -> str:
    """Return what a request is called in notices: names, which need no translation."""
    return f"{plan.namespace}/{plan.name} ({plan.cluster.name})"


def _tell_pages(claim_request: ClaimRequest, state: State) -> None:
    notify(
        claim_request=str(claim_request.public_id),
        state=str(state),
        requester=claim_request.requester_id,
    )


@transaction.atomic
def lease(pk: int, *, now: datetime) -> ClaimRequest | None:
    """Take a due row for this worker, or return None where another has it.

    A submitted or approved request becomes Applying with it.
    """
    taken = {
        "lease_until": now + timedelta(seconds=LEASE_SECONDS),
        "attempt_count": F("attempt_count") + 1,
    }
    due = ClaimRequest.objects.filter(is_due(now), pk=pk)
    waiting = due.filter(state__in=_waiting_to_apply())
    with acting(actor=WORKER):
        started = waiting.update(state=State.APPLYING, changed_at=now, **taken)
        if not started and not due.update(**taken):
            return None
    rows = ClaimRequest.objects.select_related("plan__cluster", "requester", "tenant")
    claim_request = rows.get(pk=pk)
    if started:
        announce(claim_request, State.APPLYING)
    return claim_request


def _waiting_to_apply() -> Iterable[State]:
    return [state for state in sources_of(State.APPLYING) if state in WORKED_ON]


@transaction.atomic
def postpone(
    claim_request: ClaimRequest,
    message: str | Said,
    *,
    now: datetime,
    reason: str = "",
    soon: bool = False,
) -> bool:
    """Give a leased row back to be tried later; return whether it was still ours.

    The pause grows with the time that the request has been in its state, unless it
    is known to go on soon.
    """
    columns = kept(message)
    age = timedelta() if soon else now - claim_request.changed_at
    rows = ClaimRequest.objects.filter(
        pk=claim_request.pk, attempt_count=claim_request.attempt_count
    )
    with acting(actor=WORKER, reason=reason, audit_ids=gathered()):
        is_ours = rows.update(lease_until=None, retry_at=now + back_off(age), **columns)
    if is_ours and columns["message"] != claim_request.message:
        _tell_pages(claim_request, State(claim_request.state))
    return bool(is_ours)


@transaction.atomic
def order_end(claim_request: ClaimRequest, *, by: str) -> bool:
    """Make a release that has begun one that ends everything; return whether it did."""
    rows = ClaimRequest.objects.filter(
        pk=claim_request.pk, state=State.RELEASING, ended_by=""
    )
    with acting(actor=by, request_id=claim_request.request_id):
        return bool(rows.update(ended_by=by, retry_at=None))


def back_off(age: timedelta) -> timedelta:
    """Return how long to wait: a third of the time so far, 1 to 15 s, ± 20 %."""
    seconds = min(max(age.total_seconds() / 3, 1), LONGEST_BACK_OFF_SECONDS)
    return timedelta(seconds=seconds * random.uniform(0.8, 1.2))  # noqa: S311  jitter


@transaction.atomic
def add_ending_pods(
    claim_request: ClaimRequest, pods: list[dict[str, str]], *, actor: str
) -> bool:
    """Add pods to a release that has begun, and have it looked at at once."""
    known = {pod["uid"] for pod in claim_request.ending_pods}
    more = [pod for pod in pods if pod["uid"] not in known]
    rows = ClaimRequest.objects.filter(
        pk=claim_request.pk,
        state=State.RELEASING,
        ending_pods=claim_request.ending_pods,
    )
    with acting(actor=actor, request_id=claim_request.request_id):
        return bool(
            rows.update(ending_pods=[*claim_request.ending_pods, *more], retry_at=None)
        )

"""What ends by the clock or by order: cancelled, expired and revoked requests.

Ended by order means that everything goes, whoever made it: the object, the
claims made from it and every pod that uses them. It is deleted by the portal's
cleaner (`acting.as_cleaner`), and only what has been seen gone is Released.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.utils.translation import gettext as _

from claims.domain.follow import FINISHED
from claims.domain.lifecycle import State
from claims.models import ClaimRequest
from claims.services import faults
from claims.services.moving import move, order_end
from inventory.models import KubeObject
from portal.core.errors import PortalError
from portal.core.sentences import Said
from portal.core.wake import wake

if TYPE_CHECKING:
    from claims.domain.follow import Following
    from portal.accounts.models import User

CLOCK = "slicewise-clock"
# So long after it was seen gone, it is not about to come back.
GONE_FOR = timedelta(minutes=5)


class NotEndable(PortalError):
    """The request stands where it can no longer be cancelled or revoked."""

    code = "request.not_endable"


def cancel(
    claim_request: ClaimRequest, *, user: User, request_id: str, now: datetime
) -> None:
    """Take a request back before anything is made of it.

    Raises:
        NotEndable: It is too late for that.
    """
    claim_request.request_id = request_id
    if not move(claim_request, State.CANCELLED, actor=user.username, now=now):
        raise NotEndable(
            _("It cannot be cancelled: this request is %(state)s by now.")
            % {"state": claim_request.state}
        )


@transaction.atomic
def revoke(
    claim_request: ClaimRequest,
    *,
    user: User,
    reason: str,
    request_id: str,
    now: datetime,
) -> None:
    """End an active request at once, whatever still uses it.

    Raises:
        NotEndable: It is not active.
    """
    claim_request.request_id = request_id
    message = Said("end.revoked", {"user": user.username, "reason": reason})
    if not _end(claim_request, State.REVOKED, user.username, message, now):
        raise NotEndable(
            _("There is nothing to revoke: this request is %(state)s by now.")
            % {"state": claim_request.state}
        )


def expire_due(*, now: datetime) -> int:
    """End every request whose time is over; return how many."""
    over = ClaimRequest.objects.filter(expires_at__lte=now)
    ended = 0
    for claim_request in over.filter(state=State.ACTIVE)[:100]:
        ended += expire(claim_request, now=now)
    for claim_request in over.filter(
        state__in=[State.APPROVED, State.PENDING_APPROVAL]
    )[:100]:
        message = Said("end.over_before")
        ended += move(
            claim_request, State.EXPIRED, actor=CLOCK, now=now, message=message
        )
    # A release that its requester began leaves unknown pods alone; time does not.
    for claim_request in over.filter(state=State.RELEASING, ended_by="")[:100]:
        ended += order_end(claim_request, by=CLOCK)
    return ended


@transaction.atomic
def expire(claim_request: ClaimRequest, *, now: datetime) -> bool:
    """End an active request because its time is over; return whether it was active."""
    return _end(claim_request, State.EXPIRED, CLOCK, Said("end.over"), now)


def _end(
    claim_request: ClaimRequest, state: State, by: str, message: Said, now: datetime
) -> bool:
    if claim_request.state != State.ACTIVE:
        return False
    if not move(claim_request, state, actor=by, now=now, message=message, ended_by=by):
        return False
    faults.reach(faults.ENDING)
    move(claim_request, State.RELEASING, actor=by, now=now, message=message)
    wake("claims.apply", claim_request_id=claim_request.pk)
    return True


def release_idle(
    claim_request: ClaimRequest, found: Following, *, hours: int, now: datetime
) -> bool:
    """Release a request whose claims no pod uses; return whether it was active.

    Only pods that have finished end with it: one that uses it after all keeps it.
    """
    pods = [
        {"name": pod.name, "uid": pod.uid}
        for pod in found.pods
        if pod.phase in FINISHED
    ]
    return _release(
        claim_request, Said("end.idle", {"hours": hours}), now, ending_pods=pods
    )


def release_missing(*, now: datetime) -> int:
    """Release active requests whose object somebody removed or replaced; count them.

    What still uses its claims is left alone, and waited for.
    """
    rows = ClaimRequest.objects.filter(state=State.ACTIVE).exclude(object_uid="")
    rows = rows.filter(
        changed_at__lte=now - GONE_FOR, plan__cluster__heard_at__gte=now - GONE_FOR
    )
    active = list(rows.select_related("plan__cluster", "requester", "tenant"))
    seen = _objects_of(active)
    released = 0
    for claim_request in active:
        plan = claim_request.plan
        if not plan.cluster.sees(plan.kind):
            continue
        key = plan.cluster_id, plan.kind, plan.namespace, plan.name
        uid, deleted_at = seen.get(key, ("", None))
        is_gone = deleted_at is not None and deleted_at <= now - GONE_FOR
        is_other = deleted_at is None and uid != claim_request.object_uid
        if is_gone or is_other:
            released += _release(claim_request, Said("end.removed"), now)
    return released


def _objects_of(
    rows: list[ClaimRequest],
) -> dict[tuple[int, str, str, str], tuple[str, datetime | None]]:
    """Return uid and end of the object in each request's place; one query."""
    found = KubeObject.objects.filter(
        cluster__in={row.plan.cluster_id for row in rows},
        kind__in={row.plan.kind for row in rows},
        name__in={row.plan.name for row in rows},
    ).values_list("cluster_id", "kind", "namespace", "name", "uid", "deleted_at")
    return {row[:4]: row[4:] for row in found}


def _release(
    claim_request: ClaimRequest, message: Said, now: datetime, **changes: Any
) -> bool:
    moved = move(
        claim_request,
        State.RELEASING,
        actor=CLOCK,
        now=now,
        message=message,
        **changes,
    )
    if moved:
        wake("claims.apply", claim_request_id=claim_request.pk)
    return moved

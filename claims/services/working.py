"""One step of work on one request, whoever woke us: a message or the sweep.

What fails in a way that we expect is written on the row; what fails otherwise is
a defect, logged, and pushed back so that the rows behind it get their turn.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import structlog
from structlog.contextvars import bound_contextvars

from claims.domain.lifecycle import State
from claims.queries.requests import due_keys
from claims.services import applying, releasing
from claims.services.drafting import forget_old
from claims.services.ending import expire_due
from claims.services.gate import the_gate
from claims.services.moving import lease, logged_under, postpone
from inventory.gateways.audit_ids import gathering
from inventory.gateways.errors import ClusterUnauthorized
from portal.core.errors import PortalError
from portal.core.sentences import Said

if TYPE_CHECKING:
    from collections.abc import Callable

    from claims.models import ClaimRequest

logger = structlog.get_logger(__name__)

SWEEP_LIMIT = 100


def work_on(pk: int, *, now: datetime) -> bool:
    """Take a due request one step on; return False where it is not due or not ours."""
    claim_request = lease(pk, now=now)
    if claim_request is None:
        return False
    with bound_contextvars(**logged_under(claim_request)), gathering():
        _try(claim_request, now=now)
    return True


def _try(claim_request: ClaimRequest, *, now: datetime) -> None:
    try:
        _step(claim_request, now=now)
    except Exception:
        logger.exception("a claim request met a defect; it is pushed back")
        postpone(
            claim_request,
            Said("portal.defect"),
            now=now,
            reason="portal.defect",
        )


def sweep(
    *, clock: Callable[[], datetime], goes_on: Callable[[], object] = bool
) -> int:
    """End what is over, then work on what is due, longest waiting first; count that.

    Args:
        clock: tells the time, for each step anew.
        goes_on: called before each step; a sweep may take longer than a probe waits.
    """
    for step in (expire_due, the_gate().tick, forget_old):
        goes_on()
        step(now=clock())
    done = 0
    for pk in due_keys(clock(), SWEEP_LIMIT):
        goes_on()
        done += work_on(pk, now=clock())
    return done


def _step(claim_request: ClaimRequest, *, now: datetime) -> None:
    is_release = claim_request.state == State.RELEASING
    try:
        if is_release:
            releasing.end(claim_request, now=now)
        else:
            applying.apply(claim_request, now=now)
    except PortalError as error:
        if is_release or _may_pass(error):
            postpone(
                claim_request,
                error.said or error.message,
                now=now,
                reason=error.code,
                soon=isinstance(error, releasing.StillThere) and error.soon,
            )
        else:
            applying.fail(claim_request, error, now=now)


def _may_pass(error: PortalError) -> bool:
    """Return whether trying again can help; the portal's own credentials can."""
    return not error.permanent or isinstance(error, ClusterUnauthorized)

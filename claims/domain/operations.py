"""The work that a claim request stands for, as an operation that can be waited for.

An operation is no row of its own: `apply.ID` and `release.ID` are two views of one
claim request, so that they can never disagree with it.
"""

from __future__ import annotations

from enum import StrEnum

from claims.domain.lifecycle import State


class Work(StrEnum):
    """What is being done."""

    APPLY = "apply"
    RELEASE = "release"


class Status(StrEnum):
    """How far it is; the last three are final."""

    WAITING = "waiting"  # for an approval
    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


FINAL = frozenset({Status.SUCCEEDED, Status.FAILED, Status.CANCELLED})

_APPLY = {
    State.DRAFT: Status.QUEUED,
    State.SUBMITTED: Status.QUEUED,
    State.PENDING_APPROVAL: Status.WAITING,
    State.APPROVED: Status.QUEUED,
    State.APPLYING: Status.RUNNING,
    State.APPLY_FAILED: Status.FAILED,
    State.DENIED: Status.FAILED,
    State.CANCELLED: Status.CANCELLED,
}
_RELEASE = {
    State.RELEASING: Status.RUNNING,
    State.EXPIRED: Status.QUEUED,
    State.REVOKED: Status.QUEUED,
    State.RELEASED: Status.SUCCEEDED,
}


def status_of(work: Work, state: State, *, was_made: bool) -> Status | None:
    """Return how far some work is; None where it has not been asked for.

    `was_made` says whether the object was ever in the cluster: what expired before
    it was approved was never applied.
    """
    if work is Work.APPLY:
        default = Status.SUCCEEDED if was_made else Status.FAILED
        return _APPLY.get(state, default)
    return _RELEASE.get(state) if was_made else None

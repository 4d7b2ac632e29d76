"""The states of a claim request and the moves between them: the only list of them."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """Where a claim request stands; the spelling is stored and part of the API."""

    DRAFT = "Draft"
    SUBMITTED = "Submitted"
    PENDING_APPROVAL = "PendingApproval"
    APPROVED = "Approved"
    DENIED = "Denied"
    APPLYING = "Applying"
    ACTIVE = "Active"
    APPLY_FAILED = "ApplyFailed"
    RELEASING = "Releasing"
    RELEASED = "Released"
    EXPIRED = "Expired"
    REVOKED = "Revoked"
    CANCELLED = "Cancelled"


TRANSITIONS: dict[State, frozenset[State]] = {
    State.DRAFT: frozenset({State.SUBMITTED, State.CANCELLED}),
    State.SUBMITTED: frozenset(
        {State.PENDING_APPROVAL, State.APPLYING, State.CANCELLED}
    ),
    State.PENDING_APPROVAL: frozenset(
        {State.APPROVED, State.DENIED, State.EXPIRED, State.CANCELLED}
    ),
    State.APPROVED: frozenset({State.APPLYING, State.EXPIRED, State.CANCELLED}),
    State.APPLYING: frozenset({State.ACTIVE, State.APPLY_FAILED}),
    State.ACTIVE: frozenset({State.RELEASING, State.EXPIRED, State.REVOKED}),
    State.APPLY_FAILED: frozenset({State.APPLYING, State.CANCELLED}),
    State.RELEASING: frozenset({State.RELEASED}),
    State.EXPIRED: frozenset({State.RELEASING}),
    State.REVOKED: frozenset({State.RELEASING}),
    State.DENIED: frozenset(),
    State.RELEASED: frozenset(),
    State.CANCELLED: frozenset(),
}
FINAL = frozenset(state for state, targets in TRANSITIONS.items() if not targets)

# Where a worker has something to do, and where the object is (or may be) there.
WORKED_ON = frozenset(
    {State.SUBMITTED, State.APPROVED, State.APPLYING, State.RELEASING}
)
IN_CLUSTER = frozenset({State.ACTIVE, State.RELEASING, State.EXPIRED, State.REVOKED})


def sources_of(target: State) -> list[State]:
    """Return the states from which `target` may be entered, in declaration order."""
    return [state for state, targets in TRANSITIONS.items() if target in targets]

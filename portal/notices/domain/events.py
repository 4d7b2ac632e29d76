"""The names of all events; a subscription chooses among them."""

from __future__ import annotations

import re

# One a state of a claim request; the states themselves are the claims app's.
CLAIM_STATES = (
    "draft",
    "submitted",
    "pending-approval",
    "approved",
    "denied",
    "applying",
    "active",
    "apply-failed",
    "releasing",
    "released",
    "expired",
    "revoked",
    "cancelled",
)
TEST = "subscription.test"
EVENTS = (
    *(f"claim.{state}" for state in CLAIM_STATES),
    "claim.ending-soon",
    "claim.idle",
    "approval.requested",
    "approval.decided",
    "approval.reminder",
    "budget.soft-limit",
    "exposure.appeared",
    "adoption.need-asked",
    "adoption.need-told",
    TEST,
)
# Steps that a person takes themselves, or that pass in a moment: kept, sent to
# whoever subscribed to them, and not shown at the bell.
QUIET = frozenset(
    {
        "claim.draft",
        "claim.submitted",
        "claim.pending-approval",
        "claim.applying",
        "claim.releasing",
        "claim.cancelled",
    }
)

_CAPITALS = re.compile(r"(?<=[a-z])(?=[A-Z])")


def claim_event(state: str) -> str:
    """Return the event of a claim request's state: "ApplyFailed" → claim.apply-failed."""
    return f"claim.{_CAPITALS.sub('-', state).lower()}"

"""Tell the open pages of those who decide that there is news."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portal.approvals.queries.policies import deciders
from portal.core.wake import notify

if TYPE_CHECKING:
    from portal.approvals.models import Approval


def tell_deciders(approval: Approval) -> None:
    """Announce an approval to each person who may decide about it, on commit."""
    claim_request = approval.claim_request
    for person in deciders(approval.role):
        notify(
            claim_request=str(claim_request.public_id),
            state=str(claim_request.state),
            requester=person.pk,
        )

"""Tell those who decide that they are asked, and the requester what was decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.urls import reverse

from claims.services.moving import subject_of
from portal.approvals.queries.policies import deciders, deciders_about
from portal.core.wake import notify
from portal.notices.services.announce import announce

if TYPE_CHECKING:
    from portal.accounts.models import User
    from portal.approvals.models import Approval


def tell_deciders(approval: Approval) -> None:
    """Ask each person who may decide about an approval, on commit."""
    _tell_pages(approval)
    requester = approval.claim_request.requester
    asked = deciders_about(requester, approval.role, approval.group)
    _announce("approval.requested", approval, list(asked), {})


def tell_decision(approval: Approval, *, person: User, verdict: str) -> None:
    """Tell the requester of one person's decision, and the other deciders' pages."""
    _tell_pages(approval)
    said = {
        "verdict": verdict,
        "decidedBy": person.username,
        "approvals": approval.approved_count,
        "isOpen": approval.is_open,
    }
    _announce("approval.decided", approval, [approval.claim_request.requester], said)


def _announce(
    event: str, approval: Approval, people: list[User], said: dict[str, Any]
) -> None:
    claim_request = approval.claim_request
    public_id = str(claim_request.public_id)
    is_asked = event == "approval.requested"
    page = "approvals:approval-detail" if is_asked else "claims:request-detail"
    announce(
        event,
        subject=subject_of(claim_request.plan),
        tenant=claim_request.tenant,
        people=people,
        payload={
            "claimRequest": public_id,
            "needed": approval.needed,
            "decideBy": approval.decide_by.isoformat(),
            **said,
        },
        url=reverse(page, args=[public_id]),
    )


def _tell_pages(approval: Approval) -> None:
    claim_request = approval.claim_request
    for person in deciders(approval.role, approval.group):
        notify(
            claim_request=str(claim_request.public_id),
            state=str(claim_request.state),
            requester=person.pk,
        )

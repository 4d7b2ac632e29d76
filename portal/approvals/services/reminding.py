"""What people are told as time passes: undecided requests, and ends that come near."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.urls import reverse

from claims.domain.lifecycle import State
from claims.models import ClaimRequest
from claims.services.moving import subject_of
from portal.approvals.models import Approval
from portal.approvals.queries.policies import deciders_about
from portal.notices.models import Notice
from portal.notices.services.announce import announce

if TYPE_CHECKING:
    from portal.accounts.models import User

# So long before its end its requester is told, if it lasts longer than that.
BEFORE_END = (timedelta(hours=24), timedelta(hours=1))


def remind_undecided(*, now: datetime) -> int:
    """Remind those who decide of what half of its time is over for, once; count it."""
    rows = Approval.objects.filter(
        is_open=True, claim_request__state=State.PENDING_APPROVAL, decide_by__gt=now
    ).select_related(
        "claim_request__plan__cluster",
        "claim_request__tenant",
        "claim_request__requester",
    )
    told = 0
    for approval in rows:
        half = approval.created_at + (approval.decide_by - approval.created_at) / 2
        request = approval.claim_request
        address = reverse("approvals:approval-detail", args=[request.public_id])
        if now < half or _was_told("approval.reminder", address):
            continue
        announce(
            "approval.reminder",
            subject=subject_of(request.plan),
            tenant=request.tenant,
            people=_undecided(approval),
            payload={
                "claimRequest": str(request.public_id),
                "needed": approval.needed,
                "approvals": approval.approved_count,
                "decideBy": approval.decide_by.isoformat(),
            },
            url=address,
            at=now,
        )
        told += 1
    return told


def _undecided(approval: Approval) -> list[User]:
    decided = approval.decisions.filter(digest=approval.digest)
    requester = approval.claim_request.requester
    people = deciders_about(requester, approval.role, approval.group)
    return list(people.exclude(pk__in=decided.values("person")))


def _was_told(event: str, address: str, **payload: object) -> bool:
    rows = Notice.objects.filter(event=event, url=address)
    return rows.filter(payload__contains=payload).exists()


def tell_ending(*, now: datetime) -> int:
    """Tell requesters that an end comes near, a day and an hour before; count it."""
    rows = ClaimRequest.objects.filter(
        state=State.ACTIVE, expires_at__gt=now, expires_at__lte=now + BEFORE_END[0]
    ).select_related("plan__cluster", "tenant", "requester")
    told = 0
    for request in rows:
        ends_at = request.expires_at
        if ends_at is None:
            continue
        near = [
            before
            for before in BEFORE_END
            if ends_at - now <= before < ends_at - request.submitted_at
        ]
        address = reverse("claims:request-detail", args=[request.public_id])
        if not near:
            continue
        known = {
            "endsAt": ends_at.isoformat(),
            "hours": near[-1].total_seconds() / 3600,
        }
        if _was_told("claim.ending-soon", address, **known):
            continue
        announce(
            "claim.ending-soon",
            subject=subject_of(request.plan),
            tenant=request.tenant,
            people=[request.requester],
            payload={"claimRequest": str(request.public_id), **known},
            url=address,
            at=now,
        )
        told += 1
    return told

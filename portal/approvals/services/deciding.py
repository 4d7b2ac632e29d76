"""One person's decision about one request.

The last approval and the move of the request happen in one transaction; an
approval that is closed is closed for everybody, by compare-and-set on
`is_open` and the digest that the person was shown.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction
from django.db.models import Case, Exists, F, OuterRef, Value, When
from django.utils.translation import gettext as _

from claims.domain.lifecycle import State
from claims.models import ClaimRequest
from claims.services import faults
from claims.services.moving import move
from portal.accounts.domain.roles import Permission
from portal.approvals.models import Approval, Decision
from portal.approvals.services.telling import tell_decision
from portal.audit.context import acting
from portal.core.errors import PortalError
from portal.core.sentences import Said
from portal.core.wake import wake

if TYPE_CHECKING:
    from portal.accounts.models import User


class NotYours(PortalError):
    """This person may not decide about this request."""

    code = "approval.not_yours"


class TooLate(PortalError):
    """It was decided, cancelled or has expired meanwhile."""

    code = "approval.too_late"


class ReasonMissing(PortalError):
    """A denial without a reason."""

    code = "approval.reason_missing"


class OtherDigest(PortalError):
    """What the person was shown is not what would be decided."""

    code = "approval.other_digest"


def decide(  # noqa: PLR0913  each is one fact of the decision
    approval: Approval,
    *,
    user: User,
    verdict: Decision.Verdict,
    reason: str,
    digest: str,
    request_id: str,
    now: datetime,
) -> None:
    """Record a person's decision; the last approval, or any denial, moves the request.

    Args:
        approval: with its request and plan.
        user: who decides.
        verdict: approve or deny.
        reason: needed to deny.
        digest: of the plan that the person was shown.
        request_id: of the HTTP request, for the audit trail.
        now: the moment of deciding.

    Raises:
        NotYours: It is their own, or they may not decide about it.
        ReasonMissing: They deny and do not say why.
        OtherDigest: They were shown something else.
        TooLate: Somebody was first, they themselves among others.
    """
    check_decision(approval, user, verdict, reason.strip(), digest)
    try:
        with transaction.atomic():
            with acting(actor=user.username, reason=reason, request_id=request_id):
                Decision.objects.create(
                    approval=approval,
                    person=user,
                    verdict=verdict,
                    reason=reason.strip(),
                    digest=digest,
                    decided_at=now,
                )
            faults.reach(faults.DECIDED)
            _count(approval, user, verdict, now)
            faults.reach(faults.COUNTED)
            approval.claim_request.request_id = request_id
            _move(approval, user, verdict, reason.strip(), now)
            tell_decision(approval, person=user, verdict=verdict)
            faults.reach(faults.APPROVED)
    except IntegrityError as error:
        if "approvals_decision_once" not in str(error):
            raise
        raise TooLate(_("You have decided about this already.")) from error


def check_decision(
    approval: Approval, user: User, verdict: str, reason: str, digest: str
) -> None:
    """Refuse who may not decide, a denial without a reason, and another digest.

    Raises:
        NotYours, ReasonMissing, OtherDigest: Each says what to do.
    """
    if not user.may(Permission.DECIDE):
        raise NotYours(_("This account lacks the right to decide about requests."))
    check_others(user, approval.claim_request.requester)
    if approval.role and approval.role not in user.roles:
        raise NotYours(
            _("Only people with the role %(role)s decide about this one.")
            % {"role": approval.role}
        )
    check_group(user, approval.group)
    if verdict == Decision.Verdict.DENY and not reason:
        raise ReasonMissing(
            _("Say why, in a sentence: the requester is told when it is denied.")
        )
    if not (digest == approval.digest == approval.claim_request.plan.digest):
        raise OtherDigest(
            _("What you were shown is not what stands here now: look at it again.")
        )


def check_others(user: User, requester: User) -> None:
    """Refuse who asked, and the members of the team whose service account asked.

    Raises:
        NotYours: It is their own.
    """
    if requester.pk == user.pk:
        raise NotYours(_("Nobody decides about a request of their own; ask another."))
    owner = requester.service_of_id
    if owner is not None and user.tenants.filter(pk=owner).exists():
        raise NotYours(
            _("Nobody decides about a request of their own team's service account.")
        )


def check_group(user: User, group: str) -> None:
    """Refuse who is no member of the tenant whose members decide; "" is everybody's.

    Raises:
        NotYours: They are not.
    """
    if group and not user.tenants.filter(name=group).exists():
        raise NotYours(
            _("Only members of the team %(team)s decide about this one.")
            % {"team": group}
        )


def _count(approval: Approval, user: User, verdict: str, now: datetime) -> None:
    """Count an approval, or close at a denial; one of two at once is told so."""
    # No join: an UPDATE that waited for another looks again only at its own row.
    is_waiting = ClaimRequest.objects.filter(
        pk=OuterRef("claim_request_id"), state=State.PENDING_APPROVAL
    )
    rows = Approval.objects.filter(
        Exists(is_waiting),
        pk=approval.pk,
        is_open=True,
        digest=approval.digest,
        decide_by__gt=now,
    )
    if verdict == Decision.Verdict.DENY:
        taken = rows.update(is_open=False)
    else:
        is_last = When(approved_count=F("needed") - 1, then=Value(value=False))
        taken = rows.update(
            is_open=Case(is_last, default=Value(value=True)),
            approved_count=F("approved_count") + 1,
        )
    if not taken:
        raise TooLate(too_late_text(approval, user))
    approval.refresh_from_db(fields=["is_open", "approved_count"])


def _move(
    approval: Approval, user: User, verdict: str, reason: str, now: datetime
) -> None:
    if approval.is_open:
        return
    claim_request = approval.claim_request
    if verdict == Decision.Verdict.DENY:
        message = Said("approval.denied", {"user": user.username, "reason": reason})
        moved = move(
            claim_request, State.DENIED, actor=user.username, now=now, message=message
        )
    else:
        moved = move(
            claim_request, State.APPROVED, actor=user.username, now=now, reason=reason
        )
        # It counts from here on, whether or not a worker hears of it.
        transaction.on_commit(partial(faults.reach, faults.AGREED))
        wake("claims.apply", claim_request_id=claim_request.pk)
    if not moved:
        raise TooLate(too_late_text(approval, user))


def too_late_text(approval: Approval, user: User) -> str:
    """Return who was first, and what it is by now."""
    approval.claim_request.refresh_from_db(fields=["state"])
    others = approval.decisions.select_related("person").exclude(person=user)
    last = others.order_by("-decided_at").first()
    state = {"state": approval.claim_request.state}
    if last is None:
        return _("There is nothing left to decide: it is %(state)s by now.") % state
    return _(
        "%(who)s decided a moment before you, so there is nothing left to decide: it is"
        " %(state)s by now."
    ) % {**state, "who": last.person.username}

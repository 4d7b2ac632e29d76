"""Let an active request last longer: by policy at once, or by those who decide."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils.translation import gettext as _

from claims.domain.lifecycle import State
from claims.services.gate import APPROVALS, Outcome, Ruling, Wish, the_gate
from claims.services.moving import subject_of
from claims.services.replanning import prolong
from claims.services.submit import LONGEST_HOURS
from portal.accounts.domain.roles import Permission
from portal.approvals.domain.policy import Rule
from portal.approvals.models import Decision, Extension, ExtensionWord
from portal.approvals.queries.policies import deciders_about
from portal.approvals.services.deciding import (
    NotYours,
    ReasonMissing,
    TooLate,
    check_group,
    check_others,
)
from portal.audit.context import acting
from portal.core.errors import PortalError
from portal.notices.services.announce import announce

if TYPE_CHECKING:
    from collections.abc import Iterable

    from claims.models import ClaimRequest
    from portal.accounts.models import User


class NotExtended(PortalError):
    """It cannot last longer; the message says why."""

    code = "extension.refused"


def ask_longer(
    claim_request: ClaimRequest,
    *,
    user: User,
    until: datetime,
    reason: str,
    request_id: str,
    now: datetime,
) -> Extension:
    """Ask that a request lasts longer; where policy lets it pass, it does at once.

    Raises:
        NotExtended: It has no end, is not active, or may not last so long.
    """
    _check(claim_request, user, until, reason.strip())
    ruling = _judged(claim_request, until, now)
    rule = dict(ruling.parts)[APPROVALS].detail["document"]
    is_open = ruling.outcome is Outcome.APPROVE
    read = Rule.from_document(rule)
    extension = Extension(
        claim_request=claim_request,
        until=until,
        reason=reason.strip(),
        rule=rule,
        needed=read.approvals if is_open else 0,
        role=read.role if is_open else "",
        decide_by=min(
            now + timedelta(hours=read.decide_within_hours),
            claim_request.expires_at or until,
        ),
        asked_at=now,
    )
    try:
        with (
            transaction.atomic(),
            acting(actor=user.username, reason=reason, request_id=request_id),
        ):
            extension.save()
            if is_open:
                _tell(
                    extension,
                    "approval.requested",
                    deciders_about(user, extension.role, extension.group),
                )
            else:
                _grant(extension, ruling)
    except IntegrityError as error:
        if "approvals_extension_one_open" not in str(error):
            raise
        raise NotExtended(
            _("You have asked for longer already: wait until that is decided.")
        ) from error
    return extension


def _check(
    claim_request: ClaimRequest, user: User, until: datetime, reason: str
) -> None:
    if claim_request.requester_id != user.pk:
        raise NotExtended(_("Only who asked for it may ask that it lasts longer."))
    if claim_request.state != State.ACTIVE or claim_request.expires_at is None:
        raise NotExtended(
            _("Only an active request with an end can last longer; this is %(state)s.")
            % {"state": claim_request.state}
        )
    if until <= claim_request.expires_at:
        raise NotExtended(_("That is no later than it ends now: name a later moment."))
    if not reason:
        raise NotExtended(_("Say why it has to last longer."))


def _judged(claim_request: ClaimRequest, until: datetime, now: datetime) -> Ruling:
    """Return what policy and budgets say of it, judged as if it were asked now."""
    wish = Wish.again(claim_request, now=now, ends_at=until)
    ruling = the_gate().judge(replace(wish, instead_of=claim_request.pk))
    if ruling.outcome is Outcome.DENY:
        raise NotExtended(" ".join(ruling.sentences), code=ruling.code or None)
    longest = timedelta(hours=ruling.max_hours or LONGEST_HOURS)
    if until > now + longest:
        raise NotExtended(
            _("It may last %(hours)s hours from now at most.")
            % {"hours": ruling.max_hours or LONGEST_HOURS}
        )
    return ruling


def say_on_longer(
    extension: Extension,
    *,
    user: User,
    verdict: Decision.Verdict,
    reason: str,
    request_id: str,
    now: datetime,
) -> None:
    """Record a person's word on an extension; the last approval grants it.

    Raises:
        NotYours, ReasonMissing, TooLate: As for a request.
        NotExtended: Budgets or policy have changed meanwhile.
    """
    _check_word(extension, user, verdict, reason.strip())
    ruling = (
        _judged(extension.claim_request, extension.until, now)
        if verdict == Decision.Verdict.APPROVE
        else None
    )
    try:
        with (
            transaction.atomic(),
            acting(actor=user.username, reason=reason, request_id=request_id),
        ):
            row = Extension.objects.select_for_update().get(pk=extension.pk)
            if row.state != Extension.State.OPEN or row.decide_by <= now:
                raise TooLate(
                    _("There is nothing left to decide: it is %(state)s by now.")
                    % {"state": row.state}
                )
            ExtensionWord.objects.create(
                extension=row,
                person=user,
                verdict=verdict,
                reason=reason.strip(),
                said_at=now,
            )
            agreed = row.words.filter(verdict=Decision.Verdict.APPROVE).count()
            if ruling is None:
                _close(row, Extension.State.DENIED)
            elif agreed >= row.needed:
                _grant(row, ruling)
    except IntegrityError as error:
        if "approvals_extensionword_once" not in str(error):
            raise
        raise TooLate(_("You have decided about this already.")) from error


def _check_word(extension: Extension, user: User, verdict: str, reason: str) -> None:
    if not user.may(Permission.DECIDE):
        raise NotYours(_("This account lacks the right to decide about requests."))
    check_others(user, extension.claim_request.requester)
    if extension.role and extension.role not in user.roles:
        raise NotYours(
            _("Only people with the role %(role)s decide about this one.")
            % {"role": extension.role}
        )
    check_group(user, extension.group)
    if verdict == Decision.Verdict.DENY and not reason:
        raise ReasonMissing(
            _("Say why, in a sentence: the requester is told when it is denied.")
        )


def _grant(extension: Extension, ruling: Ruling) -> None:
    """Move the end, and book the hours; in the caller's transaction."""
    claim_request = extension.claim_request
    if not prolong(claim_request, extension.until):
        raise NotExtended(
            _("It has ended or changed meanwhile, so it cannot last longer.")
        )
    the_gate().changed(claim_request, ruling)
    _close(extension, Extension.State.GRANTED)


def _close(extension: Extension, state: Extension.State) -> None:
    extension.state = state
    extension.save(update_fields=["state"])
    _tell(extension, "approval.decided", [extension.claim_request.requester])


def lapse_extensions(*, now: datetime) -> int:
    """Close what nobody decided in time; return how many."""
    rows = Extension.objects.filter(state=Extension.State.OPEN, decide_by__lte=now)
    return rows.update(state=Extension.State.LAPSED)


def _tell(extension: Extension, event: str, people: Iterable[User]) -> None:
    claim_request = extension.claim_request
    payload: dict[str, Any] = {
        "claimRequest": str(claim_request.public_id),
        "extension": extension.state,
        "until": extension.until.isoformat(),
        "needed": extension.needed,
    }
    announce(
        event,
        subject=subject_of(claim_request.plan),
        tenant=claim_request.tenant,
        people=list(people),
        payload=payload,
        url=reverse("approvals:extension", args=[claim_request.public_id]),
    )

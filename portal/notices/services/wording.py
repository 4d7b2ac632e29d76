"""Notices in words, in the reader's language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.utils.translation import gettext as _gettext
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from portal.notices.domain.events import EVENTS, TEST
from portal.notices.domain.messages import Facts

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

    from portal.notices.models import Notice

# Event → a sentence over %(subject)s; what it is called among a subscription's events.
WORDS: dict[str, tuple[str, _StrPromise]] = {
    "claim.draft": (gettext_noop("%(subject)s was drafted."), _("Request drafted")),
    "claim.submitted": (
        gettext_noop("%(subject)s was submitted."),
        _("Request submitted"),
    ),
    "claim.pending-approval": (
        gettext_noop("%(subject)s waits for an approval."),
        _("Request waits for approval"),
    ),
    "claim.approved": (
        gettext_noop("%(subject)s was approved."),
        _("Request approved"),
    ),
    "claim.denied": (gettext_noop("%(subject)s was denied."), _("Request denied")),
    "claim.applying": (
        gettext_noop("%(subject)s is being applied."),
        _("Request being applied"),
    ),
    "claim.active": (
        gettext_noop("%(subject)s is in the cluster now."),
        _("Request active"),
    ),
    "claim.apply-failed": (
        gettext_noop("%(subject)s could not be applied."),
        _("Request not applied"),
    ),
    "claim.releasing": (
        gettext_noop("%(subject)s is being released."),
        _("Request being released"),
    ),
    "claim.released": (
        gettext_noop("%(subject)s is released."),
        _("Request released"),
    ),
    "claim.expired": (gettext_noop("%(subject)s has expired."), _("Request expired")),
    "claim.revoked": (gettext_noop("%(subject)s was revoked."), _("Request revoked")),
    "claim.cancelled": (
        gettext_noop("%(subject)s was cancelled."),
        _("Request cancelled"),
    ),
    "claim.ending-soon": (
        gettext_noop("%(subject)s ends soon."),
        _("Request ends soon"),
    ),
    "claim.idle": (
        gettext_noop("%(subject)s holds devices that no pod uses."),
        _("Request idle"),
    ),
    "approval.requested": (
        gettext_noop("%(subject)s asks for your decision."),
        _("Approval asked for"),
    ),
    "approval.decided": (
        gettext_noop("Somebody decided about %(subject)s."),
        _("Approval decided about"),
    ),
    "approval.reminder": (
        gettext_noop("%(subject)s still waits for a decision."),
        _("Approval still waited for"),
    ),
    "budget.soft-limit": (
        gettext_noop("%(subject)s has passed a soft limit."),
        _("Budget's soft limit passed"),
    ),
    "exposure.appeared": (
        gettext_noop("Administrative access appeared: %(subject)s."),
        _("Exposure appeared"),
    ),
    "adoption.need-asked": (
        gettext_noop("Say how much GPU memory each of these needs: %(subject)s."),
        _("Need of GPU memory asked for"),
    ),
    "adoption.need-told": (
        gettext_noop("Its owner said how much GPU memory it needs: %(subject)s."),
        _("Need of GPU memory told"),
    ),
    TEST: (gettext_noop("This is a test of %(subject)s."), _("Test")),
}
# What may be subscribed to; tests are sent on demand.
SUBSCRIBABLE = tuple(event for event in EVENTS if event != TEST)
PROBLEMS: dict[str, _StrPromise] = {
    "refused": _("The address is not one that the portal calls."),
    "unknown-host": _("The host has no address now."),
    "timeout": _("Nobody answered in time."),
    "unreachable": _("The connection failed."),
    "mail": _("The mail server did not take it."),
    "status": _("The answer was no success."),
    "gone": _("The receiver says that it is gone for good."),
    "secret": _("The address or the secret cannot be read any more."),
    "off": _("The subscription was switched off before it was sent."),
    "defect": _("Something unexpected went wrong; the log says what."),
}


def sentence_of(notice: Notice) -> str:
    """Return what happened, as one sentence in the reader's language."""
    return _gettext(WORDS[notice.event][0]) % {"subject": notice.subject}


def address_of(notice: Notice) -> str:
    """Return where a notice is shown: absolute where the portal knows its host."""
    return f"{settings.SLICEWISE_PUBLIC_URL}{notice.url}"


def facts_of(notice: Notice) -> Facts:
    """Return a notice in words and data; its tenant is fetched already."""
    return Facts(
        id=str(notice.public_id),
        number=notice.number,
        event=notice.event,
        subject=notice.subject,
        sentence=sentence_of(notice),
        tenant=notice.tenant.name if notice.tenant else None,
        payload=notice.payload,
        url=address_of(notice),
        at=notice.at,
    )

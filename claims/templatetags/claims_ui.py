"""How the states of requests and claims are shown: a word and a kind of badge."""

from __future__ import annotations

from django import template
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from claims.domain.follow import ClaimState, ObjectState
from claims.domain.lifecycle import State

register = template.Library()

# State → (word, kind of badge); "" is the neutral one.
SHOWN = {
    State.DRAFT: (gettext_lazy("Draft"), ""),
    State.SUBMITTED: (gettext_lazy("Submitted"), "info"),
    State.PENDING_APPROVAL: (gettext_lazy("Waits for approval"), "warn"),
    State.APPROVED: (gettext_lazy("Approved"), "info"),
    State.DENIED: (gettext_lazy("Denied"), "bad"),
    State.APPLYING: (gettext_lazy("Applying"), "info"),
    State.ACTIVE: (gettext_lazy("Active"), "good"),
    State.APPLY_FAILED: (gettext_lazy("Not applied"), "bad"),
    State.RELEASING: (gettext_lazy("Releasing"), "warn"),
    State.RELEASED: (gettext_lazy("Released"), ""),
    State.EXPIRED: (gettext_lazy("Expired"), "warn"),
    State.REVOKED: (gettext_lazy("Revoked"), "bad"),
    State.CANCELLED: (gettext_lazy("Cancelled"), ""),
    ClaimState.PENDING: (gettext_lazy("Pending"), "warn"),
    ClaimState.ALLOCATED: (gettext_lazy("Allocated"), "info"),
    ClaimState.RESERVED: (gettext_lazy("Reserved"), "good"),
    ClaimState.UNRESERVED: (gettext_lazy("Allocated, used by no pod"), "warn"),
    ClaimState.TERMINATING: (gettext_lazy("Terminating"), "warn"),
    ObjectState.PRESENT: (gettext_lazy("In the cluster"), "good"),
    ObjectState.MISSING: (pgettext_lazy("object", "Missing"), "bad"),
    ObjectState.UNSEEN: (gettext_lazy("Not seen yet"), "info"),
}


@register.filter
def state_word(state: str) -> str:
    """Return the word for a state."""
    return str(SHOWN[state][0]) if state in SHOWN else state  # type: ignore[index]


@register.filter
def state_kind(state: str) -> str:
    """Return the kind of badge for a state: good, warn, bad, info or neutral."""
    return SHOWN[state][1] if state in SHOWN else ""  # type: ignore[index]


@register.filter
def actor_word(actor: str) -> str:
    """Return who did something: a person's name as it is, a process in words."""
    words = {
        "slicewise-worker": _("the portal"),
        "slicewise-clock": _("the clock"),
        "": _("the portal"),
    }
    return words.get(actor, actor)

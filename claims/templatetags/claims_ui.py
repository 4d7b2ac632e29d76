"""How the states of requests and claims are shown: a word and a kind of badge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import template
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext, pgettext_lazy

from claims.domain.binding import Binding, Readiness, binding_of
from claims.domain.follow import ClaimState, ObjectState
from claims.domain.lifecycle import State
from claims.services.preset_words import translated

if TYPE_CHECKING:
    from collections.abc import Mapping

    from claims.domain.follow import FollowedClaim
    from claims.services.building import Built

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
    Readiness.AWAITED: (gettext_lazy("Waits for its devices"), "warn"),
    Readiness.MET: (gettext_lazy("Devices are ready"), "good"),
    Readiness.FAILED: (gettext_lazy("A device failed"), "bad"),
    Readiness.TIMED_OUT: (gettext_lazy("Waited too long"), "bad"),
    ObjectState.PRESENT: (gettext_lazy("In the cluster"), "good"),
    ObjectState.MISSING: (pgettext_lazy("object", "Missing"), "bad"),
    ObjectState.UNSEEN: (gettext_lazy("Not seen yet"), "info"),
}


@register.filter
def state_word(state: str) -> str:
    """Return the word for a state."""
    return str(SHOWN[state][0]) if state in SHOWN else state  # type: ignore[index]


@register.filter
def condition_word(state: Readiness) -> str:
    """Return the word for how far one condition of a device is."""
    words = {
        Readiness.AWAITED: pgettext("condition", "awaited"),
        Readiness.MET: pgettext("condition", "met"),
        Readiness.FAILED: pgettext("condition", "failed"),
    }
    return words[state]


@register.filter
def readiness(claim: FollowedClaim) -> Readiness | None:
    """Return how far a claim's devices are with what they wait for, if with anything."""
    binding = binding_of(claim.body, now=timezone.now())
    return binding.state if binding else None


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


@register.filter
def binding_words(binding: Binding) -> str:
    """Return how far devices are with what they wait for, in a sentence."""
    waited = _("an unknown time")
    if binding.waited is not None:
        waited = _("%(n)d s") % {"n": binding.waited.total_seconds()}
    limit = binding.timeout.total_seconds()
    sentences = {
        Readiness.AWAITED: _(
            "The devices are allocated, but the pod starts only when they are ready:"
            " it has waited %(waited)s of at most %(limit)d s (the default)."
        ),
        Readiness.MET: _("The devices became ready after %(waited)s."),
        Readiness.FAILED: _(
            "A device could not be made ready after %(waited)s; the scheduler gives"
            " this allocation up and tries again."
        ),
        Readiness.TIMED_OUT: _(
            "The devices were not ready within %(limit)d s (the default); the scheduler"
            " gives this allocation up and may choose other devices."
        ),
    }
    return sentences[binding.state] % {"waited": waited, "limit": limit}


@register.filter
def made_words(claim: FollowedClaim) -> str:
    """Return for whose extended resource the scheduler made a claim; "" if it did not."""
    if not claim.implicit:
        return ""
    values = {
        "pod": ", ".join(claim.pods),
        "resources": ", ".join(claim.resources),
    }
    if not claim.pods:
        return _("Made by the scheduler for an extended resource of a pod.")
    if not claim.resources:
        return _("Made by the scheduler for an extended resource of %(pod)s.") % values
    return _("Made by the scheduler for %(pod)s’s %(resources)s.") % values


@register.filter
def command_words(shows: str) -> str:
    """Return what a command shows."""
    return {
        "claim": _("The claim and its state"),
        "devices": _("What it was given, request by request"),
        "slices": _("What the driver publishes"),
        "pod": _("The pod and its events"),
        "gpus": _("The GPUs as the container sees them"),
    }[shows]


@register.filter
def at_place(builders: Mapping[str, Built], place: str) -> Built | None:
    """Return how far the condition of one alternative is put together."""
    return builders.get(place)


@register.filter
def preset_words(text: str) -> str:
    """Return a text of a shipped preset in the language that is active."""
    return translated(text)

"""What is said of breaches and of advice, one sentence a code.

The API server passes sentences on to people in English; pages say them in the
reader's language.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext_lazy as _

from portal.admission.domain.advice import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from portal.admission.domain.guards import Breach

WORDS = {
    Outcome.ADMIT: _("admitted"),
    Outcome.MUTATE: _("fallback put in"),
    Outcome.DENY: _("denied"),
}
BADGES = {Outcome.ADMIT: "good", Outcome.MUTATE: "warn", Outcome.DENY: "bad"}
SENTENCES = {
    "admin.no_label": _(
        'adminAccess needs the label resource.kubernetes.io/admin-access: "true" on'
        " the namespace: ask an administrator of the cluster to set it."
    ),
    "admin.not_portal": _(
        "adminAccess is only to be had through the portal: compose the claim there and"
        " have it approved."
    ),
    "admin.unknown_request": _(
        "The portal knows no request %(id)s for this cluster: submit it anew."
    ),
    "admin.other_content": _(
        "This is not what request %(id)s was approved for (%(field)s differs): submit"
        " it anew."
    ),
    "admin.not_approved": _("Request %(id)s may not be applied: %(why)s"),
    "admin.no_template": _(
        "No approved request of this namespace covers this claim: have its template"
        " approved in the portal, or leave adminAccess out of it."
    ),
    "admin.expired": _(
        "The approval that covers this claim was over at %(at)s: ask for it anew in the"
        " portal."
    ),
    "admin.too_many": _(
        "%(count)d claims were made from this approved template already, and %(most)d"
        " are allowed: delete pods that no longer need theirs."
    ),
    "limits.devices": _(
        "%(namespace)s may have %(limit)d devices and claims of it ask for %(held)d; this"
        " one asks for %(asked)d more: delete a claim, or ask an administrator for more."
    ),
    "limits.claims": _(
        "%(namespace)s may have %(limit)d claims and has %(held)d: delete one, or ask an"
        " administrator for more."
    ),
    "limits.vram": _(
        "%(namespace)s may have %(limit)d GiB of GPU memory and claims of it ask for"
        " %(held)s; this one asks for %(asked)s more: ask for less, or delete a claim."
    ),
    "limits.vram_unknown": _(
        "How much GPU memory this claim, or one that %(namespace)s has, can take is not"
        " known, and %(limit)d GiB are the limit: name a class whose devices publish"
        " their memory."
    ),
    "budget.vram": _(
        "The budget %(budget)s has %(limit)d GiB of GPU memory and %(taken)s are taken;"
        " this claim takes up to %(asked)s more: ask for less, delete a claim, or have"
        " an administrator raise the budget."
    ),
    "budget.cards": _(
        "The budget %(budget)s has %(limit)d whole cards and %(taken)s are taken; this"
        " claim takes up to %(asked)s more: ask for less, delete a claim, or have an"
        " administrator raise the budget."
    ),
    "budget.slices": _(
        "The budget %(budget)s has %(limit)d memory slices and %(taken)s are taken; this"
        " claim takes up to %(asked)s more: ask for less, delete a claim, or have an"
        " administrator raise the budget."
    ),
    "budget.gpu_hours": _(
        "The budget %(budget)s has %(limit)d GPU-hours a month and %(taken)s are taken;"
        " this claim has no end and takes up to %(asked)s more: ask in the portal for a"
        " shorter time, or have an administrator raise the budget."
    ),
    "budget.vram_unknown": _(
        "How much GPU memory this claim can take is not known, and the budget %(budget)s"
        " has %(limit)d GiB: name a class whose devices are there and publish their"
        " memory."
    ),
    "budget.vram_soft": _(
        "It goes over the soft limit of the budget %(budget)s, %(limit)d GiB of GPU"
        " memory: %(taken)s are taken, and this claim takes up to %(asked)s more."
    ),
    "budget.cards_soft": _(
        "It goes over the soft limit of the budget %(budget)s, %(limit)d whole cards:"
        " %(taken)s are taken, and this claim takes up to %(asked)s more."
    ),
    "budget.slices_soft": _(
        "It goes over the soft limit of the budget %(budget)s, %(limit)d memory slices:"
        " %(taken)s are taken, and this claim takes up to %(asked)s more."
    ),
    "budget.gpu_hours_soft": _(
        "It goes over the soft limit of the budget %(budget)s, %(limit)d GPU-hours a"
        " month: %(taken)s are taken, and this claim takes up to %(asked)s more."
    ),
    "forbidden.class": _(
        "The class %(name)s is not allowed here: choose another, or ask an"
        " administrator."
    ),
    "forbidden.selector": _(
        "Selectors must not use “%(text)s” here: choose devices by other attributes."
    ),
    "diagnostics.found": _("%(path)s: %(sentence)s"),
    "advice.unsafe": _(
        "The advisor holds it for safe with a probability of %(safe)s, and %(threshold)s"
        " is needed: ask for less, or ask an administrator."
    ),
    "advice.reject": _(
        "The advisor would reject it, with a probability of %(chance)s: ask for less, or"
        " try again when devices are free."
    ),
    "advice.admit": _("The advisor would admit it as it is."),
    "advice.not_confident": _(
        "The advisor would fall back, but is not confident enough: %(confidence)s of"
        " %(least)s."
    ),
    "advice.not_severe": _(
        "The advisor would fall back, but fragmentation is not severe enough:"
        " %(severity)s of %(leastSeverity)s."
    ),
    "advice.not_batch": _(
        "The advisor would fall back, but only claims of the tier batch-offline are"
        " changed."
    ),
    "advice.no_fallback": _(
        "The advisor would fall back, but no fallback that fits now may be put into it."
    ),
    "advice.mutate": _(
        "The advisor falls back with a confidence of %(confidence)s at a severity of"
        " %(severity)s."
    ),
    "fallback.unfit": _(
        "What was asked for fits on no node now, and the fallback “%(name)s” does."
    ),
    "fallback.advised": _("A fallback was put into it on the advisor's word."),
    "advisor.fault": _("The advisor gave no answer that can be used: %(why)s"),
}


def said(code: str, values: Mapping[str, Any]) -> str:
    """Return a sentence in the language that is active."""
    return str(SENTENCES[code]) % values


def breach_sentence(breach: Breach) -> str:
    """Return what a breach says, with the rule that it comes from."""
    return f"[{breach.rule}] {said(breach.code, breach.values)}"

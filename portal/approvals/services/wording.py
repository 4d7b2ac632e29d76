"""Why policy decides as it does, in sentences for the person who asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from portal.approvals.domain.policy import Effect, Judgement, Policy, Reason, Rule
from portal.approvals.queries.policies import deciders_about

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.utils.functional import _StrPromise

    from portal.approvals.models import Approval

REASONS: dict[str, _StrPromise] = {
    "admin_access": gettext_lazy(
        "it asks for administrative access, which sees devices that others use"
    ),
    "device_classes": gettext_lazy("it asks for the device class %(found)s"),
    "namespaces": gettext_lazy("it is for the namespace %(found)s"),
    "tenants": gettext_lazy("it is for the tenant %(found)s"),
    "clusters": gettext_lazy("it is for the cluster %(found)s"),
    "min_devices": gettext_lazy(
        "it asks for %(found)s devices, and the limit is %(wanted)s"
    ),
    "min_gib": gettext_lazy(
        "it asks for %(found)s GiB of memory, and the limit is %(wanted)s"
    ),
    "gib_unknown": gettext_lazy(
        "how much memory it asks for is not known, and the limit is %(wanted)s GiB"
    ),
    "min_hours": gettext_lazy("it is for %(found)s hours, and the limit is %(wanted)s"),
    "endless": gettext_lazy("it has no end, and the limit is %(wanted)s hours"),
    "time": gettext_lazy("it is asked within %(wanted)s"),
    "always": gettext_lazy("the rule applies to everything"),
}


def reason_text(reason: Reason) -> str:
    """Return one reason as a half sentence."""
    return str(REASONS[reason.code]) % {"wanted": reason.wanted, "found": reason.found}


def source(policy: Policy, rule: Rule) -> str:
    """Return where a ruling comes from: the rule, and the policy's version."""
    if policy.version == 0:
        return _("rule “%(rule)s” of the built-in policy") % {"rule": rule.name}
    return _("rule “%(rule)s” of policy version %(version)s") % {
        "rule": rule.name,
        "version": policy.version,
    }


def ruling_sentences(
    policy: Policy, judgement: Judgement, people: Sequence[str]
) -> tuple[str, ...]:
    """Return what a rule means for a request; `people` may decide about it."""
    rule = judgement.rule
    why = {
        "why": _(", and ").join(map(reason_text, judgement.reasons)),
        "source": source(policy, rule),
    }
    if rule.effect is Effect.AUTO:
        return (_("No approval is needed (%(source)s).") % why,)
    if rule.effect is Effect.DENY:
        return (_("This is not allowed, because %(why)s (%(source)s).") % why,)
    return (
        needs_text(rule.approvals, people),
        _("That is because %(why)s (%(source)s).") % why,
        *_limits(rule),
    )


def standing_sentences(approval: Approval) -> tuple[str, ...]:
    """Return why an approval was asked, by the rule as it was then, and who decides."""
    rule = Rule.from_document(approval.rule)
    judgement = Judgement(rule, tuple(Reason(**each) for each in approval.reasons))
    policy = Policy(approval.policy_version, ())
    requester = approval.claim_request.requester
    people = deciders_about(requester, approval.role, approval.group)
    return ruling_sentences(policy, judgement, [each.username for each in people])


def needs_text(needed: int, people: Sequence[str]) -> str:
    """Return how many of whom have to agree."""
    return ngettext(
        "%(n)d person has to approve it: one of %(people)s.",
        "%(n)d people have to approve it, out of %(people)s.",
        needed,
    ) % {"n": needed, "people": ", ".join(people) or _("nobody")}


def too_few_text(needed: int, people: Sequence[str]) -> str:
    """Return that not enough people may decide."""
    return _(
        "This needs %(needed)s approvals, and too few people may decide about it"
        " (%(there)s): ask an administrator to name more approvers."
    ) % {"needed": needed, "there": ", ".join(people) or _("nobody")}


def _limits(rule: Rule) -> tuple[str, ...]:
    said = [
        _("Undecided, it expires after %(hours)s hours.")
        % {"hours": rule.decide_within_hours}
    ]
    if rule.max_hours is not None:
        said.append(
            _("It may last %(hours)s hours at most.") % {"hours": rule.max_hours}
        )
    return tuple(said)

"""Store a new version of the policy, and say beforehand what it would change."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from claims.models import ClaimRequest
from claims.services.gate import Wish
from portal.accounts.models import Tenant
from portal.approvals.domain.policy import BadPolicy, Policy, Rule, judge
from portal.approvals.models import PolicyRule, PolicySet
from portal.approvals.queries.policies import policy_in_force
from portal.approvals.services.gating import asked_of
from portal.audit.context import acting
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Sequence

DRY_RUN_DAYS = 90


class PolicyRefused(PortalError):
    """The rules cannot be used; the message says which and why."""

    code = "policy.invalid"


class PolicyChanged(PortalError):
    """Another version is in force than the one that was looked at."""

    code = "policy.changed"


@dataclass(frozen=True)
class Changed:
    """A past request that a new policy would have judged otherwise."""

    claim_request: ClaimRequest
    before: Rule
    after: Rule


def read_rules(documents: object) -> tuple[Rule, ...]:
    """Return the rules of a JSON list.

    Raises:
        PolicyRefused: They cannot be used.
    """
    if not isinstance(documents, list) or not documents:
        raise PolicyRefused(
            _(
                "A policy is a list of rules with at least one in it: see docs/policy.md."
            )
        )
    try:
        rules = tuple(Rule.from_document(_mapping(each)) for each in documents)
    except BadPolicy as error:
        raise PolicyRefused(str(error)) from error
    names = [rule.name for rule in rules]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise PolicyRefused(
            _("Two rules are named %(name)s: give each its own name.")
            % {"name": ", ".join(twice)}
        )
    _check_groups(rules)
    return rules


def _check_groups(rules: Sequence[Rule]) -> None:
    named = {rule.group for rule in rules if rule.group}
    known = Tenant.objects.filter(name__in=named).values_list("name", flat=True)
    if unknown := sorted(named - set(known)):
        raise PolicyRefused(
            _("There is no team named %(name)s: choose one whose members may decide.")
            % {"name": ", ".join(unknown)}
        )


def _mapping(document: object) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise BadPolicy("Each rule must be an object with a name and an effect.")
    if "effect" not in document:
        raise BadPolicy(f"Rule {document.get('name')}: effect is missing.")
    return document


def store_policy(
    rules: Sequence[Rule],
    *,
    by: str,
    note: str,
    now: datetime,
    seen: int | None = None,
    request_id: str = "",
) -> PolicySet:
    """Put a new version in force.

    Args:
        rules: in the order in which they are tried.
        by: who does it.
        note: why, for the record.
        now: the moment.
        seen: the version that the person looked at; None for whichever there is.
        request_id: of the HTTP request, for the audit trail.

    Raises:
        PolicyChanged: Somebody else stored a version meanwhile.
    """
    newest = PolicySet.objects.aggregate(newest=Max("version"))["newest"] or 0
    if seen is not None and seen != newest:
        raise PolicyChanged(_changed_text())
    try:
        with (
            transaction.atomic(),
            acting(actor=by, reason=note, request_id=request_id),
        ):
            made = PolicySet.objects.create(
                version=newest + 1, note=note, created_by=by, created_at=now
            )
            PolicyRule.objects.bulk_create(
                PolicyRule(
                    policy_set=made,
                    position=position,
                    name=rule.name,
                    document=rule.document(),
                )
                for position, rule in enumerate(rules)
            )
    except IntegrityError as error:
        raise PolicyChanged(_changed_text()) from error
    return made


def _changed_text() -> str:
    return _("Somebody stored another version meanwhile: look at it, then try again.")


def would_change(rules: Sequence[Rule], *, now: datetime) -> tuple[int, list[Changed]]:
    """Return how many requests of the last 90 days there are, and which would differ."""
    old, new = policy_in_force(), Policy(-1, tuple(rules))
    since = now - timedelta(days=DRY_RUN_DAYS)
    rows = ClaimRequest.objects.filter(submitted_at__gte=since).select_related(
        "plan__cluster", "tenant", "requester"
    )
    changed, total = [], 0
    for claim_request in rows.order_by("submitted_at").iterator(chunk_size=500):
        total += 1
        asked = asked_of(wish_of(claim_request))
        before, after = judge(old, asked).rule, judge(new, asked).rule
        if _deciding(before) != _deciding(after):
            changed.append(Changed(claim_request, before, after))
    return total, changed


def wish_of(claim_request: ClaimRequest) -> Wish:
    """Return what a past request asked for, at the moment that it did."""
    return Wish.again(
        claim_request,
        now=claim_request.submitted_at,
        ends_at=claim_request.expires_at,
    )


def _deciding(rule: Rule) -> tuple[object, ...]:
    if rule.effect == "approve":
        return (rule.effect, rule.approvals, rule.role, rule.group)
    return (rule.effect,)

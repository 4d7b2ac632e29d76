"""The gate through which every request goes: policy on submit, approval on apply."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from claims.domain.lifecycle import State
from claims.domain.manifest import asks_admin_access, digest_of
from claims.services.gate import NotApproved, Outcome, Ruling, Standing, Wish
from claims.services.moving import move
from inventory.domain.quantity import BadQuantity, parse_quantity
from portal.accounts.domain.roles import Permission
from portal.approvals.domain.policy import Asked, Effect, Rule, judge
from portal.approvals.models import Approval, Decision
from portal.approvals.queries.policies import deciders_about, policy_in_force
from portal.approvals.services.telling import tell_deciders
from portal.approvals.services.wording import (
    needs_text,
    ruling_sentences,
    too_few_text,
)
from portal.core.sentences import Said

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from claims.models import ClaimRequest

ALL_COUNTS_AS = 32
CLOCK = "slicewise-clock"
GIB = 1024**3


class ApprovalGate:
    """Judges by the policy in force; applies only what was approved as it stands."""

    def judge(self, wish: Wish) -> Ruling:
        """Return what becomes of a wish; makes three queries."""
        policy = policy_in_force()
        judgement = judge(policy, asked_of(wish))
        rule = judgement.rule
        people = [
            person.username
            for person in deciders_about(wish.user, rule.role, rule.group)
        ]
        detail = {
            "rule": rule.name,
            "document": rule.document(),
            "version": policy.version,
            "reasons": [
                {"code": each.code, "wanted": each.wanted, "found": each.found}
                for each in judgement.reasons
            ],
        }
        if rule.effect is Effect.APPROVE and len(people) < rule.approvals:
            said: tuple[str, ...] = (too_few_text(rule.approvals, people),)
            return Ruling(outcome=Outcome.DENY, sentences=said, detail=detail)
        return Ruling(
            outcome=Outcome(rule.effect.value),
            sentences=ruling_sentences(policy, judgement, people),
            max_hours=rule.max_hours,
            detail=detail,
        )

    def stored(self, claim_request: ClaimRequest, ruling: Ruling) -> None:
        """Open the approval that a ruling asks for, and tell those who decide."""
        if ruling.outcome is not Outcome.APPROVE:
            return
        rule = Rule.from_document(ruling.detail["document"])
        now = claim_request.submitted_at
        approval = Approval.objects.create(
            claim_request=claim_request,
            digest=claim_request.plan.digest,
            policy_version=ruling.detail["version"],
            rule=ruling.detail["document"],
            reasons=ruling.detail["reasons"],
            needed=rule.approvals,
            role=rule.role,
            decide_by=now + timedelta(hours=rule.decide_within_hours),
            created_at=now,
        )
        tell_deciders(approval)

    def changed(self, claim_request: ClaimRequest, ruling: Ruling) -> None:
        """Do nothing: whoever changes it has seen to its approval."""

    def check_apply(self, claim_request: ClaimRequest, *, now: datetime) -> None:
        """Refuse what is not approved as it stands, by enough people who still may."""
        approval = Approval.objects.filter(claim_request=claim_request).first()
        plan = claim_request.plan
        if approval is None:
            if asks_admin_access(plan.manifest):
                raise NotApproved(Said("approval.missing"))
            return
        if claim_request.expires_at is not None and claim_request.expires_at <= now:
            raise NotApproved(
                Said("approval.over"),
                code="approval.over",
            )
        if (
            digest_of(plan.defaulted) != approval.digest
            or plan.digest != approval.digest
        ):
            raise NotApproved(
                Said("approval.other_digest"),
                code="approval.other_digest",
            )
        if len(_standing_approvals(approval)) < approval.needed:
            raise NotApproved(Said("approval.too_few"))

    def standing(self, claim_request: ClaimRequest) -> Standing | None:
        """Return how far an approval is; makes two or three queries."""
        approval = Approval.objects.filter(claim_request=claim_request).first()
        if approval is None:
            return None
        decisions = approval.decisions.select_related("person").order_by("decided_at")
        said = [
            _("%(have)s of %(needed)s approvals.")
            % {"have": approval.approved_count, "needed": approval.needed}
        ]
        if claim_request.state == State.PENDING_APPROVAL:
            people = deciders_about(
                claim_request.requester, approval.role, approval.group
            )
            said = [needs_text(approval.needed, [p.username for p in people]), *said]
        return Standing(
            sentences=tuple(said),
            decisions=tuple(
                (one.person.username, one.verdict, one.reason, one.decided_at)
                for one in decisions
            ),
            href=reverse("approvals:approval-detail", args=[claim_request.public_id]),
        )

    def tick(self, *, now: datetime) -> None:
        """Expire what nobody decided, and close what no longer waits."""
        waiting = State.PENDING_APPROVAL
        late = Approval.objects.filter(
            is_open=True, decide_by__lte=now, claim_request__state=waiting
        ).select_related("claim_request")
        for approval in late[:100]:
            move(
                approval.claim_request,
                State.EXPIRED,
                actor=CLOCK,
                now=now,
                reason="approval.undecided",
                message=Said("approval.undecided"),
            )
        Approval.objects.filter(is_open=True).exclude(
            claim_request__state=waiting
        ).update(is_open=False)


def _standing_approvals(approval: Approval) -> list[Decision]:
    """Return the approvals that count now: by others, who may still decide."""
    requester = approval.claim_request.requester
    rows = approval.decisions.select_related("person").filter(
        verdict=Decision.Verdict.APPROVE, digest=approval.digest
    )
    if approval.group:
        rows = rows.filter(person__tenants__name=approval.group)
    if requester.service_of_id is not None:
        rows = rows.exclude(person__tenants=requester.service_of_id)
    return [
        one
        for one in rows.exclude(person=requester)
        if one.person.is_active
        and one.person.may(Permission.DECIDE)
        and (not approval.role or approval.role in one.person.roles)
    ]


def asked_of(wish: Wish) -> Asked:
    """Return what policy looks at of a wish."""
    groups = list(_requests(wish.manifest))
    hours = None
    if wish.ends_at is not None:
        hours = (wish.ends_at - wish.now).total_seconds() / 3600
    sizes = [_gib_of(group) for group in groups]
    return Asked(
        cluster=wish.cluster.name,
        namespace=str(wish.manifest["metadata"].get("namespace", "")),
        tenant=wish.tenant.name if wish.tenant else "",
        device_classes=frozenset(
            str(each.get("deviceClassName", "")) for group in groups for each in group
        ),
        devices=devices_asked(wish.manifest),
        gib=None if None in sizes else sum(size for size in sizes if size is not None),
        hours=hours,
        admin_access=asks_admin_access(wish.manifest),
        at=timezone.localtime(wish.now),
    )


def devices_asked(manifest: Mapping[str, Any]) -> int:
    """Return how many devices a claim can take at most; `All` counts as 32."""
    groups = _requests(manifest)
    return sum(max(map(_count_of, group), default=0) for group in groups)


def _requests(manifest: Mapping[str, Any]) -> Iterator[list[dict[str, Any]]]:
    """Yield each request's alternatives."""
    spec = manifest["spec"]
    claim = spec.get("spec") or {} if "spec" in spec else spec
    for request in (claim.get("devices") or {}).get("requests") or []:
        if request.get("exactly"):
            yield [request["exactly"]]
        else:
            yield list(request.get("firstAvailable") or [])


def _count_of(asked: Mapping[str, Any]) -> int:
    if asked.get("allocationMode") == "All":
        return ALL_COUNTS_AS
    return int(asked.get("count") or 1)


def _gib_of(group: list[dict[str, Any]]) -> float | None:
    """Return the most memory that a request can take, None where it does not say."""
    sizes = []
    for asked in group:
        amounts = (asked.get("capacity") or {}).get("requests") or {}
        memory = [
            amount
            for key, amount in amounts.items()
            if key.rpartition("/")[2].lower() == "memory"
        ]
        try:
            sizes.append(float(parse_quantity(memory[0])) / GIB * _count_of(asked))
        except (IndexError, BadQuantity):
            return None
    return max(sizes, default=0.0)

"""The policy, tried and put in force, and the exposure report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils import timezone

from inventory.api.base import ClusterView
from portal.accounts.domain.roles import Permission
from portal.accounts.domain.scopes import Scope
from portal.api.matching import ETAG, demand_match
from portal.api.operations import Operation
from portal.api.views import ApiView
from portal.approvals.api import documents, serializers
from portal.approvals.domain.policy import Asked, Policy, judge
from portal.approvals.models import PolicySet
from portal.approvals.queries.exposure import exposure_of
from portal.approvals.queries.policies import deciders, policy_in_force
from portal.approvals.services.labelling import setters_in
from portal.approvals.services.policies import read_rules, store_policy, would_change
from portal.approvals.services.wording import ruling_sentences

if TYPE_CHECKING:
    from rest_framework.request import Request
    from rest_framework.response import Response

    from portal.approvals.domain.policy import Rule

Json = dict[str, Any]


def etag_of(policy: Policy) -> str:
    """Return what changes with every version."""
    return f'"policy-{policy.version}"'


class PolicyView(ApiView):
    """The policy in force."""

    operations = {
        "GET": Operation(
            id="getPolicy",
            summary="Say which policy is in force",
            tag="policy",
            scope=Scope.GOVERN_READ,
            answer=serializers.Policy,
            headers=ETAG,
        ),
        "PUT": Operation(
            id="putPolicy",
            summary="Put other rules in force, as a new version",
            tag="policy",
            scope=Scope.GOVERN_WRITE,
            permission=Permission.MANAGE_POLICY,
            body=serializers.PolicyBody,
            answer=serializers.Policy,
            bucket="write",
            needs_match=True,
            headers=ETAG,
            problems=(409, 422),
        ),
    }

    def get(self, request: Request) -> Response:
        """Return the rules."""
        return self._shown()

    def put(self, request: Request) -> Response:
        """Store a version, unless somebody did so meanwhile."""
        body, policy = self.body(), policy_in_force()
        demand_match(request, etag_of(policy))
        store_policy(
            read_rules(body["rules"]),
            by=self.person.username,
            note=body["note"],
            now=timezone.now(),
            seen=policy.version,
            request_id=self.request_id,
        )
        return self._shown()

    def _shown(self) -> Response:
        policy = policy_in_force()
        row = PolicySet.objects.filter(version=policy.version).first()
        document = {
            "rules": [rule.document() for rule in policy.rules],
            "version": policy.version,
            "createdBy": row.created_by if row else None,
            "createdAt": row.created_at if row else None,
            "note": (row.note or None) if row else None,
        }
        return self.answer(document, headers={"ETag": etag_of(policy)})


class PolicyCheck(ApiView):
    """Other rules, tried."""

    operations = {
        "POST": Operation(
            id="checkPolicy",
            summary="Say what other rules would have decided differently, and why",
            description="Nothing is stored. `example` asks who would have to approve it.",
            tag="validate",
            scope=Scope.GOVERN_WRITE,
            permission=Permission.MANAGE_POLICY,
            body=serializers.PolicyCheckBody,
            answer=serializers.PolicyChecked,
            bucket="check",
            problems=(422,),
        )
    }

    def post(self, request: Request) -> Response:
        """Return the differences of the last 90 days, and the example's ruling."""
        body = self.body()
        rules = read_rules(body["rules"])
        total, changed = would_change(rules, now=timezone.now())
        document = {
            "requests": total,
            "differing": [
                {
                    "id": str(each.claim_request.public_id),
                    "before": each.before.name,
                    "after": each.after.name,
                }
                for each in changed
            ],
            "example": _ruling(rules, body["example"]) if body["example"] else None,
        }
        return self.answer(document)


def _ruling(rules: tuple[Rule, ...], example: Json) -> Json:
    policy = Policy(policy_in_force().version + 1, rules)
    asked = Asked(
        cluster=example["cluster"],
        namespace=example["namespace"],
        tenant=example["tenant"],
        device_classes=frozenset(example["deviceClasses"]),
        devices=example["devices"],
        gib=example["gib"],
        hours=example["hours"],
        admin_access=example["adminAccess"],
        at=timezone.localtime(),
    )
    judgement = judge(policy, asked)
    rule = judgement.rule
    people = [person.username for person in deciders(rule.role, rule.group)]
    return {
        "rule": rule.name,
        "effect": rule.effect.value,
        "sentences": list(ruling_sentences(policy, judgement, people)),
    }


class ExposureView(ClusterView):
    """Who can see whose GPU memory."""

    operations = {
        "GET": Operation(
            id="getExposure",
            summary="Say who can see whose GPU memory right now, and until when",
            tag="approvals",
            scope=Scope.APPROVALS_READ,
            permission=Permission.SEE_EXPOSURE,
            answer=serializers.Exposure,
        )
    }

    def get(self, request: Request, cluster: str) -> Response:
        """Return administrative claims, labelled namespaces, and who may label."""
        found = self.cluster()
        seers, labelled = exposure_of(found)
        document = documents.exposure_document(seers, labelled, setters_in(found))
        return self.answer(document)

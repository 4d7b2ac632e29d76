"""The shapes of what the API takes and says of approvals, policy and exposure."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers as s

from claims.api.serializers import ClaimRequest
from portal.api.operations import PageParameters
from portal.approvals.domain.policy import Effect
from portal.approvals.models import Decision as DecisionRow
from portal.approvals.models import Extension as ExtensionRow
from portal.approvals.queries.inbox import TABS


class Decision(s.Serializer[Any]):
    person = s.CharField()
    verdict = s.ChoiceField(DecisionRow.Verdict.values)
    reason = s.CharField(allow_null=True)
    digest = s.CharField()
    decidedAt = s.DateTimeField()


class Approval(s.Serializer[Any]):
    id = s.UUIDField(help_text="Of the claim request.")
    request = ClaimRequest()
    digest = s.CharField(help_text="Of the plan that is decided about.")
    needed = s.IntegerField()
    approved = s.IntegerField()
    role = s.CharField(allow_null=True)
    group = s.CharField(
        allow_null=True, help_text="The tenant whose members decide; null for all."
    )
    isOpen = s.BooleanField()
    decideBy = s.DateTimeField()
    createdAt = s.DateTimeField()
    policyVersion = s.IntegerField(help_text="0: the built-in policy.")
    rule = s.CharField()
    narrowedBy = s.CharField(allow_null=True)
    decisions = Decision(many=True)


class ApprovalDetail(Approval):
    manifest = s.DictField()
    why = s.ListField(child=s.CharField())
    mayDecide = s.BooleanField(help_text="Whether you may decide about it now.")


class ApprovalParameters(PageParameters):
    tab = s.ChoiceField(
        TABS, default="all", help_text="What waits for you, is yours, or all you see."
    )


class NarrowerBody(s.Serializer[Any]):
    hours = s.IntegerField(
        min_value=1,
        allow_null=True,
        default=None,
        help_text="From now; null: as asked.",
    )
    counts = s.DictField(
        child=s.IntegerField(min_value=1, max_value=32),
        default=dict,
        help_text="`request` or `request/alternative` → devices; others as asked.",
    )


class DecisionBody(s.Serializer[Any]):
    verdict = s.ChoiceField(DecisionRow.Verdict.values)
    reason = s.CharField(default="", allow_blank=True, max_length=2_000)
    digest = s.CharField(max_length=71, help_text="Of what you were shown.")
    narrower = NarrowerBody(
        default=None, allow_null=True, help_text="To approve less than is asked."
    )


class RevocationBody(s.Serializer[Any]):
    reason = s.CharField(max_length=2_000, help_text="Its requester is told.")


class Rules(s.Serializer[Any]):
    rules = s.ListField(
        child=s.DictField(), help_text="As docs/policy.md describes them."
    )


class Policy(Rules):
    version = s.IntegerField(help_text="0: the built-in policy.")
    createdBy = s.CharField(allow_null=True)
    createdAt = s.DateTimeField(allow_null=True)
    note = s.CharField(allow_null=True)


class PolicyBody(Rules):
    note = s.CharField(default="", allow_blank=True, max_length=2_000)


class Asked(s.Serializer[Any]):
    cluster = s.CharField(default="", allow_blank=True, max_length=63)
    namespace = s.CharField(default="", allow_blank=True, max_length=63)
    tenant = s.CharField(default="", allow_blank=True, max_length=63)
    deviceClasses = s.ListField(child=s.CharField(max_length=253), default=list)
    devices = s.IntegerField(min_value=0, default=1)
    gib = s.FloatField(default=None, allow_null=True, help_text="null: not known.")
    hours = s.FloatField(default=None, allow_null=True, help_text="null: without end.")
    adminAccess = s.BooleanField(default=False)


class PolicyCheckBody(Rules):
    example = Asked(default=None, allow_null=True)


class PolicyRuling(s.Serializer[Any]):
    rule = s.CharField()
    effect = s.ChoiceField([each.value for each in Effect])
    sentences = s.ListField(child=s.CharField())


class Differing(s.Serializer[Any]):
    id = s.UUIDField(help_text="Of the claim request.")
    before = s.CharField()
    after = s.CharField()


class PolicyChecked(s.Serializer[Any]):
    requests = s.IntegerField(help_text="Of the last 90 days.")
    differing = Differing(many=True)
    example = PolicyRuling(allow_null=True)


class Work(s.Serializer[Any]):
    tenant = s.CharField(allow_null=True)
    namespaces = s.ListField(child=s.CharField())
    claims = s.IntegerField()
    vramBytes = s.IntegerField()
    atLeast = s.BooleanField()


class Reach(s.Serializer[Any]):
    devices = s.IntegerField()
    cards = s.IntegerField()
    works = Work(many=True)


class Seer(s.Serializer[Any]):
    kind = s.CharField()
    namespace = s.CharField()
    name = s.CharField()
    tenant = s.CharField(allow_null=True)
    state = s.CharField(allow_null=True)
    pods = s.ListField(child=s.CharField())
    claimRequest = s.UUIDField(allow_null=True, help_text="null: not the portal's.")
    endsAt = s.DateTimeField(allow_null=True)
    reach = Reach(allow_null=True)


class Labelled(s.Serializer[Any]):
    namespace = s.CharField()
    tenant = s.CharField(allow_null=True)
    seers = s.IntegerField()


class Setter(s.Serializer[Any]):
    subject = s.CharField()
    by = s.CharField(help_text="The binding that gives the right.")


class Exposure(s.Serializer[Any]):
    seers = Seer(many=True)
    labelled = Labelled(many=True)
    setters = Setter(
        many=True, allow_null=True, help_text="null: RBAC is not readable."
    )


class ExtensionWord(s.Serializer[Any]):
    person = s.CharField()
    verdict = s.ChoiceField(DecisionRow.Verdict.values)
    reason = s.CharField(allow_null=True)
    saidAt = s.DateTimeField()


class Extension(s.Serializer[Any]):
    until = s.DateTimeField()
    reason = s.CharField()
    state = s.ChoiceField(ExtensionRow.State.values)
    needed = s.IntegerField(help_text="0: policy let it pass.")
    role = s.CharField(allow_null=True)
    group = s.CharField(
        allow_null=True, help_text="The tenant whose members decide; null for all."
    )
    decideBy = s.DateTimeField()
    askedAt = s.DateTimeField()
    words = ExtensionWord(many=True)


class Lasting(s.Serializer[Any]):
    expiresAt = s.DateTimeField(allow_null=True, help_text="null: without end.")
    mayDecide = s.BooleanField(help_text="Whether you may decide about it now.")
    extensions = Extension(many=True)


class ExtensionBody(s.Serializer[Any]):
    until = s.DateTimeField()
    reason = s.CharField(max_length=2_000)


class ExtensionWordBody(s.Serializer[Any]):
    verdict = s.ChoiceField(DecisionRow.Verdict.values)
    reason = s.CharField(default="", allow_blank=True, max_length=2_000)


class Idle(s.Serializer[Any]):
    namespace = s.CharField()
    name = s.CharField()
    since = s.DateTimeField()
    toldAt = s.DateTimeField(allow_null=True, help_text="When its owner was told.")
    claimRequest = s.UUIDField(allow_null=True, help_text="null: not the portal's.")


class DriftChange(s.Serializer[Any]):
    path = s.CharField()
    made = s.CharField(allow_null=True, help_text="null: there was nothing.")
    found = s.CharField(allow_null=True, help_text="null: there is nothing.")


class Drift(s.Serializer[Any]):
    drift = s.ChoiceField(["missing", "replaced", "changed", "orphan"])
    kind = s.CharField()
    namespace = s.CharField()
    name = s.CharField()
    claimRequest = s.UUIDField(allow_null=True)
    changes = DriftChange(many=True)


class Lifetime(s.Serializer[Any]):
    known = s.BooleanField(help_text="Whether claims and pods can be read.")
    toldAfterHours = s.FloatField()
    idle = Idle(many=True)
    drift = Drift(many=True)

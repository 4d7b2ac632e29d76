"""Policy in versions, approvals that are asked for, and what people decided.

A policy's rows are never changed: a change is a new version. An approval is
bound to the digest of the plan that was shown; a plan never changes either.
"""

from __future__ import annotations

import pghistory
import pgtrigger
from django.conf import settings
from django.db import models

from claims.models import ClaimPlan, ClaimRequest
from inventory.models import Cluster


@pghistory.track(pghistory.InsertEvent(), append_only=True, model_name="PolicyEvent")
class PolicySet(models.Model):
    """One version of the policy; the highest is in force."""

    version = models.PositiveIntegerField(unique=True)
    note = models.TextField(default="", blank=True)
    created_by = models.CharField(max_length=150)
    created_at = models.DateTimeField()

    class Meta:
        triggers = [
            pgtrigger.Protect(
                name="append_only", operation=pgtrigger.Update | pgtrigger.Delete
            )
        ]

    def __str__(self) -> str:
        return f"version {self.version}"


class PolicyRule(models.Model):
    """One rule of a version; `document` is as `domain.policy.Rule` reads it."""

    policy_set = models.ForeignKey(PolicySet, models.PROTECT, related_name="rules")
    position = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=63)
    document = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["policy_set", "position"], name="approvals_rule_position"
            ),
            models.UniqueConstraint(
                fields=["policy_set", "name"], name="approvals_rule_name"
            ),
        ]
        triggers = [
            pgtrigger.Protect(
                name="append_only", operation=pgtrigger.Update | pgtrigger.Delete
            )
        ]

    def __str__(self) -> str:
        return self.name


class Approval(models.Model):
    """What has to be decided about a request, and how far that is.

    Whether it is still open is the request's state; `is_open` closes it for good
    in the same transaction, so that two people cannot both be the last.
    """

    claim_request = models.OneToOneField(
        ClaimRequest, models.PROTECT, related_name="approval"
    )
    digest = models.CharField(max_length=71)  # of the plan that was shown
    policy_version = models.PositiveIntegerField()  # 0: the built-in policy
    rule = models.JSONField()  # as it was then
    reasons = models.JSONField(default=list)  # [{"code", "wanted", "found"}]
    needed = models.PositiveSmallIntegerField()
    role = models.CharField(max_length=16, default="", blank=True)
    approved_count = models.PositiveSmallIntegerField(default=0)
    is_open = models.BooleanField(default=True)
    decide_by = models.DateTimeField()
    created_at = models.DateTimeField()
    # What was asked before somebody approved less; null where nobody did.
    asked_plan = models.ForeignKey(
        ClaimPlan, models.PROTECT, null=True, blank=True, related_name="+"
    )
    asked_until = models.DateTimeField(null=True, blank=True)
    narrowed_by = models.CharField(max_length=150, default="", blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(approved_count__lte=models.F("needed")),
                name="approvals_approval_no_more_than_needed",
            )
        ]
        indexes = [
            models.Index(
                fields=["decide_by"],
                name="approvals_open_by",
                condition=models.Q(is_open=True),
            )
        ]

    def __str__(self) -> str:
        return f"approval of {self.claim_request_id}"

    @property
    def group(self) -> str:
        """The tenant whose members decide, by the rule as it was then; "" for all."""
        return str(self.rule.get("group", ""))


@pghistory.track(pghistory.InsertEvent(), append_only=True, model_name="DecisionEvent")
class Decision(models.Model):
    """One person's word on one request; said once, never changed."""

    class Verdict(models.TextChoices):
        """What a person may say."""

        APPROVE = "approve"
        DENY = "deny"

    approval = models.ForeignKey(Approval, models.PROTECT, related_name="decisions")
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, related_name="decisions"
    )
    verdict = models.CharField(max_length=16, choices=Verdict.choices)
    reason = models.TextField(default="", blank=True)
    digest = models.CharField(max_length=71)
    decided_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["approval", "person", "digest"], name="approvals_decision_once"
            ),
            models.CheckConstraint(
                condition=~models.Q(verdict="deny") | ~models.Q(reason=""),
                name="approvals_decision_denied_with_reason",
            ),
        ]
        triggers = [
            pgtrigger.Protect(
                name="append_only", operation=pgtrigger.Update | pgtrigger.Delete
            )
        ]

    def __str__(self) -> str:
        return f"{self.verdict} by {self.person}"


@pghistory.track(append_only=True, model_name="ExtensionEvent")
class Extension(models.Model):
    """That a request should last longer; what it is made from stays as it is."""

    class State(models.TextChoices):
        """Where it stands."""

        OPEN = "open"
        GRANTED = "granted"
        DENIED = "denied"
        LAPSED = "lapsed"

    claim_request = models.ForeignKey(
        ClaimRequest, models.PROTECT, related_name="extensions"
    )
    until = models.DateTimeField()
    reason = models.TextField()
    state = models.CharField(max_length=16, choices=State.choices, default=State.OPEN)
    rule = models.JSONField()  # as it was then
    needed = models.PositiveSmallIntegerField()  # 0: policy let it pass
    role = models.CharField(max_length=16, default="", blank=True)
    decide_by = models.DateTimeField()
    asked_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["claim_request"],
                condition=models.Q(state="open"),
                name="approvals_extension_one_open",
            ),
            models.CheckConstraint(
                condition=~models.Q(reason=""), name="approvals_extension_with_reason"
            ),
        ]

    def __str__(self) -> str:
        return f"extension of {self.claim_request_id} until {self.until:%Y-%m-%d %H:%M}"

    @property
    def group(self) -> str:
        """The tenant whose members decide, by the rule as it was then; "" for all."""
        return str(self.rule.get("group", ""))


@pghistory.track(
    pghistory.InsertEvent(), append_only=True, model_name="ExtensionWordEvent"
)
class ExtensionWord(models.Model):
    """One person's word on one extension; said once, never changed."""

    extension = models.ForeignKey(Extension, models.PROTECT, related_name="words")
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, related_name="+"
    )
    verdict = models.CharField(max_length=16, choices=Decision.Verdict.choices)
    reason = models.TextField(default="", blank=True)
    said_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["extension", "person"], name="approvals_extensionword_once"
            ),
            models.CheckConstraint(
                condition=~models.Q(verdict="deny") | ~models.Q(reason=""),
                name="approvals_extensionword_denied_with_reason",
            ),
        ]
        triggers = [
            pgtrigger.Protect(
                name="append_only", operation=pgtrigger.Update | pgtrigger.Delete
            )
        ]

    def __str__(self) -> str:
        return f"{self.verdict} by {self.person}"


class IdleClaim(models.Model):
    """A claim that holds devices and that no pod uses, since when, and who was told.

    A row goes as soon as its claim is used again, or is gone.
    """

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+")
    namespace = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    uid = models.CharField(max_length=64)
    claim_request = models.ForeignKey(
        ClaimRequest, models.CASCADE, null=True, related_name="+"
    )
    since = models.DateTimeField()
    told_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "uid"], name="approvals_idleclaim_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name} since {self.since:%Y-%m-%d %H:%M}"


class LabelledSpace(models.Model):
    """A namespace that was seen with the label of administrative access.

    The first round of a cluster notes what is there; one that comes later is told of.
    """

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+")
    namespace = models.CharField(max_length=63)
    seen_at = models.DateTimeField()
    is_new = models.BooleanField(default=False)  # it appeared while we looked

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "namespace"], name="approvals_labelledspace_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.cluster_id}/{self.namespace}"

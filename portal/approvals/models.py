"""Policy in versions, approvals that are asked for, and what people decided.

A policy's rows are never changed: a change is a new version. An approval is
bound to the digest of the plan that was shown; a plan never changes either.
"""

from __future__ import annotations

import pghistory
import pgtrigger
from django.conf import settings
from django.db import models

from claims.models import ClaimRequest


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
                fields=["approval", "person"], name="approvals_decision_once"
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

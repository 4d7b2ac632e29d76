"""Plans and claim requests.

A plan is a value: what was shown is what is stored, approved, re-checked and
applied. A claim request is a row in a queue: workers take it by compare-and-set
and a lease, so a lost message or a dead worker costs seconds.
"""

from __future__ import annotations

import uuid

import pghistory
import pgtrigger
from django.conf import settings
from django.db import models

from claims.domain.lifecycle import IN_CLUSTER, State
from inventory.models import Cluster
from portal.accounts.models import Tenant
from portal.core.sentences import shown


class ClaimPlan(models.Model):
    """What would be applied, and what was shown when the person said yes."""

    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="+")
    kind = models.CharField(max_length=32)  # ResourceClaim | ResourceClaimTemplate
    namespace = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    manifest = models.JSONField()  # canonical, as it is sent
    defaulted = models.JSONField()  # as the dry run answered
    digest = models.CharField(max_length=71)  # sha256:… over the defaulted spec
    class_pins = models.JSONField(default=list)  # [{"name", "uid", "generation"}]
    diagnostics = models.JSONField(default=list)
    preview = models.JSONField(null=True)
    revision = models.BigIntegerField()  # of the snapshot that the preview saw
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


@pghistory.track(append_only=True, model_name="ClaimRequestEvent")
class ClaimRequest(models.Model):
    """What a person asked for, and how far it is."""

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    requester = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, related_name="claim_requests"
    )
    # Who it is made as: kept, since groups change.
    acting_groups = models.JSONField(default=list)
    tenant = models.ForeignKey(Tenant, models.PROTECT, related_name="claim_requests")
    plan = models.OneToOneField(ClaimPlan, models.PROTECT, related_name="claim_request")
    state = models.CharField(
        max_length=16,
        choices=[(state.value, state.value) for state in State],
        default=State.SUBMITTED,
    )
    # The form's own key: a second submit of the same form is the same request.
    submission_key = models.UUIDField()
    request_id = models.CharField(max_length=64, default="", blank=True)
    object_uid = models.CharField(max_length=64, default="", blank=True)
    # One sentence: why it is where it is; in English, and as what words it for others.
    message = models.TextField(default="", blank=True)
    said = models.JSONField(null=True, blank=True)  # {"code", "values"}
    # Why it is needed, and when it ends at the latest; None for never.
    justification = models.TextField(default="", blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    # Who ordered its end: then all that uses it ends. "" where its requester released it.
    ended_by = models.CharField(max_length=150, default="", blank=True)
    # Pods that the person agreed to end with it: [{"name", "uid"}].
    ending_pods = models.JSONField(default=list, blank=True)
    # A worker's claim on the row, and when the sweep may take it again.
    lease_until = models.DateTimeField(null=True, blank=True)
    retry_at = models.DateTimeField(null=True, blank=True)
    attempt_count = models.IntegerField(default=0)
    # What it is a new version of, and the preset that it was filled from, if any.
    revises = models.ForeignKey(
        "self", models.PROTECT, null=True, blank=True, related_name="revisions"
    )
    preset_version = models.ForeignKey(
        "PresetVersion", models.PROTECT, null=True, blank=True, related_name="+"
    )
    submitted_at = models.DateTimeField()
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["requester", "submission_key"],
                name="claims_claimrequest_submission_once",
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=[state.value for state in State]),
                name="claims_claimrequest_state_known",
            ),
        ]
        indexes = [
            models.Index(fields=["state", "retry_at"], name="claims_request_due"),
            models.Index(
                fields=["expires_at"],
                name="claims_request_expires",
                condition=models.Q(expires_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.public_id} {self.state}"

    @property
    def is_in_cluster(self) -> bool:
        """Whether its object is there, or may be: an approval may expire before that."""
        return self.state in IN_CLUSTER and bool(self.object_uid)

    @property
    def shown_message(self) -> str:
        """Why it is where it is, in the language that is active."""
        return shown(self.message, self.said)


class ComposeDraft(models.Model):
    """A form that somebody has not submitted yet; it ends some time after its last change."""

    # The form's own, unique for each owner: nobody learns of another's.
    public_id = models.UUIDField(default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="compose_drafts"
    )
    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+")
    fields = models.JSONField()  # {"name of a field": ["value", …]}
    origin = models.CharField(max_length=400, default="", blank=True)
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "public_id"], name="claims_composedraft_once"
            )
        ]
        indexes = [
            models.Index(fields=["changed_at"], name="claims_draft_changed"),
        ]

    def __str__(self) -> str:
        return f"draft {self.public_id}"


@pghistory.track(append_only=True, model_name="PresetEvent")
class Preset(models.Model):
    """An entry of the catalogue of ready-made claims; `version` counts its changes."""

    name = models.SlugField(max_length=63, unique=True)
    # None: it is not offered.
    active = models.ForeignKey(
        "PresetVersion", models.PROTECT, null=True, related_name="+"
    )
    for_all = models.BooleanField(default=True)
    tenants = models.ManyToManyField(Tenant, related_name="presets", blank=True)
    version = models.PositiveIntegerField(default=1)
    changed_by = models.CharField(max_length=150)
    changed_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class PresetVersion(models.Model):
    """What a preset was at one time: never changed, so that one can go back to it."""

    preset = models.ForeignKey(Preset, models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    title = models.CharField(max_length=120)
    description = models.TextField(max_length=1000)
    category = models.CharField(max_length=60)
    manifest = models.JSONField()  # ResourceClaim | ResourceClaimTemplate, v1
    # Field of the form → {"min", "max"}, {} where it is free; all others are locked.
    fields = models.JSONField(default=dict)
    made_by = models.CharField(max_length=150)
    made_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["preset", "number"], name="claims_presetversion_number_once"
            )
        ]
        triggers = [
            pgtrigger.Protect(
                name="append_only", operation=pgtrigger.Update | pgtrigger.Delete
            )
        ]

    def __str__(self) -> str:
        return f"{self.preset_id} v{self.number}"

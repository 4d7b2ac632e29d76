"""Rules and fallbacks as data, what was decided on them, and the advisor's record."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from enum import StrEnum

import pghistory
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q

from claims.models import ClaimRequest
from inventory.models import Cluster
from portal.admission.domain.advice import AdvisorMode, Outcome, Thresholds
from portal.admission.domain.guards import FailurePolicy, GuardKind, GuardMode

_label = RegexValidator(r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\Z")


def _choices(values: Iterable[StrEnum]) -> list[tuple[str, str]]:
    return [(each.value, each.value) for each in values]


@pghistory.track(append_only=True, model_name="GuardRuleEvent")
class GuardRule(models.Model):
    """One invariant: what it looks at, and what becomes of what it finds.

    `version` counts changes, for compare-and-set; the counters are no changes.
    """

    name = models.CharField(max_length=63, unique=True, validators=[_label])
    kind = models.CharField(max_length=16, choices=_choices(GuardKind))
    mode = models.CharField(max_length=8, choices=_choices(GuardMode))
    params = models.JSONField(default=dict, blank=True)
    failure_policy = models.CharField(
        max_length=8, choices=_choices(FailurePolicy), default=FailurePolicy.IGNORE
    )
    version = models.PositiveIntegerField(default=1)
    changed_by = models.CharField(max_length=150)
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(mode__in=[each.value for each in GuardMode]),
                name="admission_guardrule_mode_known",
            ),
            models.CheckConstraint(
                condition=Q(kind__in=[each.value for each in GuardKind]),
                name="admission_guardrule_kind_known",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class GuardCount(models.Model):
    """How often a rule looked, warned and denied; beside it, so that no change is one."""

    rule = models.OneToOneField(GuardRule, models.CASCADE, related_name="count")
    seen = models.BigIntegerField(default=0)
    warned = models.BigIntegerField(default=0)
    denied = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.rule}: {self.seen}"


@pghistory.track(append_only=True, model_name="FallbackEvent")
class Fallback(models.Model):
    """What a class may fall back to; see `domain.fallback.Fallback`."""

    name = models.CharField(max_length=63, unique=True, validators=[_label])
    # null: every cluster
    cluster = models.ForeignKey(
        Cluster, models.CASCADE, null=True, blank=True, related_name="+"
    )
    device_class = models.CharField(max_length=253)
    alternatives = models.JSONField()
    namespaces = models.JSONField(default=list, blank=True)
    needs_advice = models.BooleanField(default=True)
    is_enabled = models.BooleanField(default=True)
    changed_by = models.CharField(max_length=150)
    changed_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class AdmittedClaim(models.Model):
    """A claim that was let through, until the inventory sees it.

    What is counted against an approval or a limit is what the inventory has and
    what is here and not there yet.
    """

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+")
    namespace = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    uid = models.CharField(max_length=64)
    claim_request = models.ForeignKey(
        ClaimRequest, models.CASCADE, null=True, related_name="+"
    )
    devices = models.IntegerField(default=0)
    vram = models.BigIntegerField(null=True)  # bytes; null where unknown
    # Of its tenant's budgets, and for which request; null where none was looked at.
    takes = models.JSONField(null=True)
    admitted_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "uid"], name="admission_admittedclaim_once"
            )
        ]
        indexes = [
            models.Index(
                fields=["cluster", "namespace", "admitted_at"],
                name="admission_admitted_space",
            )
        ]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class AdmissionDecision(models.Model):
    """What was made of one review that there was something to say about."""

    class Result(models.TextChoices):
        """What became of an admitted claim."""

        UNKNOWN = "unknown"
        ALLOCATED = "allocated"  # in time, by what it asked for first
        FELL_BACK = "fell-back"
        WAITED = "waited"  # it had no devices in time
        GONE = "gone"  # deleted before its time was over

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    at = models.DateTimeField()
    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+")
    kind = models.CharField(max_length=32)
    namespace = models.CharField(max_length=63, default="", blank=True)
    name = models.CharField(max_length=253, default="", blank=True)
    # "" until the validating webhook, or the inventory, sees the claim's own.
    uid = models.CharField(max_length=64, default="", blank=True)
    username = models.CharField(max_length=253)
    outcome = models.CharField(max_length=8, choices=_choices(Outcome))
    # What each rule found: rule, mode, code and values.
    breaches = models.JSONField(default=list)
    asked_digest = models.CharField(max_length=71)
    # Of the claim with its fallback; "" where nothing was changed.
    mutated_digest = models.CharField(max_length=71, default="", blank=True)
    patch = models.JSONField(default=list)
    # What the advisor said, and what would come of it; null where nobody asked it.
    advisor_mode = models.CharField(
        max_length=8, choices=_choices(AdvisorMode), default=AdvisorMode.OFF
    )
    state = models.JSONField(null=True)
    advice = models.JSONField(null=True)
    advised = models.CharField(max_length=8, default="", blank=True)
    advised_code = models.CharField(max_length=32, default="", blank=True)
    fault = models.CharField(max_length=200, default="", blank=True)
    exact_severity = models.PositiveSmallIntegerField(null=True)
    tier = models.CharField(max_length=16, default="", blank=True)
    result = models.CharField(
        max_length=16, choices=Result.choices, default=Result.UNKNOWN
    )
    result_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["-at", "-id"], name="admission_decision_at"),
            models.Index(
                fields=["cluster", "namespace", "name"],
                name="admission_decision_claim",
            ),
            models.Index(
                fields=["at"],
                name="admission_decision_open",
                condition=Q(result="unknown", advice__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.outcome} {self.namespace}/{self.name}"


class Calibration(models.Model):
    """Thresholds that were chosen on some outcomes and judged on later ones."""

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    made_at = models.DateTimeField()
    made_by = models.CharField(max_length=150)
    digest = models.CharField(max_length=71)  # of the samples
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()
    precision = models.FloatField()
    safe = models.FloatField()
    confidence = models.FloatField()
    severity = models.FloatField()
    # As `services.calibrating.document_of` writes it.
    document = models.JSONField()

    def __str__(self) -> str:
        return f"calibration of {self.made_at:%Y-%m-%d %H:%M}"

    @property
    def thresholds(self) -> Thresholds:
        """Return what was chosen."""
        return Thresholds(self.safe, self.confidence, self.severity)


@pghistory.track(append_only=True, model_name="AdvisorSettingEvent")
class AdvisorSetting(models.Model):
    """How far the advisor is trusted: one row.

    `calibration` is where the thresholds come from; null: somebody set them, or
    they are the uncalibrated start, and then they are good for shadow mode alone.
    """

    mode = models.CharField(
        max_length=8, choices=_choices(AdvisorMode), default=AdvisorMode.OFF
    )
    safe = models.FloatField(default=Thresholds().safe)
    confidence = models.FloatField(default=Thresholds().confidence)
    severity = models.FloatField(default=Thresholds().severity)
    calibration = models.ForeignKey(
        Calibration, models.PROTECT, null=True, blank=True, related_name="+"
    )
    version = models.PositiveIntegerField(default=1)
    changed_by = models.CharField(max_length=150, default="", blank=True)
    changed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(id=1), name="admission_advisorsetting_one"
            )
        ]

    def __str__(self) -> str:
        return self.mode

    @property
    def thresholds(self) -> Thresholds:
        """Return what counts now."""
        return Thresholds(self.safe, self.confidence, self.severity)


class ServingCertificate(models.Model):
    """A certificate authority, or a certificate that it signed; keys encrypted."""

    class Role(models.TextChoices):
        """What it is for."""

        AUTHORITY = "authority"
        SERVING = "serving"

    role = models.CharField(max_length=16, choices=Role.choices)
    certificate = models.TextField()  # PEM
    key_encrypted = models.TextField()  # PEM, encrypted
    issuer = models.ForeignKey("self", models.CASCADE, null=True, related_name="+")
    names = models.JSONField(default=list)  # DNS names and IP addresses
    not_before = models.DateTimeField()
    not_after = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(
                fields=["role", "-not_before"], name="admission_certificate_role"
            )
        ]

    def __str__(self) -> str:
        return f"{self.role} until {self.not_after:%Y-%m-%d}"

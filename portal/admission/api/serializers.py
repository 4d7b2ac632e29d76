"""The shapes of what the API takes and says of admission, for its document."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers as s

from portal.admission.domain.advice import AdvisorMode, Outcome
from portal.admission.domain.guards import FailurePolicy, GuardKind, GuardMode
from portal.admission.models import AdmissionDecision

KINDS = [each.value for each in GuardKind]
MODES = [each.value for each in GuardMode]
POLICIES = [each.value for each in FailurePolicy]
ADVISOR_MODES = [each.value for each in AdvisorMode]
OUTCOMES = [each.value for each in Outcome]


class GuardRule(s.Serializer[Any]):
    name = s.CharField()
    kind = s.ChoiceField(KINDS)
    mode = s.ChoiceField(MODES)
    params = s.DictField()
    failurePolicy = s.ChoiceField(POLICIES)
    seen = s.IntegerField(help_text="Reviews that it looked at.")
    warned = s.IntegerField()
    denied = s.IntegerField()
    changedBy = s.CharField()
    changedAt = s.DateTimeField()


class GuardRuleBody(s.Serializer[Any]):
    name = s.CharField(max_length=63)
    kind = s.ChoiceField(KINDS)
    mode = s.ChoiceField(MODES, default="warn")
    params = s.DictField(default=dict, help_text="As docs/admission.md lists them.")
    failurePolicy = s.ChoiceField(POLICIES, default="Ignore")


class GuardRuleChange(s.Serializer[Any]):
    mode = s.ChoiceField(MODES, required=False)
    params = s.DictField(required=False)
    failurePolicy = s.ChoiceField(POLICIES, required=False)


class Fallback(s.Serializer[Any]):
    name = s.CharField()
    cluster = s.CharField(allow_null=True)
    deviceClass = s.CharField()
    alternatives = s.ListField(child=s.DictField())
    namespaces = s.ListField(child=s.CharField())
    needsAdvice = s.BooleanField()
    isEnabled = s.BooleanField(help_text="Switched off, it changes no claim.")
    changedBy = s.CharField()
    changedAt = s.DateTimeField()


class FallbackBody(s.Serializer[Any]):
    name = s.CharField(max_length=63)
    cluster = s.CharField(max_length=63, default="", allow_blank=True)
    deviceClass = s.CharField(max_length=253)
    alternatives = s.ListField(child=s.DictField(), max_length=7)
    namespaces = s.ListField(child=s.CharField(max_length=63), default=list)
    needsAdvice = s.BooleanField(default=True)
    isEnabled = s.BooleanField(default=True)


class FallbackChange(s.Serializer[Any]):
    cluster = s.CharField(
        max_length=63,
        required=False,
        allow_blank=True,
        help_text="Empty: every cluster.",
    )
    deviceClass = s.CharField(max_length=253, required=False)
    alternatives = s.ListField(child=s.DictField(), max_length=7, required=False)
    namespaces = s.ListField(child=s.CharField(max_length=63), required=False)
    needsAdvice = s.BooleanField(required=False)
    isEnabled = s.BooleanField(required=False)


class AdmissionDecisionItem(s.Serializer[Any]):
    id = s.UUIDField()
    at = s.DateTimeField()
    cluster = s.CharField()
    kind = s.CharField()
    namespace = s.CharField(allow_null=True)
    name = s.CharField(allow_null=True)
    uid = s.CharField(allow_null=True)
    username = s.CharField()
    outcome = s.ChoiceField(OUTCOMES)
    breaches = s.ListField(child=s.DictField())
    messages = s.ListField(child=s.CharField())
    askedDigest = s.CharField(allow_null=True)
    mutatedDigest = s.CharField(allow_null=True)
    patch = s.ListField(child=s.DictField())
    advisorMode = s.ChoiceField(ADVISOR_MODES)
    advised = s.ChoiceField(OUTCOMES, allow_null=True)
    advice = s.DictField(allow_null=True)
    fault = s.CharField(allow_null=True)
    exactSeverity = s.IntegerField(allow_null=True)
    result = s.ChoiceField(AdmissionDecision.Result.values)


class Advisor(s.Serializer[Any]):
    mode = s.ChoiceField(ADVISOR_MODES, help_text="As it was set.")
    modeInForce = s.ChoiceField(ADVISOR_MODES, help_text="What it may do now.")
    heldBack = s.CharField(allow_null=True, help_text="Why it may not do more.")
    safe = s.FloatField()
    confidence = s.FloatField()
    severity = s.FloatField()
    calibration = s.UUIDField(allow_null=True)
    changedBy = s.CharField(allow_null=True)
    changedAt = s.DateTimeField(allow_null=True)


class AdvisorChange(s.Serializer[Any]):
    mode = s.ChoiceField(ADVISOR_MODES)
    safe = s.FloatField(min_value=0, max_value=1, required=False)
    confidence = s.FloatField(min_value=0, max_value=1, required=False)
    severity = s.FloatField(min_value=0, max_value=3, required=False)
    calibration = s.UUIDField(required=False, help_text="Takes its thresholds.")


class TriedParameters(s.Serializer[Any]):
    safe = s.FloatField(min_value=0, max_value=1, required=False)
    confidence = s.FloatField(min_value=0, max_value=1, required=False)
    severity = s.FloatField(min_value=0, max_value=3, required=False)


class TriedDecision(s.Serializer[Any]):
    flagged = s.IntegerField(help_text="Claims that it would have been made of.")
    right = s.IntegerField(help_text="Of those, claims that had to wait.")
    precision = s.FloatField(allow_null=True)
    recall = s.FloatField(allow_null=True)


class Tried(s.Serializer[Any]):
    count = s.IntegerField(help_text="Claims whose outcome is known.")
    safe = s.FloatField()
    confidence = s.FloatField()
    severity = s.FloatField()
    unsafe = TriedDecision()
    fallback = TriedDecision()
    advisedPrecision = s.FloatField(
        allow_null=True,
        help_text="Average precision of the advisor's severity as a sign of waiting.",
    )
    exactPrecision = s.FloatField(
        allow_null=True, help_text="The same of the exact severity."
    )
    better = s.ChoiceField(("advised", "exact", "both"), allow_null=True)


class Calibration(s.Serializer[Any]):
    id = s.UUIDField()
    madeAt = s.DateTimeField()
    madeBy = s.CharField()
    digest = s.CharField(help_text="Of the outcomes that it was made from.")
    firstAt = s.DateTimeField()
    lastAt = s.DateTimeField()
    precision = s.FloatField()
    safe = s.FloatField()
    confidence = s.FloatField()
    severity = s.FloatField()
    document = s.DictField()


class CalibrationBody(s.Serializer[Any]):
    precision = s.FloatField(min_value=0.01, max_value=1, default=0.9)

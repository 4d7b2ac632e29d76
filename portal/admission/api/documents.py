"""What the API says of admission, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils import timezone

from portal.admission.services.advising import not_enforceable, trust
from portal.admission.services.wording import said
from portal.api.matching import tag_of

if TYPE_CHECKING:
    from portal.admission.domain.calibration import Calibrated, Point
    from portal.admission.models import (
        AdmissionDecision,
        AdvisorSetting,
        Calibration,
        Fallback,
        GuardRule,
    )

Json = dict[str, Any]


def rule_document(row: GuardRule) -> Json:
    """Return a rule and its counters."""
    return {
        "name": row.name,
        "kind": row.kind,
        "mode": row.mode,
        "params": row.params,
        "failurePolicy": row.failure_policy,
        "seen": row.count.seen,
        "warned": row.count.warned,
        "denied": row.count.denied,
        "changedBy": row.changed_by,
        "changedAt": row.changed_at,
    }


def rule_etag(row: GuardRule) -> str:
    """Return what changes whenever a rule does."""
    return f'"{row.pk}-{row.version}"'


def fallback_document(row: Fallback) -> Json:
    """Return a fallback."""
    return {
        "name": row.name,
        "cluster": row.cluster.name if row.cluster else None,
        "deviceClass": row.device_class,
        "alternatives": row.alternatives,
        "namespaces": row.namespaces,
        "needsAdvice": row.needs_advice,
        "isEnabled": row.is_enabled,
        "changedBy": row.changed_by,
        "changedAt": row.changed_at,
    }


def fallback_etag(row: Fallback) -> str:
    """Return what changes whenever a fallback does."""
    return f'"{row.pk}-{row.changed_at:%Y%m%d%H%M%S%f}"'


def decision_document(row: AdmissionDecision) -> Json:
    """Return what was made of a review."""
    return {
        "id": str(row.public_id),
        "at": row.at,
        "cluster": row.cluster.name,
        "kind": row.kind,
        "namespace": row.namespace or None,
        "name": row.name or None,
        "uid": row.uid or None,
        "username": row.username,
        "outcome": row.outcome,
        "breaches": row.breaches,
        "messages": [said(each["code"], each["values"]) for each in row.breaches],
        "askedDigest": row.asked_digest or None,
        "mutatedDigest": row.mutated_digest or None,
        "patch": row.patch,
        "advisorMode": row.advisor_mode,
        "advised": row.advised or None,
        "advice": row.advice,
        "fault": row.fault or None,
        "exactSeverity": row.exact_severity,
        "result": row.result,
    }


def advisor_document(row: AdvisorSetting) -> Json:
    """Return how far the advisor is trusted."""
    now = timezone.now()
    in_force = trust(now=now)
    held_back = in_force.held_back
    if row.mode == "enforce" and not held_back:
        held_back = not_enforceable(row, now=now)
    return {
        "mode": row.mode,
        "modeInForce": in_force.mode.value,
        "heldBack": held_back or None,
        "safe": row.safe,
        "confidence": row.confidence,
        "severity": row.severity,
        "calibration": str(row.calibration.public_id) if row.calibration else None,
        "changedBy": row.changed_by or None,
        "changedAt": row.changed_at,
    }


def advisor_etag(row: AdvisorSetting) -> str:
    """Return what changes whenever somebody sets the advisor."""
    return tag_of(row.mode, row.safe, row.confidence, row.severity, row.changed_at)


def tried_document(found: Calibrated) -> Json:
    """Return how thresholds would have done."""
    return {
        "count": found.held_out,
        "safe": found.thresholds.safe,
        "confidence": found.thresholds.confidence,
        "severity": found.thresholds.severity,
        "unsafe": _decision(found.unsafe),
        "fallback": _decision(found.fallback),
        "advisedPrecision": found.advised,
        "exactPrecision": found.exact,
        "better": found.better or None,
    }


def _decision(point: Point) -> Json:
    return {
        "flagged": point.flagged,
        "right": point.right,
        "precision": point.precision,
        "recall": point.recall,
    }


def calibration_document(row: Calibration) -> Json:
    """Return a calibration with its curves."""
    return {
        "id": str(row.public_id),
        "madeAt": row.made_at,
        "madeBy": row.made_by,
        "digest": row.digest,
        "firstAt": row.first_at,
        "lastAt": row.last_at,
        "precision": row.precision,
        "safe": row.safe,
        "confidence": row.confidence,
        "severity": row.severity,
        "document": row.document,
    }

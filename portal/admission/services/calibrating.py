"""Calibration, stored with the digest of its data; modes and thresholds, set with care."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from portal.admission.domain.advice import AdvisorMode, Thresholds
from portal.admission.domain.calibration import (
    Calibrated,
    CannotCalibrate,
    Point,
    calibrate,
    digest_of_samples,
    judged_thresholds,
)
from portal.admission.models import AdvisorSetting, Calibration
from portal.admission.queries.rules import forget
from portal.admission.services.advising import not_enforceable
from portal.admission.services.outcomes import samples
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from datetime import datetime

Json = dict[str, Any]
MOST_POINTS = 200


class NotCalibrated(PortalError):
    """There is too little to calibrate on, or the precision is out of reach."""

    code = "advisor.not_calibrated"


class AdvisorRefused(PortalError):
    """The advisor cannot be set so."""

    code = "advisor.refused"


def make_calibration(*, precision: float, by: str, now: datetime) -> Calibration:
    """Choose thresholds on the older outcomes, judge them on the newer, and keep both.

    Raises:
        NotCalibrated: There is too little, or no threshold is precise enough.
    """
    if not 0 < precision <= 1:
        raise NotCalibrated(_("The precision must be above 0 and at most 1."))
    known = list(samples())
    try:
        found = calibrate(known, precision)
    except CannotCalibrate as error:
        raise NotCalibrated(str(error)) from error
    return Calibration.objects.create(
        made_at=now,
        made_by=by,
        digest=digest_of_samples(known),
        first_at=known[0].at,
        last_at=known[-1].at,
        precision=precision,
        safe=found.thresholds.safe,
        confidence=found.thresholds.confidence,
        severity=found.thresholds.severity,
        document=document_of(found),
    )


def tried(thresholds: Thresholds) -> Calibrated:
    """Return how thresholds would have done on all outcomes that are stored."""
    return judged_thresholds(list(samples()), thresholds, precision=0, fit=0)


def document_of(found: Calibrated) -> Json:
    """Return a calibration as it is stored and shown; curves thinned for drawing."""
    thin = replace(
        found,
        unsafe_curve=_thinned(found.unsafe_curve),
        fallback_curve=_thinned(found.fallback_curve),
    )
    return {**asdict(thin), "model": settings.SLICEWISE_ADVISOR_MODEL}


def _thinned(points: tuple[Point, ...]) -> tuple[Point, ...]:
    step = max(1, len(points) // MOST_POINTS)
    return points[::step] + (points[-1:] if (len(points) - 1) % step else ())


def set_advisor(
    *,
    mode: str,
    thresholds: Thresholds | None,
    calibration: Calibration | None,
    by: str,
    now: datetime,
) -> AdvisorSetting:
    """Set how far the advisor is trusted.

    Args:
        mode: off, shadow or enforce.
        thresholds: set by hand; None to leave them, or take the calibration's.
        calibration: where the thresholds come from.
        by: who sets it.
        now: the moment.

    Raises:
        AdvisorRefused: enforce without a fresh calibration, or values out of range.
    """
    with transaction.atomic():
        AdvisorSetting.objects.get_or_create(id=1)
        row = AdvisorSetting.objects.select_for_update(of=("self",)).get(id=1)
        if calibration is not None:
            thresholds, row.calibration = calibration.thresholds, calibration
        elif thresholds is not None and thresholds != row.thresholds:
            row.calibration = None
        if thresholds is not None:
            _check(thresholds)
            row.safe, row.confidence = thresholds.safe, thresholds.confidence
            row.severity = thresholds.severity
        row.mode = AdvisorMode(mode)
        if row.mode == AdvisorMode.ENFORCE and not_enforceable(row, now=now):
            raise AdvisorRefused(
                _(
                    "Enforcing needs a calibration of the last 30 days whose thresholds"
                    " are in force: calibrate first, or choose shadow."
                )
            )
        row.version += 1
        row.changed_by, row.changed_at = by, now
        row.save()
    forget()
    return row


def _check(thresholds: Thresholds) -> None:
    within = (
        0 <= thresholds.safe <= 1
        and 0 <= thresholds.confidence <= 1
        and 0 <= thresholds.severity <= 3
    )
    if not within:
        raise AdvisorRefused(
            _("Thresholds are from 0 to 1, and that of severity from 0 to 3.")
        )

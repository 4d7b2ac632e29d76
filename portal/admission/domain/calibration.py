"""From what was advised and what came of it to thresholds, and how good they are.

Samples are split by time: thresholds are chosen on the older ones and judged on the
newer ones, which had no part in the choice. Precision is how many of those flagged
were rightly flagged, recall how many of those that should be were.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from portal.admission.domain import questions as q
from portal.admission.domain.advice import Thresholds

if TYPE_CHECKING:
    from datetime import datetime

Json = dict[str, Any]

LEAST_SAMPLES = 200
LEAST_BAD = 20  # in each of the two sets
FIT_SHARE = 0.7
SEVERITIES = tuple(step / 4 for step in range(1, 13))


class CannotCalibrate(ValueError):
    """There is too little to calibrate on; the text says how much is missing."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One piece of advice and what came of the claim.

    Attributes:
        safe: P(safe).
        action, confidence, severity: of the advice.
        exact: the severity that the inventory said then; None where it could not.
        waited: the claim had no devices in time, or only its fallback had.
    """

    at: datetime
    safe: float
    action: str
    confidence: float
    severity: float
    exact: int | None
    waited: bool

    def document(self) -> list[Any]:
        """Return what a digest is made over."""
        return [
            self.at.isoformat(),
            round(self.safe, 9),
            self.action,
            round(self.confidence, 9),
            round(self.severity, 9),
            self.exact,
            self.waited,
        ]


@dataclass(frozen=True, slots=True)
class Point:
    """A threshold and what it does to some samples.

    Attributes:
        precision: None where nothing is flagged.
        recall: None where nothing should be.
    """

    threshold: float
    flagged: int
    right: int
    precision: float | None
    recall: float | None


Flag = Callable[[Sample], bool]


def judged(samples: Sequence[Sample], flag: Flag, threshold: float) -> Point:
    """Return what a rule does to samples."""
    flagged = [sample for sample in samples if flag(sample)]
    right = sum(sample.waited for sample in flagged)
    wanted = sum(sample.waited for sample in samples)
    return Point(
        threshold,
        len(flagged),
        right,
        right / len(flagged) if flagged else None,
        right / wanted if wanted else None,
    )


def curve(scored: Sequence[tuple[float, bool]]) -> list[Point]:
    """Return precision and recall at each score that occurs, the highest first.

    Args:
        scored: (score, whether it should be flagged); a score at or above the
            threshold is flagged.
    """
    wanted = sum(is_bad for _score, is_bad in scored)
    points: list[Point] = []
    flagged = right = 0
    ranked = sorted(scored, key=lambda pair: -pair[0])
    for i, (score, is_bad) in enumerate(ranked):
        flagged += 1
        right += is_bad
        if i + 1 < len(ranked) and ranked[i + 1][0] == score:
            continue
        recall = right / wanted if wanted else None
        points.append(Point(score, flagged, right, right / flagged, recall))
    return points


def average_precision(points: Sequence[Point]) -> float | None:
    """Return the area under a curve by steps; None where nothing should be flagged."""
    if not points or points[-1].recall is None:
        return None
    area = last = 0.0
    for point in points:
        area += (point.precision or 0.0) * ((point.recall or 0.0) - last)
        last = point.recall or 0.0
    return area


def for_precision(points: Sequence[Point], precision: float) -> Point | None:
    """Return the point of most recall that has a precision, or None."""
    good = [point for point in points if (point.precision or 0.0) >= precision]
    return max(good, key=lambda p: (p.recall or 0.0, p.threshold), default=None)


def split(samples: Sequence[Sample]) -> tuple[list[Sample], list[Sample]]:
    """Return the older samples to fit on, and the newer ones to judge by."""
    ordered = sorted(samples, key=lambda sample: sample.at)
    cut = int(len(ordered) * FIT_SHARE)
    return ordered[:cut], ordered[cut:]


@dataclass(frozen=True, slots=True)
class Calibrated:
    """Thresholds and how they did on samples that they were not chosen on.

    Attributes:
        unsafe, fallback: the two decisions on the held-out samples.
        unsafe_curve, fallback_curve: of the held-out samples.
        advised, exact: average precision of the advisor's severity and of the
            inventory's own as a sign that a claim will wait.
    """

    thresholds: Thresholds
    precision: float
    fit: int
    held_out: int
    unsafe: Point
    fallback: Point
    unsafe_curve: tuple[Point, ...]
    fallback_curve: tuple[Point, ...]
    advised: float | None
    exact: float | None

    @property
    def better(self) -> str:
        """Which severity told better: advised, exact, both; "" where it is not known."""
        if self.advised is None or self.exact is None:
            return ""
        if round(self.advised, 3) == round(self.exact, 3):
            return "both"
        return "advised" if self.advised > self.exact else "exact"


def calibrate(
    samples: Sequence[Sample], precision: float, *, least: int = LEAST_SAMPLES
) -> Calibrated:
    """Return thresholds of a stated precision.

    Args:
        samples: in any order.
        precision: wanted of each decision, above 0 and at most 1.
        least: fewest samples.

    Raises:
        CannotCalibrate: Too few samples, or no threshold reaches the precision.
    """
    if len(samples) < least:
        raise CannotCalibrate(
            f"{len(samples)} outcomes are known, and {least} are needed: leave the"
            " advisor in shadow mode for longer."
        )
    fit, held = split(samples)
    for name, part in (("older", fit), ("newer", held)):
        bad = sum(sample.waited for sample in part)
        if bad < LEAST_BAD:
            raise CannotCalibrate(
                f"Only {bad} of the {name} claims had to wait, and {LEAST_BAD} are"
                " needed: leave the advisor in shadow mode for longer."
            )
    safe = _safe_threshold(fit, precision)
    confidence, severity = _fallback_thresholds(fit, precision)
    thresholds = Thresholds(safe, confidence, severity)
    return judged_thresholds(held, thresholds, precision=precision, fit=len(fit))


def judged_thresholds(
    held: Sequence[Sample], thresholds: Thresholds, *, precision: float, fit: int
) -> Calibrated:
    """Return how thresholds do on samples."""
    ranked = [(1 - s.safe, s.waited) for s in held]
    advised = [s for s in held if s.action == q.MUTATE]
    known = [s for s in held if s.exact is not None]
    return Calibrated(
        thresholds=thresholds,
        precision=precision,
        fit=fit,
        held_out=len(held),
        unsafe=judged(held, lambda s: s.safe < thresholds.safe, thresholds.safe),
        fallback=judged(
            advised, lambda s: falls_back(s, thresholds), thresholds.confidence
        ),
        unsafe_curve=tuple(curve(ranked)),
        fallback_curve=tuple(curve([(s.confidence, s.waited) for s in advised])),
        advised=average_precision(curve([(s.severity, s.waited) for s in known])),
        exact=average_precision(
            curve([(float(s.exact or 0), s.waited) for s in known])
        ),
    )


def falls_back(sample: Sample, thresholds: Thresholds) -> bool:
    """Return whether a sample's advice would put a fallback in."""
    return (
        sample.action == q.MUTATE
        and sample.confidence >= thresholds.confidence
        and sample.severity >= thresholds.severity
    )


def _safe_threshold(fit: Sequence[Sample], precision: float) -> float:
    found = for_precision(curve([(1 - s.safe, s.waited) for s in fit]), precision)
    if found is None:
        raise CannotCalibrate(
            f"No threshold of P(safe) reaches a precision of {precision:g} on the older"
            " claims: ask for less."
        )
    least_flagged = 1 - found.threshold
    above = min((s.safe for s in fit if s.safe > least_flagged + 1e-12), default=1.0)
    return round((least_flagged + above) / 2, 6)


def _fallback_thresholds(
    fit: Sequence[Sample], precision: float
) -> tuple[float, float]:
    """Return (confidence, severity) of most recall among those precise enough."""
    advised = [s for s in fit if s.action == q.MUTATE]
    best: tuple[float, float, float] | None = None
    for severity in SEVERITIES:
        kept = [s for s in advised if s.severity >= severity]
        found = for_precision(
            curve([(s.confidence, s.waited) for s in kept]), precision
        )
        if found and (best is None or found.right > best[0]):
            best = (found.right, found.threshold, severity)
    if best is None:
        raise CannotCalibrate(
            f"No thresholds of a fallback reach a precision of {precision:g} on the"
            " older claims: ask for less."
        )
    return round(best[1] - 5e-7, 6), best[2]


def digest_of_samples(samples: Sequence[Sample]) -> str:
    """Return `sha256:…` over samples in order of time."""
    rows = sorted(sample.document() for sample in samples)
    text = json.dumps(rows, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()

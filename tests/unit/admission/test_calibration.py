"""Thresholds found on a history whose best ones are known."""

from __future__ import annotations

import datetime as dt
import random

import pytest

from portal.admission.domain import questions as q
from portal.admission.domain.calibration import (
    CannotCalibrate,
    Sample,
    average_precision,
    calibrate,
    curve,
    digest_of_samples,
    for_precision,
    split,
)

START = dt.datetime(2026, 9, 1, tzinfo=dt.UTC)
SAFE, CONFIDENCE, SEVERITY = 0.7, 0.6, 1.5


def history(count=2_000, *, seed=1, noise=0.0):
    """Return claims that wait exactly where these three thresholds say so."""
    rng = random.Random(seed)
    samples = []
    for i in range(count):
        waits = rng.random() < 0.3
        safe = rng.uniform(0.0, SAFE) if waits else rng.uniform(SAFE, 1.0)
        sure = waits and rng.random() < 0.8
        confidence = rng.uniform(CONFIDENCE, 1) if sure else rng.uniform(0, CONFIDENCE)
        severity = rng.uniform(SEVERITY, 3) if sure else rng.uniform(0, SEVERITY)
        told = waits if rng.random() >= noise else not waits
        samples.append(
            Sample(
                START + dt.timedelta(minutes=i),
                safe,
                q.MUTATE,
                confidence,
                severity,
                rng.randint(0, 3),
                told,
            )
        )
    return samples


def test_known_thresholds_are_found():
    found = calibrate(history(), 0.99)
    assert found.thresholds.safe == pytest.approx(SAFE, abs=0.02)
    assert found.thresholds.confidence == pytest.approx(CONFIDENCE, abs=0.03)
    assert found.unsafe.precision >= 0.97
    assert found.unsafe.recall >= 0.97
    assert found.fallback.precision >= 0.97
    assert found.fit + found.held_out == 2_000


def test_noise_is_held_against_the_held_out_claims():
    found = calibrate(history(noise=0.1, count=4_000), 0.85)
    assert 0.8 <= found.unsafe.precision < 1
    assert found.thresholds.safe == pytest.approx(SAFE, abs=0.1)


def test_the_advisors_severity_is_compared_with_the_exact_one():
    found = calibrate(history(), 0.99)
    assert found.advised > found.exact


def test_the_split_is_by_time():
    samples = history(100)
    random.Random(2).shuffle(samples)
    fit, held = split(samples)
    assert max(s.at for s in fit) < min(s.at for s in held)
    assert (len(fit), len(held)) == (70, 30)


@pytest.mark.parametrize("count", [0, 199])
def test_too_few_are_refused(count):
    with pytest.raises(CannotCalibrate, match=f"{count} outcomes"):
        calibrate(history(count), 0.9)


def test_too_few_that_waited_are_refused():
    good = [s for s in history() if not s.waited][:500]
    with pytest.raises(CannotCalibrate, match="had to wait"):
        calibrate(good, 0.9)


def test_a_precision_out_of_reach_is_refused():
    with pytest.raises(CannotCalibrate, match="ask for less"):
        calibrate(history(noise=0.5), 0.999)


def test_curve_and_its_area():
    points = curve([(0.9, True), (0.8, False), (0.7, True), (0.7, True), (0.1, False)])
    assert [(p.threshold, p.flagged, p.right) for p in points] == [
        (0.9, 1, 1),
        (0.8, 2, 1),
        (0.7, 4, 3),
        (0.1, 5, 3),
    ]
    assert average_precision(points) == pytest.approx(1 / 3 + 2 / 3 * 3 / 4)
    assert for_precision(points, 0.7).threshold == 0.7
    assert for_precision(points, 0.99).threshold == 0.9
    assert for_precision(curve([(0.5, False)]), 0.5) is None
    assert average_precision(curve([(0.5, False)])) is None


def test_the_digest_depends_on_the_data_and_not_on_its_order():
    samples = history(50)
    digest = digest_of_samples(samples)
    assert digest == digest_of_samples(samples[::-1])
    assert digest != digest_of_samples(samples[1:])

"""Samples as steps, steps as buckets and drawings: gaps stay gaps."""

from __future__ import annotations

import datetime as dt

from inventory.domain.charts import HEIGHT, drawing_of
from inventory.domain.history import Step, buckets_of, joined, slot_of, steps_of

NOW = dt.datetime(2026, 11, 30, 9, 0, tzinfo=dt.UTC)


def ago(**before: float) -> dt.datetime:
    return NOW - dt.timedelta(**before)


def test_slot_of():
    moment = dt.datetime(2026, 11, 30, 9, 14, 59, 7, tzinfo=dt.UTC)

    assert slot_of(moment) == dt.datetime(2026, 11, 30, 9, 10, tzinfo=dt.UTC)
    assert slot_of(slot_of(moment)) == slot_of(moment)


def samples(*each: tuple[dt.datetime, int | None]) -> list:
    return [(at, value, 100, False) for at, value in each]


def test_steps_stand_until_the_next_sample():
    steps = steps_of(samples((ago(minutes=10), 5), (ago(minutes=5), 7)), NOW)

    assert [(s.start, s.end, s.allocated) for s in steps] == [
        (ago(minutes=10), ago(minutes=5), 5),
        (ago(minutes=5), NOW, 7),
    ]


def test_steps_forgive_one_lost_sample_and_show_a_longer_gap():
    steps = steps_of(
        samples((ago(minutes=60), 5), (ago(minutes=50), 6), (ago(minutes=20), 7)), NOW
    )

    assert [s.end for s in steps] == [
        ago(minutes=50),
        ago(minutes=45),
        ago(minutes=15),
    ]


def test_steps_of_thinned_samples_stand_for_an_hour():
    steps = steps_of(samples((ago(days=5, hours=2), 5), (ago(days=5), 6)), NOW)

    assert steps[0].end == ago(days=5, hours=1)


def test_joined_ends_a_span_where_the_next_begins():
    spans = [
        Step(ago(hours=9), ago(hours=8), 1),
        Step(ago(hours=8) + dt.timedelta(minutes=5), ago(hours=4), 2),
        Step(ago(hours=1), ago(minutes=3), 3),
    ]

    assert [(s.start, s.end) for s in joined(spans, NOW)] == [
        (ago(hours=9), ago(hours=8) + dt.timedelta(minutes=5)),
        (ago(hours=8) + dt.timedelta(minutes=5), ago(hours=4)),
        (ago(hours=1), NOW),
    ]


def test_nothing_is_no_step():
    assert steps_of([], NOW) == joined([], NOW) == []


def test_buckets_weigh_by_time_and_never_show_a_gap_as_zero():
    steps = [
        Step(ago(hours=3), ago(hours=2, minutes=45), 100, 800),
        Step(ago(hours=2, minutes=45), ago(hours=2), 0, 800),
        Step(ago(hours=1), NOW, None),
    ]

    first, second, third = buckets_of(steps, ago(hours=3), dt.timedelta(hours=1), 3)

    assert (first.mean, first.peak, first.total) == (25, 100, 800)
    assert (second.mean, second.peak) == (None, None)
    assert (third.mean, third.peak) == (None, None)


def test_drawing_has_the_height_of_its_values():
    steps = [
        Step(ago(hours=24), ago(hours=12), 50, 100),
        Step(ago(hours=12), NOW, 100, 100),
    ]

    drawing = drawing_of(steps, ago(hours=24), NOW)

    assert drawing.allocated == f"M0.0 {HEIGHT}V40.0H300.0V0.0H600.0V{HEIGHT}Z"
    assert drawing.top == 100
    assert drawing.gaps == ()


def test_drawing_breaks_at_a_gap_and_marks_it():
    steps = [
        Step(ago(hours=24), ago(hours=18), 50, 100),
        Step(ago(hours=18), ago(hours=12), None, 100),
        Step(ago(hours=6), NOW, 50, 100),
    ]

    drawing = drawing_of(steps, ago(hours=24), NOW)

    assert drawing.allocated.count("M") == drawing.allocated.count("Z") == 2
    assert drawing.gaps == (("150.0", "300.0"),)


def test_drawing_of_nothing_is_one_gap():
    assert drawing_of([], ago(hours=24), NOW).gaps == (("0.0", "600.0"),)


def test_drawing_of_zero_is_no_gap():
    drawing = drawing_of([Step(ago(hours=24), NOW, 0, 0)], ago(hours=24), NOW)

    assert drawing.gaps == ()
    assert drawing.top == 0

from __future__ import annotations

import pytest

from claims.domain.why.values import by_distance, comparison_in, shown

MEMORY = "device.capacity['gpu.nvidia.com'].memory"
PROFILE = 'device.attributes["gpu.nvidia.com"].profile'


@pytest.mark.parametrize(
    ("text", "kind", "direction", "literal", "relaxed"),
    [
        (
            f"{MEMORY}.isGreaterThan(quantity('80Gi'))",
            "quantity",
            ">",
            "80Gi",
            f'{MEMORY}.compareTo(quantity("V")) >= 0',
        ),
        (
            f'({MEMORY}.compareTo(quantity("80Gi")) >= 0)',
            "quantity",
            ">",
            "80Gi",
            f'{MEMORY}.compareTo(quantity("V")) >= 0',
        ),
        (
            f'{MEMORY}.isLessThan(quantity("10Gi"))',
            "quantity",
            "<",
            "10Gi",
            f'{MEMORY}.compareTo(quantity("V")) <= 0',
        ),
        (f"{PROFILE} == '3g.40gb'", "string", "=", "3g.40gb", f'{PROFILE} == "V"'),
        (f"{PROFILE} >= 4", "int", ">", "4", f"{PROFILE} >= V"),
        (f"{PROFILE} == true", "bool", "=", "true", f"{PROFILE} == V"),
    ],
)
def test_comparisons_are_read_and_written(text, kind, direction, literal, relaxed):
    found = comparison_in(text)

    assert (found.kind, found.direction, found.literal) == (kind, direction, literal)
    assert found.with_value("V") == relaxed


@pytest.mark.parametrize(
    "text",
    [
        f"!({PROFILE} == '3g')",
        f"{PROFILE} == 'a' || {PROFILE} == 'b'",
        f"{PROFILE}.startsWith('3g')",
        f"{PROFILE} != '3g'",
        f"{MEMORY}.compareTo(quantity('1Gi'))",
        f"{MEMORY}.compareTo(quantity('1Gi')) != 0",
        "true",
    ],
)
def test_what_is_no_single_comparison_is_left_alone(text):
    assert comparison_in(text) is None


def test_values_are_ordered_by_their_distance():
    found = comparison_in(f"{MEMORY}.isGreaterThan(quantity('80Gi'))")

    assert by_distance(found, ["40Gi", "81559Mi", "1Ti"]) == ["81559Mi", "40Gi", "1Ti"]


def test_versions_are_ordered_as_versions():
    text = 'device.attributes["d"].version.compareTo(semver("570.0.0")) >= 0'

    found = by_distance(comparison_in(text), ["535.9.0", "560.1.0", "535.10.0"])

    assert found == ["560.1.0", "535.10.0", "535.9.0"]


def test_words_are_ordered_by_their_likeness():
    found = comparison_in(f"{PROFILE} == '3g.40gb'")

    assert by_distance(found, ["7g.80gb", "3g.20gb", "3g.40gb"])[0] == "3g.20gb"


def test_sizes_are_shown_as_people_read_them():
    assert shown("quantity", "81559Mi") == "79.6Gi"
    assert shown("quantity", "80Gi") == "80Gi"
    assert shown("quantity", "512Mi") == "512Mi"
    assert shown("string", "81559Mi") == "81559Mi"

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.domain.quantity import (
    BadQuantity,
    format_gib,
    parse_bytes,
    parse_quantity,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("81559Mi", 81559 * 2**20),
        ("16Gi", 16 * 2**30),
        ("500m", Fraction(1, 2)),
        ("3.35T", 3_350_000_000_000),
        ("1k", 1000),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1E", 10**18),
        ("-1Gi", -(2**30)),
        ("+5", 5),
        (".5", Fraction(1, 2)),
        ("5.", 5),
        ("12E-1", Fraction(12, 10)),
        (132, 132),
    ],
)
def test_parse_quantity_reads_every_suffix(text, value):
    assert parse_quantity(text) == value


@pytest.mark.parametrize(
    "text",
    ["", "Gi", "1 Gi", "16GB", "1kb", "0x10", "1e", "--1", "1Ki2", "１Gi", "1\n"],
)
def test_parse_quantity_refuses_what_kubernetes_refuses(text):
    with pytest.raises(BadQuantity):
        parse_quantity(text)


@given(st.integers(-(2**40), 2**40), st.sampled_from(["", "Ki", "Mi", "Gi", "k", "M"]))
def test_parse_quantity_is_exact(number, suffix):
    factor = {"": 1, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "k": 10**3, "M": 10**6}
    assert parse_quantity(f"{number}{suffix}") == number * factor[suffix]


def test_parse_bytes_rounds_up():
    assert parse_bytes("1500m") == 2


def test_format_gib_never_shows_unknown_as_zero():
    assert format_gib(None) == "unknown"
    assert format_gib(81559 * 2**20) == "79.6"

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claims.domain.checks.shape import shape_findings
from inventory.domain.quantity import (
    BadQuantity,
    format_gib,
    parse_bytes,
    parse_quantity,
)
from inventory.gateways.files import BadFile, parse_objects


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


ENDLESS = pytest.mark.parametrize(
    "amount",
    ["9" * 5000, "9" * 4200 + "e999", "0." + "0" * 5000 + "1", 16**5000],
    ids=["digits", "exponent", "fraction", "number"],
)


@ENDLESS
def test_parse_quantity_refuses_numbers_without_end(amount):
    with pytest.raises(BadQuantity):
        parse_quantity(amount)


@pytest.mark.parametrize("text", ["9" * 250 + "e999", "-" + "1" * 240 + "e-999"])
def test_sums_of_the_longest_quantities_have_a_text(text):
    value = parse_quantity(text) + parse_quantity("1e-999")

    assert str(value * 1000)
    assert str(parse_bytes(text))


@ENDLESS
def test_a_claim_that_asks_for_a_number_without_end_is_invalid(amount):
    ask = {"deviceClassName": "c", "capacity": {"requests": {"memory": amount}}}
    devices = {"requests": [{"name": "r", "exactly": ask}]}

    (found,) = shape_findings({"kind": "ResourceClaim", "spec": {"devices": devices}})

    assert (found.code, found.variant) == ("claim.invalid", "quantity")


def test_a_count_beyond_what_the_server_stores_is_invalid():
    ask = {"deviceClassName": "c", "count": 16**5000}
    devices = {"requests": [{"name": "r", "exactly": ask}]}

    (found,) = shape_findings({"kind": "ResourceClaim", "spec": {"devices": devices}})

    assert (found.code, found.variant) == ("claim.invalid", "count")


@pytest.mark.parametrize("number", ["9" * 5000, "0x" + "f" * 5000, 2**63])
def test_a_file_with_a_number_without_end_is_refused(number):
    with pytest.raises(BadFile):
        parse_objects(f"kind: Node\nspec: {number}\n".encode(), "it")


@given(st.integers(-(2**40), 2**40), st.sampled_from(["", "Ki", "Mi", "Gi", "k", "M"]))
def test_parse_quantity_is_exact(number, suffix):
    factor = {"": 1, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "k": 10**3, "M": 10**6}
    assert parse_quantity(f"{number}{suffix}") == number * factor[suffix]


def test_parse_bytes_rounds_up():
    assert parse_bytes("1500m") == 2


def test_format_gib_never_shows_unknown_as_zero():
    assert format_gib(None) == "unknown"
    assert format_gib(81559 * 2**20) == "79.6"

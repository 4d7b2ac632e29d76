from __future__ import annotations

import pytest

from claims.domain.why.conjuncts import conjuncts, with_part, without_part


@pytest.mark.parametrize(
    ("expression", "parts"),
    [
        ("a && b", ["a", "b"]),
        ("a &&\n  b && c", ["a", "b", "c"]),
        ("(a && b) && c", ["(a && b)", "c"]),
        ("x.exists(d, d.a && d.b) && c", ["x.exists(d, d.a && d.b)", "c"]),
        ("k == \"a && b\" && c == '&&'", ['k == "a && b"', "c == '&&'"]),
        (r'k == "a\" && b" && c', [r'k == "a\" && b"', "c"]),
        ("m[?'k'].orValue(1) == 1 && c", ["m[?'k'].orValue(1) == 1", "c"]),
        ("m.?k.orValue(1) == 1 && c", ["m.?k.orValue(1) == 1", "c"]),
        ("(a || b) && c", ["(a || b)", "c"]),
    ],
)
def test_parts_stand_between_the_outermost_ands(expression, parts):
    assert conjuncts(expression) == parts


@pytest.mark.parametrize(
    "expression",
    ["a && b || c", "a && b ? c : d", '"""a""" && b', "a // && b", "a &&", ""],
)
def test_what_cannot_be_taken_apart_stays_whole(expression):
    assert conjuncts(expression) == [expression.strip()]


def test_a_part_is_left_out_or_replaced():
    parts = ["a", "b", "c"]

    assert without_part(parts, 1) == "a && c"
    assert without_part(["a"], 0) == ""
    assert with_part(parts, 2, "x") == "a && b && x"

"""What an expression is made of: places of keys, calls that cannot but fail, loops."""

from __future__ import annotations

import pytest

from inventory.domain.engine import MINORS
from inventory.gateways.engine import Engine
from tests.engine.problems import GATES, GPU

D = f'device.attributes["{GPU}"]'


@pytest.fixture(params=MINORS)
def parts(process, request):
    """Return a function from an expression to its parts, for each minor."""
    engine = Engine(process(request.param), gates=GATES)
    return lambda expression: engine.check([expression])[0].parts


def _cut(expression, at):
    return at and expression[slice(*at)]


def test_keys_and_domains_are_found_where_they_are_named(parts):
    expression = (
        f"'é🙂 {D}.a' != '' && {D}.a == 1 && {D} . ?b.orValue(1) == 1\n"
        f' && "c" in {D} && device.capacity[?"{GPU}"][?"d"].hasValue()'
        f" && cel.bind(g, {D}, g.e == 1) && has({D}.f)"
    )
    spots = parts(expression).spots
    assert [
        (s.key, _cut(expression, s.at), _cut(expression, s.domain_at), s.is_optional)
        for s in spots
    ] == [
        ("f", None, f'"{GPU}"', True),
        ("a", "a", f'"{GPU}"', False),
        ("b", "b", f'"{GPU}"', True),
        ("c", '"c"', f'"{GPU}"', True),
        ("d", '"d"', f'"{GPU}"', True),
        ("e", "e", f'"{GPU}"', False),
    ]
    at = expression.index(f"{D}.a == 1") + len(f"{D}.")
    assert spots[1].at == (at, at + 1)


@pytest.mark.parametrize(
    ("expression", "literal", "written"),
    [
        (f'{D}.v == semver("580.95.05")', "580.95.05", '"580.95.05"'),
        (f'{D}.v == semver("580.95.05", false)', "580.95.05", '"580.95.05"'),
        (f'{D}.v == semver( "latest" , true)', "latest", '"latest"'),
        (f"{D}.v == semver(r'580.95.05')", "580.95.05", "r'580.95.05'"),
        (f'{D}.v == semver("""1.2""")', "1.2", '"""1.2"""'),
        (r'"é🙂" != "x" && sign(quantity("80\u0047B")) > 0', "80GB", r'"80\u0047B"'),
    ],
)
def test_a_call_that_cannot_but_fail_is_found(parts, expression, literal, written):
    (dud,) = parts(expression).duds
    assert dud.function == ("quantity" if "quantity" in expression else "semver")
    assert (dud.literal, _cut(expression, dud.at)) == (literal, written)
    assert dud.error


@pytest.mark.parametrize(
    "expression",
    [
        f'{D}.type == "gpu" // semver("580.95.05")',
        f"""{D}.type != "semver('1.2')" """,
        'isSemver("580.95.05") || isQuantity("80GB")',
        'semver("v1.2", true).major() == 1',
        f"semver({D}.productName).major() == 1",
        'device.driver.matches("a+")',
        'semver("1.2',
    ],
)
def test_what_may_hold_is_no_call_that_fails(parts, expression):
    assert parts(expression).duds == ()


def test_calls_are_named_and_loops_inside_loops_are_seen(parts):
    found = parts('matches(device.driver, "find(x)") // .findAll(')
    assert "matches" in found.calls
    assert not {"find", "findAll"} & found.calls
    assert parts("[1].exists(x, [2].exists(y, x == y))").is_nested
    for flat in (
        "[1].filter(x, x > 0).exists(y, y == 1)",
        "[1].exists(x, cel.bind(y, x, y == 1))",
        "cel.bind(y, 1, [y].exists(x, x == 1))",
        '".exists(x, y.exists(" == ""',
    ):
        assert not parts(flat).is_nested

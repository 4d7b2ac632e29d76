"""Small words and marks of inventory's templates."""

from __future__ import annotations

import pytest

from inventory.templatetags.inventory_ui import breakable, pool_problem


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("gpu.nvidia.com", "gpu.<wbr>nvidia.<wbr>com<wbr>"),
        ("<b>.x", "&lt;b&gt;.<wbr>x<wbr>"),
        ("..", ".<wbr>.<wbr>"),
        ("", ""),
    ],
)
def test_a_name_breaks_behind_its_dots_and_stays_text(name, shown):
    assert breakable(name) == shown


@pytest.mark.parametrize(
    ("detail", "said"),
    [
        ("a", "A device uses the counter set a, which no slice publishes"),
        ("a/zz", "uses the counter zz, which the counter set a does not have"),
        ("a, a", "Two of its slices have a counter set a;"),
    ],
)
def test_bad_counters_are_named(detail, said):
    assert said in pool_problem(f"pool.invalid_counterset: {detail}")

"""Small words and marks of inventory's templates."""

from __future__ import annotations

import pytest

from inventory.templatetags.inventory_ui import breakable


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

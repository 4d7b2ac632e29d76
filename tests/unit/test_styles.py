"""What must be seen of a drawing differs enough from its ground."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CSS = Path(__file__).parents[2] / "static" / "css"
PAIR = re.compile(r"--(edge|panel): light-dark\((#\w{6}), (#\w{6})\)")
LEAST = 3


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [
        each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4
        for each in parts
    ]
    return sum(
        each * by for each, by in zip(linear, (0.2126, 0.7152, 0.0722), strict=True)
    )


@pytest.mark.parametrize("scheme", [1, 2], ids=["light", "dark"])
def test_the_total_of_a_chart_is_seen_on_its_ground(scheme):
    found = {pair[0]: pair for pair in PAIR.findall((CSS / "tokens.css").read_text())}
    edge, panel = (luminance(found[name][scheme]) for name in ("edge", "panel"))
    assert (max(edge, panel) + 0.05) / (min(edge, panel) + 0.05) >= LEAST

    rules = (CSS / "pages" / "inventory.css").read_text()
    assert re.search(r"\.chart path\.free \{ stroke: var\(--edge\)", rules)

"""A precision–recall curve as SVG: recall to the right, precision upwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

WIDTH, HEIGHT = 320, 200

Json = dict[str, Any]


def path_of(points: Sequence[Json]) -> str:
    """Return the path of a curve's points in a viewBox of WIDTH × HEIGHT.

    Args:
        points: {"precision", "recall"} each, as calibrations are stored.
    """
    steps: list[str] = []
    for point in points:
        if point["precision"] is None or point["recall"] is None:
            continue
        x, y = WIDTH * point["recall"], HEIGHT * (1 - point["precision"])
        steps.append(f"{'L' if steps else 'M'}{x:.1f} {y:.1f}")
    return "".join(steps)


def svg_of(points: Sequence[Json], title: str) -> str:
    """Return a whole SVG document that stands by itself."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-30 -10 {WIDTH + 50}'
        f' {HEIGHT + 40}" role="img"><title>{title}</title>'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="currentColor"/>'
        f'<path d="{path_of(points)}" fill="none" stroke="currentColor"'
        ' stroke-width="2"/>'
        f'<text x="{WIDTH // 2}" y="{HEIGHT + 24}" text-anchor="middle">recall</text>'
        '<text x="-8" y="6" text-anchor="end">1</text>'
        f'<text x="-8" y="{HEIGHT}" text-anchor="end">0</text></svg>\n'
    )

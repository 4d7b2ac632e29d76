"""Steps of time as the paths of an SVG: what is there, what of it is allocated.

Coordinates are those of a viewBox of WIDTH × HEIGHT; text stays outside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from inventory.domain.history import Step

WIDTH, HEIGHT = 600, 80


@dataclass(frozen=True, slots=True)
class Drawing:
    """The paths of a chart; "" where there is nothing to draw.

    Attributes:
        total: the area of what there was.
        allocated: the area of what was allocated.
        gaps: (x, width) where nothing is known.
        top: the bytes at the upper edge.
    """

    total: str
    allocated: str
    gaps: tuple[tuple[str, str], ...]
    top: int


def drawing_of(steps: Sequence[Step], start: dt.datetime, end: dt.datetime) -> Drawing:
    """Return the drawing of steps, by time, between two moments."""
    shown = [s for s in steps if s.end > start and s.start < end and s.end > s.start]
    top = max((max(s.allocated or 0, s.total or 0) for s in shown), default=0)

    def x(moment: dt.datetime) -> float:
        return WIDTH * (min(max(moment, start), end) - start) / (end - start)

    return Drawing(
        total=_area(shown, x, lambda step: step.total, top),
        allocated=_area(shown, x, lambda step: step.allocated, top),
        gaps=tuple(
            (f"{left:.1f}", f"{right - left:.1f}")
            for left, right in _gaps(shown, x)
            if right - left >= 1
        ),
        top=top,
    )


def _area(
    steps: Iterable[Step],
    x: Callable[[dt.datetime], float],
    value_of: Callable[[Step], int | None],
    top: int,
) -> str:
    """Return the area under the steps whose value is known, run by run."""
    path: list[str] = []
    last: dt.datetime | None = None
    for step in steps:
        value = value_of(step)
        if value is None or not top:
            _close(path, last)
            last = None
            continue
        height = HEIGHT * (1 - value / top)
        if last != step.start:
            _close(path, last)
            path.append(f"M{x(step.start):.1f} {HEIGHT}")
        path.append(f"V{height:.1f}H{x(step.end):.1f}")
        last = step.end
    _close(path, last)
    return "".join(path)


def _close(path: list[str], last: dt.datetime | None) -> None:
    if last is not None:
        path.append(f"V{HEIGHT}Z")


def _gaps(
    steps: Iterable[Step], x: Callable[[dt.datetime], float]
) -> Iterator[tuple[float, float]]:
    """Yield where no step says what was allocated."""
    at = 0.0
    for step in steps:
        if step.allocated is None:
            continue
        yield at, x(step.start)
        at = max(at, x(step.end))
    yield at, float(WIDTH)

"""What a claim costs the scheduler: devices × the cost of each selector."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from claims.domain.checks.asks import asked_of
from claims.domain.checks.shape import shape_findings
from claims.domain.checks.world import name_of, namespace_of

if TYPE_CHECKING:
    from collections.abc import Iterable

Json = dict[str, Any]

# A selector in so many templates had better stand in a class.
FEWEST_TEMPLATES = 3


@dataclass(frozen=True, slots=True)
class SelectorCost:
    """One selector of a class or of an ask.

    Attributes:
        owner: the class, or the ask, whose selector it is; `number` from 1.
        is_class: whether it is a class's.
        devices: that are asked at most, for one attempt of a pod on all nodes.
        cost: estimated units for one device; None where there is no estimate.
        micros: measured microseconds for one device; None where nothing was measured.
    """

    owner: str
    number: int
    is_class: bool
    expression: str
    devices: int
    cost: int | None
    micros: float | None

    @property
    def units(self) -> int | None:
        """Estimated units for one attempt."""
        return None if self.cost is None else self.cost * self.devices

    @property
    def millis(self) -> float | None:
        """Measured milliseconds for one attempt."""
        return None if self.micros is None else self.micros * self.devices / 1000


@dataclass(frozen=True, slots=True)
class ClaimCost:
    """All selectors of a claim over `slices` slices with `devices` devices."""

    slices: int
    devices: int
    selectors: tuple[SelectorCost, ...]

    @property
    def units(self) -> int:
        """Estimated units for one attempt, of what has an estimate."""
        return sum(each.units or 0 for each in self.selectors)

    @property
    def millis(self) -> float | None:
        """Measured milliseconds for one attempt; None where some were not measured."""
        each = [selector.millis for selector in self.selectors]
        measured = [millis for millis in each if millis is not None]
        return sum(measured) if len(measured) == len(each) else None


@dataclass(frozen=True, slots=True)
class Repeated:
    """A selector that stands in several templates.

    Attributes:
        classes: of the asks that have it.
        templates: `namespace/name`, sorted.
    """

    expression: str
    classes: tuple[str, ...]
    templates: tuple[str, ...]


def repeated(templates: Iterable[Json]) -> list[Repeated]:
    """Return selectors that stand in three templates or more, the most frequent first."""
    places: dict[str, set[str]] = defaultdict(set)
    classes: dict[str, set[str]] = defaultdict(set)
    texts: dict[str, str] = {}
    for body in templates:
        if shape_findings(body):
            continue
        name = f"{namespace_of(body)}/{name_of(body)}"
        for ask in asked_of(body).asks:
            for _path, text in ask.selectors:
                key = " ".join(text.split())
                places[key].add(name)
                classes[key].add(ask.class_name)
                texts.setdefault(key, text.strip())
    found = [
        Repeated(texts[key], tuple(sorted(classes[key])), tuple(sorted(names)))
        for key, names in places.items()
        if len(names) >= FEWEST_TEMPLATES
    ]
    return sorted(found, key=lambda each: (-len(each.templates), each.expression))


def class_for(each: Repeated, selectors: Iterable[str], name: str) -> Json:
    """Return the DeviceClass that templates with this selector could name instead.

    Args:
        each: the repeated selector.
        selectors: of the class that they name now.
        name: of the new class.
    """
    expressions = [*selectors, each.expression]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": text}} for text in expressions]},
    }


def name_for(each: Repeated) -> str:
    """Return a name for the class: that of the old one, and what is selected."""
    literals = re.findall(r"""["']([A-Za-z0-9][-.A-Za-z0-9]*)["']""", each.expression)
    last = (
        re.sub(r"[^a-z0-9]+", "-", literals[-1].lower()).strip("-") if literals else ""
    )
    return f"{last or 'selected'}.{each.classes[0]}"

"""Literals in CEL that fail on every device that comes to them: versions, quantities.

Which calls fail is what the engine says, which evaluates them; an error is said
only where a device met it, or none was asked at all.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from claims.domain.checks.findings import Finding
from inventory.domain.quantity import normal_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claims.domain.checks.facts import SelectorFacts
    from inventory.domain.cel_parts import Dud, Span
    from inventory.domain.engine import RuntimeFault

_SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?"
)
_SEMVER_OF_VERSION = "no such overload: semver(kubernetes.Semver"
_OF_VERSION = re.compile(r"semver\((device\.attributes\[[^\]]+\]\.\w+)\)")
_CODES = {
    "semver": ("cel.bad_semver", "literal"),
    "quantity": ("cel.runtime_error", "quantity"),
}


def literal_findings(selector: SelectorFacts) -> Iterator[Finding]:
    """Yield the versions and quantities that are none, and versions of versions."""
    for dud in met(selector):
        finding = _of_literal(selector, dud)
        variant = (
            finding.variant if finding.replacement else f"{finding.variant}_unclear"
        )
        yield replace(finding, variant=variant, is_certain=True)
    if any(_SEMVER_OF_VERSION in fault.message for fault in selector.errors):
        yield _of_version(selector)


def shadowed_literals(selector: SelectorFacts) -> Iterator[Finding]:
    """Yield those that no device came to, of a selector that holds for none."""
    for dud in selector.verdict.parts.duds:
        if selector.total and dud.function in _CODES:
            finding = _of_literal(selector, dud)
            variant = f"{finding.variant}_shadowed"
            yield replace(finding, variant=variant, is_shadowed=True)


def _of_literal(selector: SelectorFacts, dud: Dud) -> Finding:
    code, variant = _CODES[dud.function]
    of = normal_semver if dud.function == "semver" else normal_quantity
    fixed = of(dud.literal)
    return Finding(
        code,
        selector.path,
        {"literal": dud.literal, "fixed": fixed or ""},
        variant,
        *place(selector.expression, _inside(selector.expression, dud)),
        with_literal(selector.expression, dud.at, dud.literal, fixed),
    )


def is_of_literal(selector: SelectorFacts, fault: RuntimeFault) -> bool:
    """Return whether `literal_findings` says where an error comes from."""
    return _SEMVER_OF_VERSION in fault.message or any(
        dud.error in fault.message for dud in met(selector)
    )


def met(selector: SelectorFacts) -> list[Dud]:
    """Return the calls that some device failed in; all where none was asked."""
    return [
        dud
        for dud in selector.verdict.parts.duds
        if dud.function in _CODES
        and (
            not selector.total
            or any(dud.error in fault.message for fault in selector.errors)
        )
    ]


def _of_version(selector: SelectorFacts) -> Finding:
    text = selector.expression
    found = _OF_VERSION.search(text)
    at = found.start() if found else max(0, text.find("semver("))
    fixed = _OF_VERSION.sub(r"\1", text)
    return Finding(
        "cel.bad_semver",
        selector.path,
        {},
        "of_version",
        *place(text, at),
        fixed if found else None,
        is_certain=True,
    )


def place(expression: str, index: int) -> tuple[int, int]:
    """Return line and column of an index, 1-based."""
    before = expression[:index]
    return before.count("\n") + 1, index - (before.rfind("\n") + 1) + 1


def _inside(text: str, dud: Dud) -> int:
    """Return where a literal begins within its quotes."""
    start, end = dud.at
    return start + max(0, text[start:end].find(dud.literal))


def with_literal(text: str, at: Span, old: str, new: str | None) -> str | None:
    """Return a text with a literal's value in its place replaced, in its own quotes."""
    if new is None:
        return None
    start, end = at
    token = text[start:end]
    fixed = token.replace(old, new) if old and old in token else f'"{new}"'
    return text[:start] + fixed + text[end:]


def normal_semver(literal: str) -> str | None:
    """Return a version such as `v580.95.05` or `12.4` as a semantic version, or None."""
    found = re.fullmatch(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?((?:[-+].*)?)", literal)
    if not found:
        return None
    numbers = ".".join(str(int(part or 0)) for part in found.groups()[:3])
    fixed = numbers + found[4]
    return fixed if _SEMVER.fullmatch(fixed) else None

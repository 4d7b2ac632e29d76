"""CEL selectors: what the server refuses, what fails later, what matches nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from claims.domain.checks.findings import Finding
from claims.domain.checks.literals import literal_findings, shadowed_literals
from claims.domain.checks.runtime import runtime_findings, shadowed_keys
from claims.domain.checks.syntax import flat_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from claims.domain.checks.asks import Ask, Asked
    from claims.domain.checks.facts import AskFacts, Facts, SelectorFacts
    from claims.domain.checks.world import World

MOST_BYTES = 10_240
# The value that names the class whose selector a finding speaks of.
OF_CLASS = "of_class"
# Above this many units of cost for one pod, what the scheduler pays is worth a word.
SLOW_COST = 20_000_000

_REGEX = frozenset({"matches", "find", "findAll"})
_BROKEN = {
    "cel.compile",
    "cel.cost",
    "cel.too_long",
    "cel.bad_semver",
    "cel.key_published_by_none",
    "cel.key_other_domain",
}


def selector_findings(asked: Asked, facts: Facts, world: World) -> Iterator[Finding]:
    """Yield what is wrong with the selectors of each ask, list by list."""
    for _name, path, asks in asked.requests:
        broken = False
        for ask in asks:
            known = facts.of(ask.name)
            broken = broken or any(
                selector.always_fails
                for selector in (*known.class_selectors, *known.selectors)
            )
            for finding in (*_of_class(ask, known, world), *_own(known, world)):
                broken = broken or finding.is_certain or _breaks(finding)
                yield finding
        if broken and asks and asks[0].sub:
            yield Finding("first_available.cel_error", f"{path}.firstAvailable")


def _breaks(finding: Finding) -> bool:
    return finding.code in _BROKEN and not finding.is_shadowed


def _own(known: AskFacts, world: World) -> Iterator[Finding]:
    passed = list(known.class_selectors)
    for selector in known.selectors:
        yield from judge(selector, known.of_class, world, passed)
        passed.append(selector)


def _of_class(ask: Ask, known: AskFacts, world: World) -> Iterator[Finding]:
    """Yield the faults of its class, which stop whoever uses it."""
    everything = frozenset(world.devices)
    for i, selector in enumerate(known.class_selectors):
        for finding in judge(selector, everything, world, known.class_selectors[:i]):
            if finding.code != "cel.slow" and not finding.is_shadowed:
                yield replace(
                    finding,
                    path=f"{ask.path}.deviceClassName",
                    values={**finding.values, OF_CLASS: ask.class_name},
                    line=None,
                    column=None,
                    replacement=None,
                )


def judge(
    selector: SelectorFacts,
    among: frozenset[str],
    world: World,
    before: Sequence[SelectorFacts] = (),
) -> Iterator[Finding]:
    """Yield what is wrong with one selector, asked about some devices.

    Args:
        selector: the selector.
        among: ids of those devices, before the selectors of a request.
        world: the cluster.
        before: selectors that a device passes first.
    """
    verdict, path = selector.verdict, selector.path
    if verdict.length > MOST_BYTES:
        values = {"length": verdict.length, "limit": MOST_BYTES}
        yield Finding("cel.too_long", path, values)
        return
    if verdict.error:
        yield _refused(selector)
        return
    if verdict.cost is not None and verdict.cost > verdict.limit:
        yield Finding("cel.cost", path, {"cost": verdict.cost, "limit": verdict.limit})
        return
    yield from literal_findings(selector)
    yield from runtime_findings(selector, among, world)
    if among and not selector.match and not selector.errors:
        yield from shadowed_literals(selector)
        yield from shadowed_keys(selector, before, among, world)
    yield from _slow(selector)


def _refused(selector: SelectorFacts) -> Finding:
    """Return what does not compile: the first error, and the text without a slip."""
    verdict = selector.verdict
    values = {"error": verdict.error.partition("\n")[0]}
    flat = flat_key(selector.expression)
    variant = "flat_key" if flat else "mended" if selector.mended else ""
    if flat:
        values |= {"key": flat[0], "fixed": flat[1]}
    elif selector.mended:
        values["fixed"] = selector.mended
    # An error at the end of an empty line has column 0.
    column = None if verdict.column is None else max(1, verdict.column)
    return Finding(
        "cel.compile",
        selector.path,
        values,
        variant,
        verdict.line,
        column,
        selector.mended,
    )


def _slow(selector: SelectorFacts) -> Iterator[Finding]:
    if not selector.total:
        return
    cost = selector.verdict.cost or 0
    values = {"cost": cost, "devices": selector.total, "product": cost * selector.total}
    if _REGEX & selector.verdict.parts.calls:
        yield Finding("cel.slow", selector.path, values, "regex")
    elif selector.verdict.parts.is_nested:
        yield Finding("cel.slow", selector.path, values, "nested")
    elif cost * selector.total >= SLOW_COST:
        yield Finding("cel.slow", selector.path, values)

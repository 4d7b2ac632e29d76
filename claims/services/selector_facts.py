"""What the engine says of selectors, and of the texts that would mend them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from claims.domain.checks.facts import SelectorFacts, Verdict
from claims.domain.checks.findings import Level
from claims.domain.checks.selectors import judge
from claims.domain.checks.syntax import mended
from inventory.gateways.engine import EngineDeadline, EngineRefused, EngineUnavailable

if TYPE_CHECKING:
    from claims.domain.checks.facts import AskFacts
    from claims.domain.checks.findings import Finding
    from claims.domain.checks.world import World
    from inventory.domain.engine import Checked, Evaluated
    from inventory.gateways.engine import Engine

# A fix that was not tried is not offered; the fault is told all the same.
UNTRIED = (EngineDeadline, EngineUnavailable)
# So many faults of one expression are mended one after another.
MOST_MENDED = 4

Judged = tuple[tuple[SelectorFacts, ...], frozenset[str]]


def selector_facts(
    engine: Engine,
    world: World,
    pairs: list[tuple[str, str]],
    within: list[str],
    *,
    listing: bool = True,
) -> Judged:
    """Return each selector over what those before it leave, and what all match.

    Those of the class stand before. Evaluated as far as they compile; what
    does not leaves no match.

    Args:
        engine: on the cluster.
        world: the same cluster.
        pairs: (path, expression) of the selectors.
        within: the class's expressions.
        listing: whether what all match is wanted.

    Raises:
        EngineUnavailable, EngineDeadline: each says what to do.
    """
    if not pairs:
        return (), frozenset()
    texts = [text for _path, text in pairs]
    checked = engine.check(texts)
    sound = [each.scheduler.ok and each.apiserver.ok for each in checked]
    first_bad = sound.index(False) if False in sound else len(sound)
    found = None
    if first_bad:
        found = _evaluated(engine, texts[:first_bad], within, listing=listing)
    facts = tuple(
        _selector(path, text, _verdict(each), found if i < first_bad else None, at)
        for i, ((path, text), each) in enumerate(zip(pairs, checked, strict=True))
        for at in (len(within) + i,)
    )
    facts = tuple(
        _mended(engine, each) if each.verdict.error else each for each in facts
    )
    if found is None or first_bad < len(sound):
        return facts, frozenset()
    return facts, frozenset(each for each in found.matches if each in world.devices)


def proven(engine: Engine, world: World, finding: Finding, known: AskFacts) -> Finding:
    """Return a finding with its replacement tried, and mended where that fails too.

    A text that leaves an error, or what the finding says, is not offered.

    Args:
        engine: on the cluster.
        world: the same cluster.
        finding: of one of an ask's own selectors.
        known: the facts of that ask.

    Raises:
        EngineUnavailable, EngineDeadline: It could not be tried.
    """
    paths = [selector.path for selector in known.selectors]
    if finding.replacement is None or finding.path not in paths:
        return finding
    at, text = paths.index(finding.path), finding.replacement
    before = [
        (s.path, s.expression) for s in known.selectors[:at] if not s.verdict.error
    ]
    within = [selector.expression for selector in known.class_selectors]
    passed = (*known.class_selectors, *known.selectors[:at])
    for _ in range(MOST_MENDED):
        facts, _matches = selector_facts(
            engine, world, [*before, (finding.path, text)], within, listing=False
        )
        left = [
            other
            for other in judge(facts[-1], known.of_class, world, passed)
            if other.level is Level.ERROR or other.code == finding.code
        ]
        if not left:
            return replace(finding, replacement=text)
        better = next((other.replacement for other in left if other.replacement), None)
        if better is None:
            break
        text = better
    return replace(finding, replacement=None)


def _mended(engine: Engine, selector: SelectorFacts) -> SelectorFacts:
    """Return a selector that does not compile with a text that does, if any."""
    text = mended(selector.expression)
    if text is None:
        return selector
    try:
        (judged,) = engine.check([text])
    except UNTRIED:
        return selector
    sound = judged.apiserver.ok and judged.scheduler.ok
    return replace(selector, mended=text) if sound else selector


def _evaluated(
    engine: Engine, texts: list[str], within: list[str], *, listing: bool
) -> Evaluated | None:
    """Return what expressions match; None where a selector of the class is faulty."""
    try:
        return engine.evaluate(texts, within=within, listing=listing)
    except EngineRefused:
        return None


def _selector(
    path: str, text: str, verdict: Verdict, found: Evaluated | None, at: int
) -> SelectorFacts:
    """Return a selector with what its step of an evaluation says."""
    if found is None or at >= len(found.steps):
        return SelectorFacts(path, text, verdict)
    step = found.steps[at]
    errors = tuple(fault for fault in found.errors if fault.step == at)
    return SelectorFacts(path, text, verdict, step.reached, step.match, errors)


def _verdict(found: Checked) -> Verdict:
    judged = found.apiserver
    if judged.ok and not found.scheduler.ok:
        judged = found.scheduler
    compiles = judged.ok or judged.reason in {"cost", "length"}
    return Verdict(
        error="" if compiles else str(judged.error),
        line=judged.line,
        column=judged.column,
        cost=found.cost,
        limit=found.limit,
        length=found.length,
        reads=found.reads,
        parts=found.parts,
    )

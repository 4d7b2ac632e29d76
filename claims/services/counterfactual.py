"""The smallest changes that would let a claim fit, each proven by the engine.

All of them share one budget. A change that was not proven in time is not shown.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from claims.domain.defaulting import defaulted_claim
from claims.domain.preview import claim_of
from claims.domain.why.changes import Change, Rank, applied
from claims.domain.why.offers import endings, ladders, repairs
from inventory.domain.engine import Outcome, Row
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from claims.domain.preview import Preview
    from claims.domain.why.changes import Ladder
    from claims.domain.why.reasons import AskReason
    from claims.services.explaining import Question, Why
    from inventory.gateways.engine import AsyncEngine

Json = dict[str, Any]
Result = TypeVar("Result")

BUDGET_SECONDS = 2.0
# One proof may take so much of it.
PROOF_SECONDS = 0.5
MOST_SHOWN = 5
MOST_OF_KIND = 2
MOST_NODES = 48
AT_ONCE = 3
# What answers on the way may take after the budget.
GRACE_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class Proven:
    """A change with which the claim fits.

    Attributes:
        change: of the manifest; None where a claim would have to end.
        ending: (namespace, name) of that claim, else None.
        nodes: where it fits then.
        is_partial: not all nodes were asked, so that there may be more.
    """

    change: Change | None
    ending: tuple[str, str] | None
    nodes: tuple[str, ...]
    is_partial: bool = False
    place: int = 0

    @property
    def kind(self) -> tuple[int, str]:
        """What it changes, roughly: the kind of change and the ask."""
        if self.change is None:
            return Rank.ENDING, ""
        return self.change.rank, self.change.ask

    @property
    def rank(self) -> tuple[int, int]:
        """What changes are sorted by, the smallest first."""
        return (self.change.rank if self.change else Rank.ENDING), self.place


async def achanges(
    question: Question,
    preview: Preview,
    why: Why | None,
    *,
    own: frozenset[str] = frozenset(),
    budget: float = BUDGET_SECONDS,
) -> list[Proven]:
    """Return at most five proven changes, the smallest first.

    Args:
        question: the claim.
        preview: what the engine said of it; where it fits somewhere, nothing is tried.
        why: what was found out about it; without that, where a node ends in an
            error, what may fail is left out.
        own: namespaces of the reader, whose claims are tried first.
        budget: seconds for all of it.

    Raises:
        EngineUnavailable, EngineDeadline, EngineRefused: each says what to do.
    """
    if preview.fitting:
        return []
    ends = time.monotonic() + budget
    if why is None:
        return await _repaired(question, preview, ends)
    left = _most_left(why)
    prover = _Prover(question, _likely(why.asks), len(why.asks), ends)
    found = ladders(question.asked, why.sets, question.ground, left)
    tries = [prover.climbed(ladder, place) for place, ladder in enumerate(found)]
    tries += _ended(prover, why, own)
    return _chosen(await within(tries, ends))


async def aendings(
    question: Question,
    preview: Preview,
    why: Why | None,
    *,
    own: frozenset[str] = frozenset(),
) -> list[Proven]:
    """Return the claims of which each, by its end, would let this one fit.

    Those of `own` namespaces first, five at most; arguments and errors as for
    `achanges`.
    """
    if preview.fitting or why is None:
        return []
    ends = time.monotonic() + BUDGET_SECONDS
    prover = _Prover(question, _likely(why.asks), len(why.asks), ends)
    proven = await within(_ended(prover, why, own), ends)
    return sorted(proven, key=lambda each: each.rank)[:MOST_SHOWN]


def _ended(
    prover: _Prover, why: Why, own: frozenset[str]
) -> list[Coroutine[Any, Any, Proven | None]]:
    """Return a try for each claim whose end may help, those of `own` first."""
    every = (reason for reasons in why.asks.values() for reason in reasons)
    return [
        prover.ended(claim, place) for place, claim in enumerate(endings(every, own))
    ]


async def _repaired(question: Question, preview: Preview, ends: float) -> list[Proven]:
    """Return changes without which no node ends in an error, and one fits."""
    failing = sorted(
        name
        for name, node in preview.nodes.items()
        if node.outcome in (Outcome.ERROR, Outcome.NODE_ERROR)
    )
    if not failing:
        return []
    nodes = [*failing, *sorted(preview.nodes.keys() - set(failing))]
    prover = _Prover(question, nodes[:MOST_NODES], len(nodes), ends)
    found = repairs(question.asked, question.ground)
    tries = [prover.climbed(ladder, place) for place, ladder in enumerate(found)]
    return _chosen(await within(tries, ends))


def _most_left(why: Why) -> dict[str, int]:
    """Return the asks that are short somewhere, or all, and the most a node has left."""
    reasons = [reason for asks in why.asks.values() for reason in asks]
    short = {reason.name for reason in reasons if not reason.is_enough}
    most: dict[str, int] = {}
    for reason in reasons:
        if not short or reason.name in short:
            most[reason.name] = max(reason.left, most.get(reason.name, 0))
    return most


def _likely(by_node: dict[str, tuple[AskReason, ...]]) -> list[str]:
    """Return the nodes where a change is likeliest to help, not too many."""

    def devices(node: str) -> tuple[int, int]:
        reasons = by_node[node]
        left = sum(reason.left for reason in reasons)
        return -left, -sum(reason.of_class for reason in reasons)

    ordered = sorted(by_node, key=lambda node: (devices(node), node))
    return ordered[:MOST_NODES]


async def within(
    tries: Iterable[Coroutine[Any, Any, Result | None]], ends: float
) -> list[Result]:
    """Run the tries until the budget ends; what is not done by then is stopped.

    Args:
        tries: what fails with a PortalError counts as not done.
        ends: on the monotonic clock.
    """
    tasks = [asyncio.ensure_future(each) for each in tries]
    if not tasks:
        return []
    try:
        left = max(0.0, ends - time.monotonic()) + GRACE_SECONDS
        done, _pending = await asyncio.wait(tasks, timeout=left)
    finally:
        for task in tasks:
            task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return [proven for task in done if (proven := _result(task)) is not None]


def _result(task: asyncio.Future[Result | None]) -> Result | None:
    error = task.exception()
    if error is None:
        return task.result()
    if isinstance(error, PortalError):
        return None
    raise error


def _chosen(proven: list[Proven]) -> list[Proven]:
    """Return the smallest, with one claim that would have to end where one would do.

    Of one kind at one ask only two are kept, so that other kinds are seen.
    """
    ordered = sorted(proven, key=lambda each: each.rank)
    kept = [
        each
        for i, each in enumerate(ordered)
        if sum(each.kind == other.kind for other in ordered[:i]) < MOST_OF_KIND
    ][:MOST_SHOWN]
    waiting = next((each for each in ordered if each.ending), None)
    if waiting and waiting not in kept:
        kept[-1] = waiting
    return kept


class _Prover:
    """Asks the engine about changed claims and changed clusters, a few at a time."""

    def __init__(
        self, question: Question, nodes: list[str], total: int, ends: float
    ) -> None:
        self.question = question
        self.nodes = nodes
        self.is_partial = len(nodes) < total
        self.ends = ends
        self.turn = asyncio.Semaphore(AT_ONCE)

    async def climbed(self, ladder: Ladder, place: int) -> Proven | None:
        """Return the smallest rung with which the claim fits, or None.

        The smallest is tried first, then the greatest; between them it is halved.
        Where time ends, the smallest that was proven by then.
        """
        low, high = 0, len(ladder.rungs) - 1
        if best := await self._fits(ladder.rungs[0]):
            return Proven(ladder.rungs[0], None, best, self.is_partial, place)
        if not high or not (best := await self._fits(ladder.rungs[high])):
            return None
        low = 1
        while low < high:
            middle = (low + high) // 2
            found = await self._fits(ladder.rungs[middle])
            low, high, best = (
                (low, middle, found) if found else (middle + 1, high, best)
            )
        return Proven(ladder.rungs[high], None, best, self.is_partial, place)

    async def ended(self, claim: tuple[str, str], place: int) -> Proven | None:
        """Return whether the claim would fit if another one ended."""
        namespace, name = claim
        gone = Row("ResourceClaim", namespace, name, None)
        engine = self.question.engine()
        changed = engine.on([*engine.overlay, gone])
        nodes = await self._allocated(lambda: (changed, self.question.manifest))
        return Proven(None, claim, nodes, self.is_partial, place) if nodes else None

    async def _fits(self, change: Change) -> tuple[str, ...]:
        manifest = applied(self.question.manifest, change)
        return await self._allocated(lambda: (self.question.engine(), manifest))

    async def _allocated(
        self, asked: Callable[[], tuple[AsyncEngine, Json]]
    ) -> tuple[str, ...]:
        async with self.turn:
            left = min(PROOF_SECONDS, self.ends - time.monotonic())
            if left <= 0:
                return ()
            engine, manifest = asked()
            claim = defaulted_claim(claim_of(manifest))
            answer = await engine.allocate([claim], nodes=self.nodes, budget=left)
        return tuple(
            sorted(n for n, a in answer.nodes.items() if a.outcome.value == "fits")
        )

"""Why a claim fits not on a node: class and selectors from the engine, the rest from the world.

Sets of devices come from the engine's evaluation, part by part; holds, taints,
counters and capacity from the objects. Where every ask alone finds enough, the
engine is asked again without one constraint or one request at a time.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from claims.domain.checks.asks import asked_of
from claims.domain.checks.shape import shape_findings
from claims.domain.checks.world import expressions_of
from claims.domain.defaulting import defaulted_claim
from claims.domain.preview import claim_of
from claims.domain.why.changes import without_constraint, without_request
from claims.domain.why.conjuncts import conjuncts
from claims.domain.why.ground import Ground
from claims.domain.why.reasons import AskReason, AskSets, Part, ask_reason, eligible
from claims.services.checking import world_of
from inventory.domain.engine import Outcome
from inventory.services.engines import async_engine_for
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from claims.domain.checks.asks import Ask, Asked
    from claims.domain.preview import Preview
    from inventory.gateways.engine import AsyncEngine
    from inventory.models import Cluster

Json = dict[str, Any]

GROUNDS_KEPT = 2
MOST_NODES = 16
BLAME_SECONDS = 0.4


@dataclass(frozen=True, slots=True)
class Blame:
    """What keeps asks apart that would each fit alone.

    Attributes:
        path: of the constraint, or of the request without which the rest fits; ""
            where no single one is to blame.
        kind: "constraint", "request" or "together".
        name: the constraint's attribute, or the request.
    """

    kind: str
    path: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class NodeReason:
    """Why the claim does not fit on a node.

    Attributes:
        asks: one for each ask, in the claim's order.
        blame: where each request by itself finds enough.
    """

    asks: tuple[AskReason, ...]
    blame: Blame | None = None

    @property
    def key(self) -> tuple[Any, ...]:
        """What is equal for nodes that say the same."""
        return (tuple(ask.key for ask in self.asks), self.blame)

    def merged(self, other: NodeReason) -> NodeReason:
        """Return one reason for two nodes with one key."""
        pairs = zip(self.asks, other.asks, strict=True)
        return NodeReason(tuple(a.merged(b) for a, b in pairs), self.blame)


@dataclass(frozen=True, slots=True)
class Question:
    """A claim about which reasons and changes are asked.

    Attributes:
        manifest: a ResourceClaim or ResourceClaimTemplate in v1 shape.
        overlay: objects that stand over the cluster's own.
    """

    cluster: Cluster
    manifest: Json
    ground: Ground
    asked: Asked
    overlay: tuple[Json, ...] = ()

    def engine(self, *more: Json) -> AsyncEngine:
        """Return the engine asked about the cluster with the overlay laid over it."""
        return async_engine_for(self.cluster, overlay=(*self.overlay, *more))


_GROUNDS: OrderedDict[tuple[Any, ...], Ground] = OrderedDict()


def ground_of(cluster: Cluster, overlay: Sequence[Json] = ()) -> Ground:
    """Return the cluster's ground, kept in memory and carried from revision to revision."""
    if overlay:
        return Ground(world_of(cluster, overlay))
    world = world_of(cluster)
    key = (cluster.pk, cluster.created_at)
    found = _GROUNDS.get(key)
    if found is None or found.world is not world:
        found = Ground(world, found)
        _GROUNDS[key] = found
        _GROUNDS.move_to_end(key)
        while len(_GROUNDS) > GROUNDS_KEPT:
            _GROUNDS.popitem(last=False)
    return found


def question_of(
    cluster: Cluster, manifest: Json, overlay: Sequence[Json] = ()
) -> Question | None:
    """Return a claim ready to be explained; None where the API server refuses its shape."""
    if shape_findings(manifest):
        return None
    return Question(
        cluster=cluster,
        manifest=manifest,
        ground=ground_of(cluster, overlay),
        asked=asked_of(manifest),
        overlay=tuple(overlay),
    )


@dataclass(frozen=True, slots=True)
class Why:
    """What was found out about a claim that does not fit everywhere.

    Attributes:
        sets: what class and selectors leave for each ask.
        asks: of each node that says no, or nothing in time, every ask's reason.
    """

    sets: dict[str, AskSets]
    asks: dict[str, tuple[AskReason, ...]]


async def awhy(question: Question, preview: Preview) -> Why | None:
    """Return what keeps each ask from each node that does not fit.

    None where there is nothing to explain, or a selector is faulty.

    Raises:
        EngineUnavailable, EngineDeadline, EngineRefused: each says what to do.
    """
    refusing = unfitting(preview)
    if not refusing:
        return None
    sets = await asets(question)
    if sets is None:
        return None
    return await asyncio.to_thread(_why, question, sets, refusing)


def _why(question: Question, sets: dict[str, AskSets], nodes: list[str]) -> Why:
    return Why(sets, {node: _reasons_on(question, sets, node) for node in nodes})


async def aexplain(
    question: Question, preview: Preview, why: Why | None
) -> dict[str, NodeReason]:
    """Return why the claim does not fit, for every node that says no, or nothing in time.

    Of a node that is undecided it says what is short all the same. What cannot
    be asked in time is left out: no reason is better than a wrong one.

    Raises:
        EngineUnavailable, EngineDeadline, EngineRefused: each says what to do.
    """
    if why is None:
        return {}
    reasons = {node: NodeReason(asks) for node, asks in why.asks.items()}
    alone = [
        node
        for node in reasons
        if preview.nodes[node].outcome == Outcome.NO
        and _each_fits(question.asked, reasons[node])
    ]
    blames = await _ablames(question, alone)
    return reasons | {
        node: NodeReason(reasons[node].asks, blame) for node, blame in blames.items()
    }


async def achoices(
    question: Question, preview: Preview, nodes: Sequence[str]
) -> dict[str, dict[str, int]]:
    """Return node → ask → of how many devices it takes its own in no fixed order.

    What lies in one slice has an order everywhere; what lies in several has none
    where pools and slices come as they please. Asks that have no choice are left out.

    Raises:
        EngineUnavailable, EngineDeadline, EngineRefused: each says what to do.
    """
    if not preview.order_is_arbitrary or not nodes:
        return {}
    sets = await asets(question)
    if sets is None:
        return {}
    return await asyncio.to_thread(_choices, question, sets, nodes)


def _choices(
    question: Question, sets: Mapping[str, AskSets], nodes: Sequence[str]
) -> dict[str, dict[str, int]]:
    ground, asked = question.ground, question.asked
    found: dict[str, dict[str, int]] = {}
    for node in nodes:
        for ask in asked.asks:
            free = eligible(ask, asked, sets[ask.name], ground, node)
            slices = {ground.world.devices[device].slice_name for device in free}
            if not ask.is_all and len(slices) > 1 and len(free) > ask.count:
                found.setdefault(node, {})[ask.name] = len(free)
    return found


def unfitting(preview: Preview) -> list[str]:
    """Return the nodes that say no, and those that are undecided."""
    return [
        name
        for name, node in preview.nodes.items()
        if node.outcome in (Outcome.NO, Outcome.UNDECIDED)
    ]


def _reasons_on(
    question: Question, sets: Mapping[str, AskSets], node: str
) -> tuple[AskReason, ...]:
    """Return each ask's reason on one node."""
    return tuple(
        ask_reason(ask, question.asked, sets[ask.name], question.ground, node)
        for ask in question.asked.asks
    )


async def asets(question: Question) -> dict[str, AskSets] | None:
    """Return what class and selectors leave for each ask; None where one is faulty."""
    asks = question.asked.asks
    try:
        found = await asyncio.gather(*(_ask_sets(question, ask) for ask in asks))
    except PortalError as error:
        if error.code == "engine.refused":
            return None
        raise
    if any(sets is None for sets in found):
        return None
    return {ask.name: sets for ask, sets in zip(asks, found, strict=True) if sets}


async def _ask_sets(question: Question, ask: Ask) -> AskSets | None:
    known = question.ground.world.classes()
    if ask.class_name not in known:
        return AskSets()
    engine = question.engine()
    within = expressions_of(known[ask.class_name])
    pieces = [
        (number, path, text)
        for number, (path, expression) in enumerate(ask.selectors, start=1)
        for text in conjuncts(expression)
    ]
    texts = [text for _number, _path, text in pieces]
    checked = await engine.check(texts) if texts else []
    if not all(each.scheduler.ok for each in checked):
        return None
    answers = await asyncio.gather(
        engine.evaluate(within, listing=True),
        *(
            engine.evaluate(texts[: i + 1], within=within, listing=True)
            for i in range(len(texts))
        ),
    )
    devices = frozenset(question.ground.world.devices)
    parts = tuple(
        Part(
            number, path, text, _keys(check.reads), devices & frozenset(answer.matches)
        )
        for (number, path, text), check, answer in zip(
            pieces, checked, answers[1:], strict=True
        )
    )
    return AskSets(devices & frozenset(answers[0].matches), parts)


def _keys(reads: Iterable[Any]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(read.key for read in reads if read.key != "*"))


def _each_fits(asked: Asked, reason: NodeReason) -> bool:
    """Return whether every request, by itself, finds enough with some alternative."""
    enough = {ask.request for ask in reason.asks if ask.is_enough}
    return bool(enough) and enough == {name for name, _path, _asks in asked.requests}


async def _ablames(question: Question, nodes: list[str]) -> dict[str, Blame]:
    """Return which constraint or combination is to blame, node by node."""
    if not nodes:
        return {}
    some = nodes[:MOST_NODES]
    claim = claim_of(question.manifest)
    tried = [
        (Blame("constraint", path, _attribute(body)), without_constraint(claim, i))
        for i, (path, body) in enumerate(question.asked.constraints)
    ] + [
        (Blame("request", path, name), without_request(claim, i))
        for i, (name, path, _asks) in enumerate(question.asked.requests)
        if len(question.asked.requests) > 1
    ]
    fitting = await asyncio.gather(
        *(_afitting(question, changed, some) for _blame, changed in tried)
    )
    found = dict.fromkeys(nodes, Blame("together"))
    for (blame, _changed), where in reversed(list(zip(tried, fitting, strict=True))):
        found |= dict.fromkeys(where, blame)
    return found


async def _afitting(question: Question, claim: Json, nodes: list[str]) -> list[str]:
    engine = question.engine()
    answer = await engine.allocate(
        [defaulted_claim(claim)], nodes=nodes, budget=BLAME_SECONDS
    )
    return [n for n, a in answer.nodes.items() if a.outcome.value == "fits"]


def _attribute(constraint: Json) -> str:
    return str(constraint.get("matchAttribute") or constraint.get("distinctAttribute"))

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
from claims.domain.defaulting import defaulted_claim
from claims.domain.preview import claim_of
from claims.domain.why.changes import without_constraint, without_request
from claims.domain.why.ground import Ground
from claims.domain.why.reasons import AskReason, AskSets, Scale
from claims.services.checking import world_of
from claims.services.tracing import asets
from inventory.domain.engine import Outcome
from inventory.services.engines import async_engine_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from claims.domain.checks.asks import Asked
    from claims.domain.preview import Preview
    from inventory.gateways.engine import AsyncEngine
    from inventory.models import Cluster

Json = dict[str, Any]

GROUNDS_KEPT = 2
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
        return Ground(world_of(cluster, overlay), ground_of(cluster))
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
        asks: of each node that says no, or nothing in time, every ask's reason; one
            tuple for all nodes that share them.
    """

    sets: dict[str, AskSets]
    asks: dict[str, tuple[AskReason, ...]]


async def awhy(
    question: Question, preview: Preview, *, bare: bool = False
) -> Why | None:
    """Return what keeps each ask from each node that does not fit.

    None where there is nothing to explain, or a selector is faulty.

    Args:
        question: the claim.
        preview: what the engine said of it.
        bare: causes and numbers alone, of those nodes' own devices: sooner for many.

    Raises:
        EngineUnavailable, EngineDeadline, EngineRefused: each says what to do.
    """
    refusing = unfitting(preview)
    if not refusing:
        return None
    sets = await _asets(question, refusing if bare else None)
    if sets is None:
        return None
    return await asyncio.to_thread(_why, question, sets, refusing, bare=bare)


def _why(
    question: Question, sets: dict[str, AskSets], nodes: list[str], *, bare: bool
) -> Why:
    weigh = [
        scale.bare_reason if bare else scale.reason for scale in _scales(question, sets)
    ]
    kept: dict[tuple[int, ...], tuple[AskReason, ...]] = {}
    asks = {}
    for node in nodes:
        found = tuple([reason(node) for reason in weigh])
        asks[node] = kept.setdefault(tuple(map(id, found)), found)
    return Why(sets, asks)


def _scales(question: Question, sets: Mapping[str, AskSets]) -> list[Scale]:
    """Return each ask of the claim, ready to be weighed on nodes."""
    asked, ground = question.asked, question.ground
    return [Scale(ask, asked, sets[ask.name], ground) for ask in asked.asks]


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
    blames = await _ablames(question, _apart(question.asked, preview, why))
    return {node: NodeReason(asks, blames.get(node)) for node, asks in why.asks.items()}


async def _asets(
    question: Question, nodes: Sequence[str] | None = None
) -> dict[str, AskSets] | None:
    return await asets(question.engine(), question.asked, question.ground, nodes)


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
    sets = await _asets(question)
    if sets is None:
        return {}
    return await asyncio.to_thread(_choices, question, sets, nodes)


def _choices(
    question: Question, sets: Mapping[str, AskSets], nodes: Sequence[str]
) -> dict[str, dict[str, int]]:
    devices = question.ground.world.devices
    scales = [each for each in _scales(question, sets) if not each.ask.is_all]
    found: dict[str, dict[str, int]] = {}
    for node in nodes:
        for scale in scales:
            free = scale.eligible(node)
            slices = {devices[device].slice_name for device in free}
            if len(slices) > 1 and len(free) > scale.ask.count:
                found.setdefault(node, {})[scale.ask.name] = len(free)
    return found


def unfitting(preview: Preview) -> list[str]:
    """Return the nodes that say no, and those that are undecided."""
    return [
        name
        for name, node in preview.nodes.items()
        if node.outcome in (Outcome.NO, Outcome.UNDECIDED)
    ]


def _apart(asked: Asked, preview: Preview, why: Why) -> dict[str, frozenset[str]]:
    """Return nodes that say no though every request, by itself, finds enough there.

    With the asks that do: of each request, some alternative.
    """
    known: dict[int, frozenset[str]] = {}
    found = {}
    for node, asks in why.asks.items():
        if preview.nodes[node].outcome != Outcome.NO:
            continue
        if id(asks) not in known:
            known[id(asks)] = _enough(asked, asks)
        if known[id(asks)]:
            found[node] = known[id(asks)]
    return found


def _enough(asked: Asked, asks: Iterable[AskReason]) -> frozenset[str]:
    """Return the asks that find enough; none where some request does not."""
    enough = [ask for ask in asks if ask.is_enough]
    requests = {name for name, _path, _asks in asked.requests}
    if {ask.request for ask in enough} != requests:
        return frozenset()
    return frozenset(ask.name for ask in enough)


async def _ablames(
    question: Question, may: Mapping[str, frozenset[str]]
) -> dict[str, Blame]:
    """Return which constraint or combination is to blame, node by node.

    A node of which the engine does not say it in time is left out.

    Args:
        question: the claim.
        may: node → asks that find enough there by themselves.
    """
    tried = list(_suspects(question, may))
    engine = question.engine()
    answers = await asyncio.gather(
        *(
            engine.outcomes([defaulted_claim(claim)], nodes=nodes, budget=BLAME_SECONDS)
            for _blame, claim, nodes in tried
        )
    )
    to_blame: dict[str, Blame] = {}
    unknown: set[str] = set()
    for (blame, _claim, _nodes), outcomes in zip(tried, answers, strict=True):
        for node, outcome in outcomes.items():
            if outcome == Outcome.FITS:
                to_blame.setdefault(node, blame)
            elif outcome != Outcome.NO:
                unknown.add(node)
    return {
        node: to_blame.get(node, Blame("together"))
        for node in may
        if node in to_blame or node not in unknown
    }


def _suspects(
    question: Question, may: Mapping[str, frozenset[str]]
) -> Iterator[tuple[Blame, Json, list[str]]]:
    """Yield what may be to blame, the claim without it, and the nodes to ask about that.

    A constraint that binds only what finds too little by itself is not to blame.
    """
    claim, asked = claim_of(question.manifest), question.asked
    for i, (path, body) in enumerate(asked.constraints):
        bound = {ask.name for ask in asked.bound(body)}
        nodes = [node for node, asks in may.items() if not bound.isdisjoint(asks)]
        if nodes:
            blame = Blame("constraint", path, _attribute(body))
            yield blame, without_constraint(claim, i), nodes
    if len(asked.requests) > 1 and may:
        for i, (name, path, _asks) in enumerate(asked.requests):
            yield Blame("request", path, name), without_request(claim, i), [*may]


def _attribute(constraint: Json) -> str:
    return str(constraint.get("matchAttribute") or constraint.get("distinctAttribute"))

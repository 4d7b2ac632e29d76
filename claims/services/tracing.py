"""Which devices class and selectors leave for each ask of a claim, condition by condition.

Kubernetes' own CEL says it: one question to the engine for all of the claim.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from claims.domain.checks.world import expressions_of
from claims.domain.why.conjuncts import conjuncts
from claims.domain.why.reasons import AskSets, Part
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from claims.domain.checks.asks import Ask, Asked
    from claims.domain.why.ground import Ground
    from inventory.domain.engine import Read, Traced
    from inventory.gateways.engine import AsyncEngine

_Piece = tuple[int, str, str]  # number of the selector, its path, one condition


async def asets(
    engine: AsyncEngine,
    asked: Asked,
    ground: Ground,
    nodes: Sequence[str] | None = None,
) -> dict[str, AskSets] | None:
    """Return what class and selectors leave for each ask; None where one is faulty.

    Args:
        engine: on the cluster, with what is laid over it.
        asked: the claim.
        ground: the same cluster.
        nodes: names; devices of other nodes are left out. None for all.

    Raises:
        EngineUnavailable, EngineDeadline, EngineRefused: each says what to do.
    """
    classes = ground.world.classes()
    known = [ask for ask in asked.asks if ask.class_name in classes]
    pieces = [_pieces(ask) for ask in known]
    selectors = [
        (expressions_of(classes[ask.class_name]), [text for _, _, text in mine])
        for ask, mine in zip(known, pieces, strict=True)
    ]
    try:
        traces = await engine.trace(selectors, nodes=nodes) if selectors else []
    except PortalError as error:
        if error.code == "engine.refused":
            return None
        raise
    if any(trace.stopped is None for trace in traces):
        return None
    found = {
        ask.name: _sets(mine, trace, ground.world.devices)
        for ask, mine, trace in zip(known, pieces, traces, strict=True)
    }
    return {ask.name: found.get(ask.name, AskSets()) for ask in asked.asks}


def _pieces(ask: Ask) -> list[_Piece]:
    """Return the parts of an ask's selectors that must hold, in their order."""
    return [
        (number, path, text)
        for number, (path, expression) in enumerate(ask.selectors, start=1)
        for text in conjuncts(expression)
    ]


def _sets(
    pieces: list[_Piece], trace: Traced, devices: Mapping[str, object]
) -> AskSets:
    """Return what is left after each part, of the devices that the world knows."""
    stopped = trace.stopped or ()
    left = {each for ids in stopped for each in ids if each in devices}
    of_class, parts = frozenset(left), []
    for (number, path, text), reads, ids in zip(
        pieces, trace.reads, stopped[:-1], strict=True
    ):
        left.difference_update(ids)
        parts.append(Part(number, path, text, _keys(reads), frozenset(left)))
    return AskSets(of_class, tuple(parts))


def _keys(reads: Iterable[Read]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(read.key for read in reads if read.key != "*"))

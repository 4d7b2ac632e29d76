"""What a claim costs the scheduler, with costs from the engine, estimated and measured."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from claims.domain.checks.world import expressions_of
from claims.domain.why.cost import (
    ClaimCost,
    Repeated,
    SelectorCost,
    class_for,
    name_for,
    repeated,
)
from claims.services.composing import classes_of
from inventory.models import KubeObject
from inventory.services.engines import async_engine_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claims.services.explaining import Question
    from inventory.gateways.engine import AsyncEngine
    from inventory.models import Cluster

Json = dict[str, Any]


async def acost(question: Question) -> ClaimCost:
    """Return what the scheduler pays at most for one attempt of a pod with this claim.

    Every device of the cluster is asked by the class; what the class leaves is
    asked by each selector in turn.

    Raises:
        EngineUnavailable, EngineDeadline, EngineRefused: each says what to do.
    """
    world = question.ground.world
    known = world.classes()
    engine = async_engine_for(question.cluster, overlay=question.overlay)
    chains: dict[tuple[str, bool], tuple[list[str], list[str]]] = {}
    for ask in question.asked.asks:
        of_class = expressions_of(known.get(ask.class_name, {}))
        chains[ask.class_name, True] = ([], of_class)
        chains[ask.name, False] = (of_class, [text for _path, text in ask.selectors])
    costs = await asyncio.gather(
        *(
            _achain(engine, owner, is_class, within, texts)
            for (owner, is_class), (within, texts) in chains.items()
        )
    )
    return ClaimCost(
        slices=sum(pool.seen_slice_count for pool in world.pools),
        devices=len(world.devices),
        selectors=tuple(each for chain in costs for each in chain),
    )


async def _achain(
    engine: AsyncEngine,
    owner: str,
    is_class: bool,  # noqa: FBT001 - a part of the key
    within: Sequence[str],
    texts: Sequence[str],
) -> list[SelectorCost]:
    """Return the selectors of one owner, each over what those before it leave."""
    if not texts:
        return []
    checked = await engine.check(texts)
    found = []
    for number, (text, check) in enumerate(zip(texts, checked, strict=True), start=1):
        if not check.scheduler.ok:
            break
        before = [*within, *texts[: number - 1]]
        # Whatever stands in `within` is evaluated too, so alone it is timed.
        left, timed = await asyncio.gather(
            engine.evaluate([text], within=before),
            engine.evaluate([text], measuring=True),
        )
        micros = timed.micros / timed.looks if timed.looks else None
        devices = left.total or 0
        found.append(
            SelectorCost(owner, number, is_class, text, devices, check.cost, micros)
        )
    return found


def repeated_selectors(cluster: Cluster) -> list[tuple[Repeated, Json]]:
    """Return selectors in three templates or more, each with a DeviceClass for it."""
    rows = KubeObject.objects.filter(
        cluster=cluster, kind="ResourceClaimTemplate", deleted_at=None
    ).values_list("body", flat=True)
    classes = classes_of(cluster)
    bodies = ({**body, "kind": "ResourceClaimTemplate"} for body in rows.iterator())
    return [
        (each, class_for(each, classes.get(each.classes[0], ()), name_for(each)))
        for each in repeated(bodies)
    ]

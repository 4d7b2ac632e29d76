"""Ask the engine what the scheduler would do with claims.

The joint search's answer is the outcome. Alternatives are asked one by one as
well, each as if it were the only one: that is what people compare.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from django.conf import settings

from claims.domain.defaulting import defaulted_claim
from claims.domain.preview import (
    AlternativePreview,
    NodePreview,
    Preview,
    only_alternative,
)
from inventory.services.engines import async_engine_for, engine_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from inventory.domain.engine import Allocated
    from inventory.gateways.engine import AsyncEngine
    from inventory.models import Cluster

Json = dict[str, Any]

# An alternative is asked for at least this long, however long others took.
LEAST_SECONDS = 0.2


def preview(
    cluster: Cluster,
    claims: Sequence[Json],
    *,
    overlay: Iterable[Json] = (),
    budget: float | None = None,
) -> Preview:
    """Return where the claims of one pod would fit, node by node.

    Args:
        cluster: as it now is in the database.
        claims: ResourceClaims in v1 shape; what the API server would fill in may lack.
        overlay: objects that stand over the cluster's own.
        budget: seconds; the setting where None.

    Raises:
        EngineUnavailable, EngineDeadline, EngineRefused: each says what to do.
    """
    engine = engine_for(cluster, overlay=overlay)
    stored = [defaulted_claim(claim) for claim in claims]
    return _preview(engine.allocate(stored, budget=_budget(budget)))


async def apreview(
    cluster: Cluster,
    claims: Sequence[Json],
    *,
    overlay: Iterable[Json] = (),
    budget: float | None = None,
) -> Preview:
    """Return the same as `preview`; cancelling it stops the search."""
    engine = async_engine_for(cluster, overlay=overlay)
    return await apreview_on(engine, claims, budget=budget)


async def apreview_on(
    engine: AsyncEngine, claims: Sequence[Json], *, budget: float | None = None
) -> Preview:
    """Return the preview by an engine that has its overlay already."""
    stored = [defaulted_claim(claim) for claim in claims]
    return _preview(await engine.allocate(stored, budget=_budget(budget)))


async def apreview_alternatives(
    cluster: Cluster, claim: Json, *, budget: float | None = None
) -> list[AlternativePreview]:
    """Return each alternative of a claim as if it were the only one in its list.

    All of them share one budget. Requests without a list give none.
    """
    engine = async_engine_for(cluster)
    ends = time.monotonic() + _budget(budget)
    answers = []
    for request in (claim["spec"].get("devices") or {}).get("requests") or []:
        for sub in request.get("firstAvailable") or []:
            stored = defaulted_claim(claim)
            changed = only_alternative(stored, request["name"], sub["name"])
            left = max(LEAST_SECONDS, ends - time.monotonic())
            found = _preview(await engine.allocate([changed], budget=left))
            answers.append(AlternativePreview(request["name"], sub["name"], found))
    return answers


def budget_until(ends: float) -> float:
    """Return the seconds of a search that is one of many, all to be done by a moment.

    Args:
        ends: on the monotonic clock; a search that comes later gets the least.
    """
    return max(LEAST_SECONDS, min(_budget(None), ends - time.monotonic()))


def _budget(budget: float | None) -> float:
    return settings.SLICEWISE_PREVIEW_BUDGET_SECONDS if budget is None else budget


def _preview(answer: Allocated) -> Preview:
    return Preview(
        revision=answer.revision,
        engine=answer.engine.document(),
        nodes={
            name: NodePreview(
                node.outcome, node.message, node.results, node.score, node.crash
            )
            for name, node in answer.nodes.items()
        },
        alone={
            (alone.claim, alone.request): {
                name: node.outcome for name, node in alone.nodes.items()
            }
            for alone in answer.alone
        },
        micros=answer.micros,
    )

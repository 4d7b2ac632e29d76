"""Whether a claim fits now, by the preview, in the little time that admission has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import structlog

from claims.domain.preview import only_alternative
from claims.services.preview import preview
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from inventory.models import Cluster
    from portal.admission.domain.fallback import Changed

Json = dict[str, Any]

BUDGET_SECONDS = 0.3

logger = structlog.get_logger(__name__)


def fits(cluster: Cluster, claim: Json) -> bool | None:
    """Return whether a claim fits on some node now; None where nobody can say."""
    try:
        found = preview(cluster, [_named(claim)], budget=BUDGET_SECONDS)
    except PortalError as error:
        logger.warning("no preview for admission", code=error.code)
        return None
    if found.fitting:
        return True
    undecided = any(n.outcome.value == "undecided" for n in found.nodes.values())
    return None if undecided or not found.nodes else False


def falls_back_well(cluster: Cluster, changed: Changed) -> bool:
    """Return whether a changed claim fits by its fallbacks alone.

    Where a fallback has several alternatives, one of them is enough.
    """
    first: dict[str, list[str]] = {}
    for request, name in changed.pairs:
        first.setdefault(request, []).append(name)
    deepest = max(map(len, first.values()))
    for index in range(deepest):
        claim = changed.body
        for request, names in first.items():
            chosen = names[min(index, len(names) - 1)]
            claim = only_alternative(claim, request, chosen)
        if fits(cluster, claim):
            return True
    return False


def _named(claim: Json) -> Json:
    metadata = claim.get("metadata") or {}
    name = metadata.get("name") or metadata.get("generateName") or "unnamed"
    return {**claim, "metadata": {**metadata, "name": str(name).strip("-")}}

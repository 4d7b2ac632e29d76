"""The first cause on every node that says no, as a value: for scripts, in bulk.

The same causes as in the explanation's sentences, without proven changes, copies
and cost, so that it takes no longer than the preview itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claims.domain.why.reasons import Cause
from claims.services.explaining import aexplain, awhy
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from claims.domain.preview import Preview
    from claims.domain.why.reasons import AskReason
    from claims.services.explaining import Blame, NodeReason, Question

Json = dict[str, Any]


async def acauses(question: Question | None, preview: Preview) -> dict[str, list[Json]]:
    """Return node → why each alternative finds too little there, as JSON.

    Nodes on which it fits are left out, and those whose cause is not known: a selector
    fails, or the engine does not say in time what keeps requests apart.
    """
    if question is None:
        return {}
    try:
        why = await awhy(question, preview, bare=True)
        reasons = await aexplain(question, preview, why)
    except PortalError:
        return {}
    alike: dict[tuple[int, Blame | None], list[Json]] = {}
    found = {}
    for node, reason in reasons.items():
        key = (id(reason.asks), reason.blame)
        if key not in alike:
            alike[key] = causes_document(reason)
        if alike[key]:
            found[node] = alike[key]
    return found


def causes_document(reason: NodeReason) -> list[Json]:
    """Return a node's first causes as JSON, one of each request or alternative.

    Empty where each request alone finds enough, and what keeps them apart is not known.
    """
    found = [_cause(ask) for ask in reason.asks if not ask.is_enough]
    return [*found, _together(reason.blame)] if reason.blame else found


def _cause(ask: AskReason) -> Json:
    loss = ask.first
    cause = loss.cause if loss and ask.known_class else Cause.CLASS
    return {
        "request": ask.name,
        "cause": cause.value,
        "detail": loss.detail if loss else ask.device_class,
        "devices": loss.count if loss else ask.reachable,
        "reachable": ask.reachable,
        "ofClass": ask.of_class,
        "left": ask.left,
        "wanted": None if ask.is_all else ask.wanted,
    }


def _together(blame: Blame) -> Json:
    """Return what keeps apart requests that would each fit alone."""
    return {
        "request": blame.name if blame.kind == "request" else None,
        "cause": blame.kind,
        "detail": blame.name,
        "devices": None,
        "reachable": None,
        "ofClass": None,
        "left": None,
        "wanted": None,
    }


def with_causes(document: Json, causes: Mapping[str, list[Json]] | None) -> Json:
    """Return a preview's document with the first causes in its nodes.

    Args:
        document: of one preview.
        causes: None where they were not asked for; then every node's are null.
    """
    nodes = {
        name: {**node, "causes": _of_node(name, node, causes)}
        for name, node in document["nodes"].items()
    }
    return {**document, "nodes": nodes}


def _of_node(
    name: str, node: Json, causes: Mapping[str, list[Json]] | None
) -> list[Json] | None:
    if causes is None:
        return None
    return [] if node["outcome"] == "fits" else causes.get(name)

"""What the preview said beside what the scheduler did, as values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from claims.domain.preview import NodePreview, Preview
from inventory.domain.engine import Outcome
from tests.cluster.client import Object

FITS, NO, ERROR, UNDECIDED = "fits", "no", "error", "undecided"


@dataclass(frozen=True, slots=True)
class Happened:
    """What became of a pod.

    Attributes:
        outcome: fits, no or error.
        message: the scheduler's own words where it does not fit.
        node: where it went, "" where it went nowhere.
        allocations: an AllocationResult a claim, in the pod's order.
        is_crash: the scheduler itself ended.
    """

    outcome: str
    message: str = ""
    node: str = ""
    allocations: list[Object] = field(default_factory=list)
    is_crash: bool = False


def expected(preview: Preview, nodes: Iterable[str]) -> str:
    """Return what the preview says of a pod that may go to these nodes."""
    outcomes = {preview.nodes[node].outcome for node in nodes}
    for outcome in (Outcome.ERROR, Outcome.UNDECIDED, Outcome.FITS):
        if outcome in outcomes:
            return outcome.value
    return NO


def disagreement(preview: Preview, nodes: list[str], happened: Happened) -> str:
    """Return how the two differ, "" where they agree.

    A crash must have been told of; one that was told of hangs on the order of pools.
    """
    said = expected(preview, nodes)
    is_told = any(preview.nodes[node].crash for node in nodes)
    if said != happened.outcome or happened.is_crash:
        it_was = f"{said} was said, and it was {happened.outcome}: {happened.message}"
        return "" if happened.is_crash and is_told else it_was
    if said != FITS:
        return ""
    node = preview.nodes[happened.node]
    if node.outcome != Outcome.FITS:
        return f"it went to {happened.node}, of which {node.outcome} was said"
    if better := _better(preview, nodes, happened.node):
        return f"it went to {happened.node}, and {better} has a higher score"
    return _other_devices(node, happened, exact=not preview.order_is_arbitrary)


def _better(preview: Preview, nodes: list[str], chosen: str) -> str:
    """Return a fitting node of a higher score; "" where scores are unknown."""
    score = preview.nodes[chosen].score
    fitting = [n for n in nodes if preview.nodes[n].outcome == Outcome.FITS]
    scores = {node: preview.nodes[node].score for node in fitting}
    return next(
        (n for n, s in scores.items() if s and score is not None and s > score), ""
    )


def _other_devices(node: NodePreview, happened: Happened, *, exact: bool) -> str:
    """Return how the allocations differ: in all, or in the alternatives alone."""
    for number, (said, got) in enumerate(
        zip(node.results or [], happened.allocations, strict=True)
    ):
        if exact and _plain(said) != _plain(got):
            return f"claim {number} was to get {_plain(said)} and got {_plain(got)}"
        if _requests(said) != _requests(got):
            return f"claim {number}: {_requests(said)} was said, {_requests(got)} came"
    return ""


def _results(allocation: Object) -> list[Object]:
    return list((allocation.get("devices") or {}).get("results") or [])


def _requests(allocation: Object) -> list[str]:
    return [each["request"] for each in _results(allocation)]


def _plain(allocation: Object) -> Object:
    """Return an allocation without what is random in it: share ids and the time."""
    results = [
        {key: value for key, value in each.items() if key != "shareID"}
        for each in _results(allocation)
    ]
    return {
        "results": results,
        "config": (allocation.get("devices") or {}).get("config") or [],
        "nodeSelector": allocation.get("nodeSelector"),
    }

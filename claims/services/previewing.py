"""A preview made ready to be read: rows, marks and reasons for every node.

The outcome is the engine's alone. Beside it stand what it does not weigh: marks
of the nodes, how many devices each alternative's class and selectors leave on a
node, and how many copies would fit.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from asgiref.sync import sync_to_async
from django.utils.translation import gettext as _

from claims.domain.preview import Outcome, claim_of
from claims.services.composing import classes_of
from claims.services.preview import apreview, apreview_alternatives
from inventory.models import KubeObject
from inventory.services.engines import async_engine_for
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from claims.domain.preview import AlternativePreview, NodePreview, Preview
    from inventory.domain.engine import Copies
    from inventory.models import Cluster

Json = dict[str, Any]
Classes = dict[str, tuple[str, ...]]

SHOWN_NODES = 25
SHOWN_ALIKE = 6
MOST_COPIES = 64
COPIES_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Device:
    """A device, or a share of one, that the claim would get."""

    name: str
    pool: str
    consumed: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Taken:
    """What one request gets on a node; `number` of its alternative, 0 for none."""

    request: str
    alternative: str
    number: int
    devices: tuple[Device, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """Nodes with one answer: one that fits, or all that say the same no."""

    outcome: str
    nodes: tuple[tuple[str, tuple[str, ...]], ...]  # (name, marks)
    more: int
    message: str
    taken: tuple[Taken, ...] = ()
    score: int | None = None
    copies: Copies | None = None
    funnel: tuple[Stage, ...] = ()


@dataclass(frozen=True, slots=True)
class Stage:
    """What is left of one alternative's devices on a node."""

    label: str
    device_class: str
    total: int
    match: int
    error: int


@dataclass(frozen=True, slots=True)
class AlternativeRow:
    """One alternative as if it were the only one of its list."""

    label: str
    number: int
    fitting: tuple[str, ...]
    undecided: int
    total: int
    error: str


@dataclass(frozen=True, slots=True)
class Shown:
    """A preview as a page shows it.

    Attributes:
        pod_error: what ends scheduling on every node, said once; "".
        best: the nodes that score highest where scores differ.
    """

    preview: Preview
    fitting: int
    undecided: int
    total: int
    pod_error: str
    rows: tuple[Row, ...]
    alternatives: tuple[AlternativeRow, ...]
    best: tuple[str, ...]
    best_score: int | None
    next_score: int | None
    has_scores: bool
    has_copies: bool


async def ashow(cluster: Cluster, manifest: Json) -> Shown:
    """Preview a claim or template and put the answer in order.

    Raises:
        EngineUnavailable, EngineDeadline, EngineRefused: each says what to do.
    """
    claim = claim_of(manifest)
    preview = await apreview(cluster, [claim])
    alternatives: list[AlternativePreview] = []
    if not preview.pod_error:
        alternatives = await apreview_alternatives(cluster, claim)
    copies = await _acopies(cluster, claim, preview)
    marks, classes = await sync_to_async(_known)(cluster)
    stages = await _astages(cluster, claim, classes) if not preview.pod_error else {}
    rows = tuple(_rows(preview, claim, marks, copies, stages))
    scores = sorted(
        {n.score for n in preview.nodes.values() if n.score is not None}, reverse=True
    )
    unequal = len(scores) > 1
    best = [
        name
        for name in preview.fitting
        if unequal and preview.nodes[name].score == scores[0]
    ]
    return Shown(
        preview=preview,
        fitting=len(preview.fitting),
        undecided=sum(n.outcome == Outcome.UNDECIDED for n in preview.nodes.values()),
        total=len(preview.nodes),
        pod_error=preview.pod_error,
        rows=rows,
        alternatives=tuple(_alternatives(alternatives)),
        best=tuple(best),
        best_score=scores[0] if unequal else None,
        next_score=scores[1] if unequal else None,
        has_scores=bool(scores) and any(_is_list(r) for r in _requests(claim)),
        has_copies=bool(copies),
    )


def _requests(claim: Json) -> list[Json]:
    devices = (claim.get("spec") or {}).get("devices") or {}
    return list(devices.get("requests") or [])


def _is_list(request: Json) -> bool:
    return bool(request.get("firstAvailable"))


async def _acopies(
    cluster: Cluster, claim: Json, preview: Preview
) -> dict[str, Copies]:
    """Count copies on the nodes that are shown; none where the count fails."""
    nodes = preview.fitting[:SHOWN_NODES]
    if not nodes:
        return {}
    try:
        counted = await async_engine_for(cluster).copies(
            [claim], nodes=nodes, most=MOST_COPIES, budget=COPIES_SECONDS
        )
    except PortalError:
        return {}
    return counted.nodes


def _known(cluster: Cluster) -> tuple[dict[str, tuple[str, ...]], Classes]:
    """Return the marks of nodes that have any, and the cluster's classes."""
    nodes = KubeObject.objects.filter(cluster=cluster, kind="Node", deleted_at=None)
    marks = {}
    for name, spec, status in nodes.values_list("name", "body__spec", "body__status"):
        if found := tuple(_marks(spec or {}, status or {})):
            marks[name] = found
    return marks, classes_of(cluster)


def _marks(spec: Json, status: Json) -> Iterator[str]:
    if spec.get("unschedulable"):
        yield _("cordoned")
    for condition in status.get("conditions") or []:
        if condition.get("type") == "Ready" and condition.get("status") != "True":
            yield _("not ready")
    for taint in spec.get("taints") or []:
        key, effect = str(taint.get("key")), str(taint.get("effect"))
        if effect != "PreferNoSchedule" and not key.startswith("node.kubernetes.io/"):
            yield _("tainted %(taint)s") % {"taint": f"{key}:{effect}"}


async def _astages(
    cluster: Cluster, claim: Json, classes: Classes
) -> dict[str, list[Stage]]:
    """Return, node by node, what class and selectors leave for each alternative."""
    engine = async_engine_for(cluster)
    found: dict[str, list[Stage]] = defaultdict(list)
    for label, asked in _asked(claim):
        owner = str(asked.get("deviceClassName"))
        expressions = [s["cel"]["expression"] for s in asked.get("selectors") or []]
        try:
            answer = await engine.evaluate(
                expressions or ["true"], within=classes.get(owner, ())
            )
        except PortalError:
            continue
        for node, tally in answer.nodes.items():
            total = tally.match + tally.no_match + tally.error
            found[node].append(Stage(label, owner, total, tally.match, tally.error))
    return found


def _asked(claim: Json) -> Iterator[tuple[str, Json]]:
    """Yield every thing that is asked for, with what to call it."""
    for request in _requests(claim):
        for sub in request.get("firstAvailable") or []:
            yield f"{request['name']}/{sub['name']}", sub
        if request.get("exactly"):
            yield request["name"], request["exactly"]


def _rows(
    preview: Preview,
    claim: Json,
    marks: Mapping[str, tuple[str, ...]],
    copies: Mapping[str, Copies],
    stages: Mapping[str, list[Stage]],
) -> Iterator[Row]:
    """Yield nodes that fit one by one, then the others by what they say."""
    numbers = _numbers(claim)
    for name in _by_score(preview)[:SHOWN_NODES]:
        node = preview.nodes[name]
        yield Row(
            outcome=node.outcome.value,
            nodes=((name, marks.get(name, ())),),
            more=0,
            message="",
            taken=tuple(_taken(node, numbers)),
            score=node.score,
            copies=copies.get(name),
        )
    groups: dict[tuple[str, str, tuple[Stage, ...]], list[str]] = defaultdict(list)
    for name, node in sorted(preview.nodes.items()):
        if node.outcome not in (Outcome.FITS, Outcome.ERROR):
            funnel = tuple(stages.get(name, ())) if node.outcome == Outcome.NO else ()
            groups[node.outcome.value, node.message, funnel].append(name)
    for (outcome, message, funnel), names in groups.items():
        yield Row(
            outcome=outcome,
            nodes=tuple((name, marks.get(name, ())) for name in names[:SHOWN_ALIKE]),
            more=max(0, len(names) - SHOWN_ALIKE),
            message=message,
            funnel=funnel,
        )


def _by_score(preview: Preview) -> list[str]:
    return sorted(
        preview.fitting, key=lambda name: (-(preview.nodes[name].score or 0), name)
    )


def _numbers(claim: Json) -> dict[str, int]:
    """Return "request/subrequest" → place in its list, from 1."""
    return {
        f"{request['name']}/{sub['name']}": at
        for request in _requests(claim)
        for at, sub in enumerate(request.get("firstAvailable") or [], 1)
    }


def _taken(node: NodePreview, numbers: Mapping[str, int]) -> Iterator[Taken]:
    by_request: dict[str, list[Device]] = defaultdict(list)
    for result in node.device_results():
        consumed = result.get("consumedCapacity") or {}
        device = Device(
            name=str(result.get("device")),
            pool=str(result.get("pool")),
            consumed=tuple(
                sorted((key, str(value)) for key, value in consumed.items())
            ),
        )
        by_request[str(result.get("request"))].append(device)
    for name, devices in by_request.items():
        request, _slash, alternative = name.partition("/")
        yield Taken(request, alternative, numbers.get(name, 0), tuple(devices))


def _alternatives(previews: list[AlternativePreview]) -> Iterator[AlternativeRow]:
    counts: dict[str, int] = defaultdict(int)
    for each in previews:
        counts[each.request] += 1
        nodes = each.preview.nodes.values()
        yield AlternativeRow(
            label=f"{each.request}/{each.subrequest}",
            number=counts[each.request],
            fitting=tuple(each.preview.fitting),
            undecided=sum(node.outcome == Outcome.UNDECIDED for node in nodes),
            total=len(nodes),
            error=each.preview.pod_error,
        )

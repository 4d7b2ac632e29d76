"""A preview made ready to be read: rows, marks and reasons for every node.

The outcome is the engine's alone. Beside it stand what it does not weigh: marks
of the nodes, why each alternative finds too little, what would have to change,
and how many copies would fit.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from asgiref.sync import sync_to_async
from django.utils.translation import gettext as _

from claims.domain.preview import claim_of
from claims.services.change_sentences import change_sentence, where_sentence
from claims.services.copies import acopies, merged, reasons_of
from claims.services.costing import acost
from claims.services.counterfactual import achanges
from claims.services.diagnosing import hidden_from
from claims.services.explaining import achoices, aexplain, awhy, question_of
from claims.services.preview import apreview, apreview_alternatives
from claims.services.shown import (
    AlternativeRow,
    Device,
    Help,
    Row,
    Shown,
    Taken,
)
from claims.services.why_sentences import (
    blame_sentence,
    pod_error_sentence,
)
from inventory.domain.engine import Outcome
from inventory.models import KubeObject
from portal.accounts.queries import namespaces_of
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from claims.domain.preview import AlternativePreview, NodePreview, Preview
    from claims.domain.why.cost import ClaimCost
    from claims.services.counterfactual import Proven
    from claims.services.explaining import NodeReason, Question
    from inventory.domain.engine import Copies
    from inventory.models import Cluster
    from portal.accounts.models import User

    Reasons = Mapping[str, NodeReason]
    Choices = Mapping[str, Mapping[str, int]]

Json = dict[str, Any]

SHOWN_NODES = 25
SHOWN_ALIKE = 6


@dataclass(frozen=True, slots=True)
class Reader:
    """Whose words these are for.

    Attributes:
        hidden: namespaces whose claims this person may not see by name.
        own: this person's namespaces.
    """

    hidden: frozenset[str] = frozenset()
    own: frozenset[str] = frozenset()


def reader_of(user: User, cluster: Cluster) -> Reader:
    """Return what a person may read of a cluster; two queries."""
    own = frozenset(namespaces_of(user, cluster.name))
    return Reader(hidden_from(user, cluster), own)


async def ashow(cluster: Cluster, manifest: Json, reader: Reader) -> Shown:
    """Preview a claim or template and put the answer in order.

    Raises:
        EngineUnavailable, EngineDeadline, EngineRefused: each says what to do.
    """
    claim = claim_of(manifest)
    preview = await apreview(cluster, [claim])
    marks = await sync_to_async(_marked)(cluster)
    question = await sync_to_async(question_of)(cluster, manifest)
    alternatives, counted, (reasons, changes), cost, choices = await asyncio.gather(
        _aalternatives(cluster, claim, preview),
        acopies(
            cluster, manifest, preview, preview.fitting[:SHOWN_NODES], reader.hidden
        ),
        _awhy(question, preview, reader),
        _acost(question),
        _achoices(question, preview),
    )
    copies, together = counted
    answers = _Answers(preview, claim, marks, copies, reasons, choices)
    rows = tuple(_rows(answers, reader))
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
        pod_error=pod_error_sentence(preview),
        rows=rows,
        alternatives=tuple(_alternatives(alternatives)),
        best=tuple(best),
        best_score=scores[0] if unequal else None,
        next_score=scores[1] if unequal else None,
        has_scores=bool(scores) and any(_is_list(r) for r in _requests(claim)),
        has_copies=bool(copies),
        together=together,
        helps=tuple(_helps(changes, reader)),
        cost=cost,
    )


async def _aalternatives(
    cluster: Cluster, claim: Json, preview: Preview
) -> list[AlternativePreview]:
    return [] if preview.pod_error else await apreview_alternatives(cluster, claim)


async def _acost(question: Question | None) -> ClaimCost | None:
    """Return what the claim costs the scheduler; None where the engine does not say."""
    try:
        return await acost(question) if question else None
    except PortalError:
        return None


async def _awhy(
    question: Question | None, preview: Preview, reader: Reader
) -> tuple[Reasons, list[Proven]]:
    """Return why nodes say no, and what would help; nothing that is not found in time."""
    if question is None:
        return {}, []
    try:
        why = await awhy(question, preview)
        return await asyncio.gather(
            aexplain(question, preview, why),
            achanges(question, preview, why, own=reader.own),
        )
    except PortalError:
        return {}, []


async def _achoices(question: Question | None, preview: Preview) -> Choices:
    """Return of how many devices each is one, on the nodes that are shown one by one."""
    if question is None:
        return {}
    try:
        return await achoices(question, preview, _by_score(preview)[:SHOWN_NODES])
    except PortalError:
        return {}


def _helps(changes: list[Proven], reader: Reader) -> Iterator[Help]:
    said: set[str] = set()
    for proven in changes:
        text = change_sentence(proven, hide=reader.hidden, own=reader.own)
        if text in said:
            continue
        said.add(text)
        edit = proven.change
        action = f"apply:{edit.path}:{json.dumps(edit.new)}" if edit else ""
        yield Help(text, where_sentence(proven), action)


def _requests(claim: Json) -> list[Json]:
    devices = (claim.get("spec") or {}).get("devices") or {}
    return list(devices.get("requests") or [])


def _is_list(request: Json) -> bool:
    return bool(request.get("firstAvailable"))


def _marked(cluster: Cluster) -> dict[str, tuple[str, ...]]:
    """Return the marks of nodes that have any."""
    nodes = KubeObject.objects.filter(cluster=cluster, kind="Node", deleted_at=None)
    marks = {}
    for name, spec, status in nodes.values_list("name", "body__spec", "body__status"):
        if found := tuple(_marks(spec or {}, status or {})):
            marks[name] = found
    return marks


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


@dataclass(frozen=True, slots=True)
class _Answers:
    """Everything that was answered about one claim."""

    preview: Preview
    claim: Json
    marks: Mapping[str, tuple[str, ...]]
    copies: Mapping[str, Copies]
    reasons: Reasons
    choices: Choices


def _rows(answers: _Answers, reader: Reader) -> Iterator[Row]:
    """Yield nodes that fit one by one, then the others by what they say."""
    preview, marks = answers.preview, answers.marks
    numbers = _numbers(answers.claim)
    for name in _by_score(preview)[:SHOWN_NODES]:
        node = preview.nodes[name]
        yield Row(
            outcome=node.outcome.value,
            nodes=((name, marks.get(name, ())),),
            more=0,
            message="",
            taken=tuple(_taken(node, numbers, answers.choices.get(name, {}))),
            score=node.score,
            copies=answers.copies.get(name),
        )
    for (outcome, message, _key), names in _alike(answers).items():
        found = [answers.reasons[name] for name in names if name in answers.reasons]
        why = merged(found)
        yield Row(
            outcome=outcome,
            nodes=tuple((name, marks.get(name, ())) for name in names[:SHOWN_NODES]),
            more=max(0, len(names) - SHOWN_NODES),
            message=message,
            reasons=tuple(reasons_of(why, reader.hidden)) if why else (),
            blame=blame_sentence(why.blame) if why and why.blame else "",
        )


def _alike(answers: _Answers) -> dict[tuple[str, str, Any], list[str]]:
    """Return the nodes that do not fit, by what they say."""
    groups: dict[tuple[str, str, Any], list[str]] = defaultdict(list)
    for name, node in sorted(answers.preview.nodes.items()):
        if node.outcome not in (Outcome.FITS, Outcome.ERROR):
            why = answers.reasons.get(name)
            key = why.key if why else None
            # Why it is undecided names the node; what is short says more.
            message = "" if why else node.message
            groups[node.outcome.value, message, key].append(name)
    return groups


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


def _taken(
    node: NodePreview, numbers: Mapping[str, int], choices: Mapping[str, int]
) -> Iterator[Taken]:
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
        number, choice = numbers.get(name, 0), choices.get(name, 0)
        yield Taken(request, alternative, number, tuple(devices), choice)


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
            error=pod_error_sentence(each.preview),
        )

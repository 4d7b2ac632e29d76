"""What a cluster and its nodes have of what DRA needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.shortcuts import render

from inventory.views.base import cluster_named, page
from portal.accounts.decorators import requires
from portal.accounts.domain.roles import Permission
from portal.adoption.domain.readiness import Answer
from portal.adoption.services.reading import readiness_of
from portal.adoption.services.words import (
    ANSWERS,
    BADGES,
    advice_of,
    evidence_of,
    title_of,
)
from portal.core.http import fragment

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.http import HttpResponse

    from portal.adoption.domain.readiness import Verdict
    from portal.adoption.services.reading import Readiness
    from portal.core.http import PortalRequest

# Nodes named at a verdict; how many more there are is told.
MOST_NAMED = 8
_ORDER = (Answer.NO, Answer.UNKNOWN, Answer.YES)


@dataclass(frozen=True, slots=True)
class Row:
    """A verdict in words, and the nodes that share it."""

    title: str
    answer: str
    badge: str
    evidence: str
    advice: str
    nodes: tuple[str, ...] = ()

    @property
    def named(self) -> tuple[str, ...]:
        """The first of the nodes."""
        return self.nodes[:MOST_NAMED]

    @property
    def more(self) -> int:
        """How many nodes are not named."""
        return max(0, len(self.nodes) - MOST_NAMED)


@requires(Permission.SEE_HOLDERS)
@page
def readiness_page(request: PortalRequest, cluster: str) -> HttpResponse:
    """Show each verdict with its evidence and what to do."""
    found = cluster_named(cluster)
    may_probe = request.user.may(Permission.MANAGE_CLUSTERS)
    read = readiness_of(found, request.user, probe=may_probe)
    context = {
        "cluster": found,
        "nav": "adoption",
        "rows": [_row(each) for each in read.cluster],
        "node_rows": node_rows(read),
        "node_count": len(read.nodes),
        "nodes_seen": read.facts.nodes_seen,
        "mig": read.mig,
        "counts": _counts(read),
    }
    template = fragment("adoption/readiness.html", "live", request)
    return render(request, template, context)


def node_rows(read: Readiness) -> list[Row]:
    """Return one row for each question and evidence, with all nodes that share it.

    So a thousand nodes that are alike are one line.
    """
    shared: dict[tuple[str, str, str], tuple[Verdict, list[str]]] = {}
    for node, verdicts in read.nodes:
        for each in verdicts:
            key = (each.code, each.answer, evidence_of(each))
            shared.setdefault(key, (each, []))[1].append(node.name)
    order = {verdict.code: at for at, (verdict, _) in enumerate(shared.values())}
    rows = sorted(
        shared.values(),
        key=lambda row: (order[row[0].code], _ORDER.index(row[0].answer)),
    )
    return [_row(verdict, nodes) for verdict, nodes in rows]


def _row(verdict: Verdict, nodes: Iterable[str] = ()) -> Row:
    return Row(
        title=title_of(verdict),
        answer=str(ANSWERS[verdict.answer]),
        badge=BADGES[verdict.answer],
        evidence=evidence_of(verdict),
        advice=advice_of(verdict),
        nodes=tuple(nodes),
    )


def _counts(read: Readiness) -> list[tuple[str, str, int]]:
    """Return (badge, word, how many of the cluster's verdicts) by answer."""
    return [
        (BADGES[answer], str(word), sum(v.answer is answer for v in read.cluster))
        for answer, word in ANSWERS.items()
    ]

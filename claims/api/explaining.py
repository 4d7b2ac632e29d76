"""Why a claim fits or not, what would change it, and what it costs: as the page says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from asgiref.sync import async_to_sync
from drf_spectacular.utils import OpenApiExample

from claims.api import explaining_serializers as shapes
from claims.api.base import age_of, judging
from claims.api.moving import TEMPLATE, ManifestView, reason_document, together_document
from claims.api.parameters import YamlParameters
from claims.services.previewing import ashow, reader_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rest_framework.request import Request
    from rest_framework.response import Response

    from claims.domain.why.cost import ClaimCost
    from claims.services.shown import Help, Row, Shown

Json = dict[str, Any]


class ExplainView(ManifestView):
    """A claim's preview in words."""

    operations = {
        "POST": judging(
            id="explainManifest",
            summary="Say why a claim fits or not, what would help, and what it costs",
            description="What the composer shows: for each node the first cause with"
            " its numbers; for each alternative where it would fit; the smallest changes"
            " that help, each proven by Kubernetes' own allocator; which node would win;"
            " what its selectors cost the scheduler. Claims of other tenants are not"
            " named.",
            body=shapes.ExplainBody,
            query=YamlParameters,
            yaml=True,
            answer=shapes.Explained,
            examples=(
                OpenApiExample(
                    "One GPU for each pod, explained",
                    request_only=True,
                    media_type="application/json",
                    value={"manifest": TEMPLATE},
                ),
            ),
        )
    }

    def post(self, request: Request, cluster: str) -> Response:
        """Return the explanation."""
        found = self.cluster()
        manifest, _more = self.manifest_sent(found)
        shown = async_to_sync(ashow)(found, manifest, reader_of(self.person, found))
        return self.answer({**age_of(found), **explained_document(shown)})


def explained_document(shown: Shown) -> Json:
    """Return a preview in words as JSON."""
    return {
        "revision": shown.preview.revision,
        "engine": shown.preview.engine,
        "fitting": shown.fitting,
        "undecided": shown.undecided,
        "total": shown.total,
        "problem": shown.pod_error or None,
        "best": list(shown.best),
        "nodes": list(_nodes(shown)),
        "alternatives": [
            {
                "request": each.label,
                "number": each.number,
                "fitting": list(each.fitting),
                "undecided": each.undecided,
                "total": each.total,
                "problem": each.error or None,
            }
            for each in shown.alternatives
        ],
        "together": together_document(shown.together) if shown.together else None,
        "changes": [_change(each) for each in shown.helps],
        "cost": _cost(shown.cost) if shown.cost else None,
    }


def _nodes(shown: Shown) -> Iterator[Json]:
    for row in shown.rows:
        for name, marks in row.nodes:
            yield {"node": name, "marks": list(marks), **_said(row)}


def _said(row: Row) -> Json:
    return {
        "outcome": row.outcome,
        "message": row.message or None,
        "score": row.score,
        "copies": row.copies.copies if row.copies else None,
        "reasons": [reason_document(each) for each in row.reasons],
        "blame": row.blame or None,
        "alike": len(row.nodes) + row.more,
    }


def _change(each: Help) -> Json:
    path = value = None
    if each.action:
        _word, path, text = each.action.split(":", 2)
        value = json.loads(text)
    return {
        "message": each.text,
        "where": each.where,
        "path": path,
        "value": None if value is None else json.dumps(value, ensure_ascii=False),
    }


def _cost(cost: ClaimCost) -> Json:
    return {
        "slices": cost.slices,
        "devices": cost.devices,
        "selectors": [
            {
                "owner": each.owner,
                "ofClass": each.is_class,
                "number": each.number,
                "expression": each.expression,
                "devices": each.devices,
                "cost": each.cost,
                "microseconds": each.micros,
            }
            for each in cost.selectors
        ],
    }

"""Check, preview and CEL: what would happen, with nothing done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from asgiref.sync import async_to_sync
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiExample
from rest_framework import exceptions

from claims.api import judging_serializers as shapes
from claims.api import parameters
from claims.api.base import age_of, judging
from claims.domain.why.suppose import Kind, Supposition
from claims.services.diagnosing import hidden_from, seen_by
from claims.services.filed import ITEMS
from claims.services.judging import filed_for, judged, preview_as_one_pod, previews
from claims.services.whatif import awhatif, claim_in
from inventory.api.base import ClusterView
from inventory.gateways.engine_wire import following_client
from inventory.gateways.files import parse_objects
from inventory.gateways.lines import line_finders
from inventory.services.expressions import expression_document

if TYPE_CHECKING:
    from rest_framework.request import Request
    from rest_framework.response import Response

    from claims.services.judging import LineFinder

Json = dict[str, Any]

CLAIM = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaim",
    "metadata": {"name": "one-gpu", "namespace": "ai-serving"},
    "spec": {
        "devices": {
            "requests": [
                {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}
            ]
        }
    },
}
YAML_CLAIM = """apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: one-gpu, namespace: ai-serving}
spec:
  devices:
    requests:
    - name: gpu
      exactly: {deviceClassName: gpu.nvidia.com}
"""


def _examples() -> tuple[OpenApiExample, ...]:
    return (
        OpenApiExample(
            "One GPU",
            request_only=True,
            media_type="application/json",
            value={"objects": [CLAIM]},
        ),
        OpenApiExample(
            "One GPU, as YAML",
            request_only=True,
            media_type="application/yaml",
            value=YAML_CLAIM,
        ),
    )


class JudgingView(ClusterView):
    """A view that takes manifests, as JSON or as YAML."""

    def sent(self) -> tuple[Json, list[Json], list[LineFinder | None]]:
        """Return what goes with the manifests, the manifests, and their lines.

        Raises:
            ValidationError: 400; the body is of another shape.
            BadFile: It holds no Kubernetes objects.
        """
        data = self.request.data
        if isinstance(data, dict) and isinstance(data.get("text"), bytes):
            return self._of_yaml(data["text"])
        if self.request.query_params.keys() & {"namespace", "together", "causes"}:
            raise exceptions.ValidationError(
                _("With JSON, namespace, together and causes are members of the body.")
            )
        body = self.body()
        listed = {"kind": "List", "items": body["objects"]}
        found = parse_objects(orjson.dumps(listed), _("The body"))
        return body, found, [None for each in found if each.get("kind") in ITEMS]

    def _of_yaml(self, text: bytes) -> tuple[Json, list[Json], list[LineFinder | None]]:
        found = parse_objects(text, _("The body"))
        finders = line_finders(text)
        same = len(finders) == len(found)
        lines = [
            finders[i] if same else None
            for i, body in enumerate(found)
            if body.get("kind") in ITEMS
        ]
        return self.wanted, found, lines


class CheckView(JudgingView):
    """Diagnostics and preview of manifests."""

    operations = {
        "POST": judging(
            id="checkManifests",
            summary="Check manifests, and preview each by itself",
            description="What `check_claim` prints. Findings do not make it a refusal:"
            " the answer is 200 whatever their level.",
            body=shapes.JudgeBody,
            query=parameters.YamlParameters,
            yaml=True,
            answer=shapes.Judged,
            examples=_examples(),
        )
    }

    def post(self, request: Request, cluster: str) -> Response:
        """Return the findings."""
        found = self.cluster()
        wanted, objects, lines = self.sent()
        filed = filed_for(self.person, found, objects, namespace=wanted["namespace"])
        with following_client():
            document = judged(self.person, found, filed, lines)
        return self.answer({**age_of(found), **document})


class PreviewView(JudgingView):
    """What the scheduler would do with manifests."""

    operations = {
        "POST": judging(
            id="previewManifests",
            summary="Say, node by node, what the scheduler would do with manifests",
            description="By Kubernetes' own allocator, within its time budget. For nodes"
            " that say no it names what keeps each request or alternative from there"
            " first, with its numbers; null where that is not known, or not asked for"
            " (`causes`, `together`). POST …/explain says it in words, with what helps.",
            body=shapes.PreviewBody,
            query=parameters.YamlPreviewParameters,
            yaml=True,
            answer=shapes.Previewed,
            examples=_examples(),
        )
    }

    def post(self, request: Request, cluster: str) -> Response:
        """Return the previews."""
        found = self.cluster()
        wanted, objects, _lines = self.sent()
        filed = filed_for(self.person, found, objects, namespace=wanted["namespace"])
        with following_client():
            if wanted["together"]:
                document = preview_as_one_pod(found, filed)
            else:
                document = previews(found, filed, causes=wanted["causes"])
        return self.answer({**age_of(found), **document})


class WhatIfView(ClusterView):
    """A claim's preview as the cluster is, and as it would be."""

    operations = {
        "POST": judging(
            id="whatIf",
            summary="Preview a claim now, and with one thing different",
            description="A node drained, a device tainted, a node more like one that"
            " is there, or a claim ended. Nothing is written anywhere.",
            body=shapes.WhatIfBody,
            query=parameters.YamlWhatIfParameters,
            yaml=True,
            answer=shapes.WhatIf,
            examples=tuple(
                OpenApiExample(
                    name,
                    request_only=True,
                    media_type="application/json",
                    value={
                        "manifest": CLAIM,
                        "suppose": {"kind": kind, "target": target},
                    },
                )
                for name, kind, target in (
                    ("Drain a node", "drain", "gpu-l40s-a"),
                    ("Taint a device", "taint", "gpu.nvidia.com/gpu-l40s-a/gpu-0"),
                    ("One more node like this", "add", "gpu-l40s-a"),
                )
            ),
        )
    }

    def post(self, request: Request, cluster: str) -> Response:
        """Return both previews."""
        found = self.cluster()
        objects, namespace, supposition = self._asked()
        filed = filed_for(self.person, found, objects, namespace=namespace)
        hidden = hidden_from(self.person, found)
        what = async_to_sync(awhatif)(
            found,
            claim_in(filed.items[0]),
            supposition,
            own=seen_by(self.person, found),
        )
        return self.answer({**age_of(found), **what.document(hidden)})

    def _asked(self) -> tuple[list[Json], str, Supposition]:
        """Return the manifest, where it is without a namespace, and what to suppose."""
        data, wanted = self.request.data, self.wanted
        if isinstance(data, dict) and isinstance(data.get("text"), bytes):
            if not wanted["kind"] or not wanted["target"]:
                raise exceptions.ValidationError(
                    _("With YAML, say what to suppose: ?kind=drain&target=NODE.")
                )
            found = parse_objects(data["text"], _("The body"))
            asked = Supposition(Kind(wanted["kind"]), wanted["target"])
            return found[:1], wanted["namespace"], asked
        if self.request.query_params.keys() & {"namespace", "kind", "target"}:
            raise exceptions.ValidationError(
                _("With JSON, namespace and suppose are members of the body.")
            )
        body = self.body()
        asked = Supposition(Kind(body["suppose"]["kind"]), body["suppose"]["target"])
        return [body["manifest"]], body["namespace"], asked


class CelView(ClusterView):
    """One CEL expression over a cluster's devices."""

    operations = {
        "POST": judging(
            id="judgeExpression",
            summary="Judge a CEL selector and count the devices that it matches",
            description="As the API server judges it when it is written and the"
            " scheduler when it is used; an expression that does not compile is an"
            " answer, with line and column, and no refusal.",
            body=shapes.CelBody,
            answer=shapes.CelJudged,
            examples=(
                OpenApiExample(
                    "Every device of NVIDIA's driver",
                    request_only=True,
                    media_type="application/json",
                    value={"expression": 'device.driver == "gpu.nvidia.com"'},
                ),
            ),
        )
    }

    def post(self, request: Request, cluster: str) -> Response:
        """Return verdicts, cost and counts."""
        found = self.cluster()
        with following_client():
            document = expression_document(found, self.body()["expression"])
        return self.answer({**age_of(found), **document})

"""Workloads turned from device plugins to claims, over REST; nothing is applied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import OpenApiExample

from claims.api.base import age_of, judging
from claims.api.importing import imported_document
from claims.services.bundles import KUSTOMIZE, PLAIN
from claims.services.imported import Choice
from inventory.api.base import ClusterView
from portal.accounts.domain.roles import Permission
from portal.accounts.domain.scopes import Scope
from portal.adoption.api import converting_serializers as serializers
from portal.adoption.services.converting import convert, converted_files
from portal.adoption.services.workloads import live_workloads, text_of
from portal.api.operations import Operation

if TYPE_CHECKING:
    from rest_framework.request import Request
    from rest_framework.response import Response

    from portal.adoption.services.converting import Conversion, NewTemplate
    from portal.adoption.services.workloads import LiveWorkload

Json = dict[str, Any]

_POD = """apiVersion: v1
kind: Pod
metadata: {name: chat, namespace: ai-serving}
spec:
  nodeSelector: {nvidia.com/gpu.product: NVIDIA-L40S}
  containers:
  - name: main
    image: registry.example.com/chat:1
    resources: {limits: {nvidia.com/gpu: "1"}}
"""


class WorkloadList(ClusterView):
    """Live workloads on device plugins."""

    operations = {
        "GET": Operation(
            id="listConvertibleWorkloads",
            summary="List a namespace's workloads that ask device plugins for GPUs",
            description="Read in the cluster under your own name. A kind that you may"
            " not read there is named in `unread`.",
            tag="adoption",
            scope=Scope.CLAIMS_CHECK,
            permission=Permission.COMPOSE,
            query=serializers.WorkloadParameters,
            answer=serializers.LiveWorkloads,
            bucket="check",
            problems=(422, 503),
        )
    }

    def get(self, request: Request, cluster: str) -> Response:
        """Return the workloads."""
        found = live_workloads(self.cluster(), self.person, self.wanted["namespace"])
        return self.answer(
            {
                "namespace": found.namespace,
                "workloads": [_workload(each) for each in found.found],
                "unread": list(found.unread),
            }
        )


class ConvertView(ClusterView):
    """Workloads, converted."""

    operations = {
        "POST": judging(
            id="convertWorkloads",
            summary="Turn workloads from device plugins to claims",
            description="Takes a text, such as what `helm template` prints, or names"
            " live workloads of a namespace. `nvidia.com/gpu`, `nvidia.com/mig-…` and"
            " time slices become a ResourceClaimTemplate, and what node selectors on GPU"
            " labels meant becomes CEL; what has no equal stays and is listed. Each"
            " template is previewed. Nothing is applied.",
            body=serializers.ConvertBody,
            answer=serializers.Converted,
            examples=(
                OpenApiExample(
                    "A pod with a whole GPU",
                    request_only=True,
                    media_type="application/json",
                    value={"text": _POD},
                ),
            ),
        )
    }

    def post(self, request: Request, cluster: str) -> Response:
        """Return what became of the workloads."""
        found, body = self.cluster(), self.body()
        text = body["text"]
        if body["workloads"]:
            listing = live_workloads(found, self.person, body["namespace"])
            text = text_of(listing, body["workloads"])
        choice = Choice(frozenset(body["declined"]), frozenset(body["chosen"]))
        made = convert(found, text, user=self.person, choice=choice)
        return self.answer({**age_of(found), **converted_document(made)})


def converted_document(found: Conversion) -> Json:
    """Return a conversion as JSON."""
    return {
        **imported_document(found.imported),
        "templates": [_template(each) for each in found.templates],
        "noEqual": [
            {
                "kind": document.kind,
                "name": document.name,
                "code": fault.code,
                "path": fault.path,
                "message": fault.message,
            }
            for document, fault in found.lost
        ],
        "plain": converted_files(found.imported, PLAIN),
        "kustomize": converted_files(found.imported, KUSTOMIZE),
    }


def _template(each: NewTemplate) -> Json:
    fit = each.fit
    return {
        "name": each.name,
        "usedBy": f"{each.document.kind} {each.document.name}",
        "text": each.text,
        "fits": list(fit.nodes) if fit else None,
        "undecided": fit.undecided if fit else 0,
        "error": (fit.error if fit else "") or None,
    }


def _workload(each: LiveWorkload) -> Json:
    return {
        "kind": each.kind,
        "namespace": each.namespace,
        "name": each.name,
        "resources": each.resources,
        "owner": each.owner or None,
    }

"""Extended resources mapped to classes, over REST: proposed, previewed, written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiExample

from inventory.api.base import ClusterView
from inventory.models import Cluster
from portal.accounts.domain.roles import Permission
from portal.accounts.domain.scopes import Scope
from portal.adoption.api import mapping_serializers as serializers
from portal.adoption.models import AppliedMapping
from portal.adoption.services.mapping import (
    apply_mapping,
    preview_mapping,
    proposals_for,
    try_mapping,
)
from portal.api.matching import demand_match
from portal.api.operations import Operation, PageParameters

if TYPE_CHECKING:
    from rest_framework.request import Request
    from rest_framework.response import Response

    from portal.adoption.domain.mapping import AskingPod
    from portal.adoption.services.mapping import MappingPlan, MappingPreview

Json = dict[str, Any]

_EXAMPLE = OpenApiExample(
    "Whole cards",
    request_only=True,
    media_type="application/json",
    value={"deviceClass": "gpu.nvidia.com", "resource": "nvidia.com/gpu"},
)
_ETAG = (("ETag", "For If-Match when it is written."),)


def _managing(**more: Any) -> Operation:
    return Operation(
        scope=Scope.INVENTORY_WRITE,
        permission=Permission.MANAGE_CLUSTERS,
        tag="adoption",
        **more,
    )


class ProposalList(ClusterView):
    """Mappings that would serve what pods ask for."""

    operations = {
        "GET": _managing(
            id="proposeMappings",
            summary="Propose a DeviceClass for each GPU resource that pods ask for",
            description="Whole cards by a class of whole cards; a MIG profile by a class"
            " of that profile alone, if there is one.",
            answer=serializers.MappingProposals,
            bucket="check",
        )
    }

    def get(self, request: Request, cluster: str) -> Response:
        """Return the proposals."""
        found = self.cluster()
        rows = [
            {
                "resource": each.resource,
                "deviceClass": each.device_class,
                "pods": each.pods,
                "mapped": each.mapped,
            }
            for each in proposals_for(found)
        ]
        return self.answer({"cluster": found.name, "proposals": rows})


class PreviewView(ClusterView):
    """What a mapping would serve."""

    operations = {
        "POST": _managing(
            id="previewMapping",
            summary="Say what a mapping would serve, and try it by a dry run",
            description="Who asks for the resource, which devices would serve it, which"
            " classes clash, where a device plugin still offers it; and what the API"
            " server answers to a dry run under your name.",
            body=serializers.MappingBody,
            answer=serializers.MappingPreview,
            headers=_ETAG,
            bucket="check",
            problems=(403, 422, 503),
            examples=(_EXAMPLE,),
        )
    }

    def post(self, request: Request, cluster: str) -> Response:
        """Return the preview."""
        found, body = self.cluster(), self.body()
        name, resource = body["deviceClass"], body["resource"]
        preview = preview_mapping(found, name, resource)
        trial = None
        if found.kind != Cluster.Kind.OFFLINE:
            trial = try_mapping(found, name, resource, self.person)
        headers = {"ETag": f'"{trial.seen}"'} if trial else None
        return self.answer(_preview(preview, trial), headers=headers)


class MappingList(ClusterView):
    """Mappings written through the portal."""

    operations = {
        "GET": _managing(
            id="listMappings",
            summary="List the mappings that were written through the portal",
            query=PageParameters,
            answer=serializers.AppliedMapping,
            listed=True,
        ),
        "POST": _managing(
            id="applyMapping",
            summary="Write a mapping to its class, or take it away",
            description="Under your own name, and only if the class is still the one"
            " that the preview's ETag speaks of.",
            body=serializers.MappingBody,
            answer=serializers.AppliedMapping,
            status=201,
            bucket="write",
            needs_match=True,
            problems=(403, 409, 422, 503),
        ),
    }

    def get(self, request: Request, cluster: str) -> Response:
        """Return a page of mappings, the newest first."""
        rows = AppliedMapping.objects.filter(cluster=self.cluster().name)
        return self.newest_first(rows, _applied)

    def post(self, request: Request, cluster: str) -> Response:
        """Write the mapping."""
        found, body = self.cluster(), self.body()
        name, resource = body["deviceClass"], body["resource"]
        trial = try_mapping(found, name, resource, self.person)
        demand_match(request, f'"{trial.seen}"')
        applied = apply_mapping(
            found,
            name,
            resource,
            seen=trial.seen,
            user=self.person,
            request_id=self.request_id,
            now=timezone.now(),
        )
        return self.answer(_applied(applied))


def _preview(found: MappingPreview, trial: MappingPlan | None) -> Json:
    nodes = found.plugin_nodes
    return {
        "deviceClass": found.device_class,
        "resource": found.resource,
        "before": found.before or None,
        "devices": found.devices,
        "problem": found.problem or None,
        "types": dict(found.types),
        "pods": None if found.pods is None else [_pod(each) for each in found.pods],
        "rivals": list(found.rivals),
        "pluginNodes": None if nodes is None else list(nodes),
        "offeredTwice": list(found.both),
        "trial": {
            "before": trial.before or None,
            "after": trial.after or None,
            "dropped": trial.dropped,
        }
        if trial
        else None,
    }


def _pod(each: AskingPod) -> Json:
    return {
        "namespace": each.namespace,
        "name": each.name,
        "count": each.count,
        "node": each.node or None,
        "claim": each.claim or None,
    }


def _applied(row: AppliedMapping) -> Json:
    return {
        "deviceClass": row.device_class,
        "before": row.before or None,
        "after": row.after or None,
        "by": row.applied_by,
        "at": row.applied_at.isoformat(),
    }

"""Workloads that use a claim or template, as YAML and as bundles for Git."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import OpenApiExample

from claims.api import serializers
from claims.api.base import judging
from claims.api.requests import RequestView
from claims.api.validating import CLAIM
from claims.domain.snippets import IMAGE, Workload
from claims.services.bundles import (
    KUSTOMIZE,
    PLAIN,
    bundle_files,
    checked_claim,
    snippets_of,
)
from inventory.api.base import ClusterView
from portal.accounts.domain.scopes import Scope
from portal.api.operations import Operation

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from rest_framework.request import Request
    from rest_framework.response import Response

Json = dict[str, Any]


class WorkloadView(ClusterView):
    """Workloads for a manifest that is sent along."""

    operations = {
        "POST": judging(
            id="composeWorkloads",
            summary="Give the workloads that could use a claim or template",
            description="A pod, a Deployment, a Job, a StatefulSet, two containers that"
            " share the devices, pods that share a claim: what fits the manifest, as"
            " YAML, and as the files of a bundle. Nothing is applied.",
            body=serializers.WorkloadBody,
            answer=serializers.Workloads,
            examples=(
                OpenApiExample(
                    "For one GPU",
                    request_only=True,
                    media_type="application/json",
                    value={"manifest": CLAIM},
                ),
            ),
        )
    }

    def post(self, request: Request, cluster: str) -> Response:
        """Return the workloads."""
        self.cluster()
        body = self.body()
        return self.answer(
            _document(checked_claim(body["manifest"]), image=body["image"])
        )


class RequestWorkloads(RequestView):
    """Workloads for a claim request."""

    operations = {
        "GET": Operation(
            id="listRequestWorkloads",
            summary="Give the workloads that could use a request's claim or template",
            tag="claim requests",
            scope=Scope.CLAIMS_READ,
            answer=serializers.Workloads,
        )
    }

    def get(self, request: Request, id: UUID) -> Response:  # noqa: A002  the address's
        """Return the workloads."""
        return self.answer(_document(self.visible(id).plan.manifest))


def _document(manifest: Mapping[str, Any], image: str = IMAGE) -> Json:
    return {
        "workloads": [
            {
                "workload": each["shape"],
                "title": each["word"],
                "yaml": each["yaml"],
                "plain": _files(manifest, each["shape"], PLAIN, image),
                "kustomize": _files(manifest, each["shape"], KUSTOMIZE, image),
            }
            for each in snippets_of(manifest, image)
        ]
    }


def _files(
    manifest: Mapping[str, Any], shape: str, layout: str, image: str
) -> dict[str, str]:
    return bundle_files(manifest, Workload(shape), layout=layout, image=image)

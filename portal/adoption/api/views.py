"""Readiness for DRA, over REST."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inventory.api.base import ClusterView
from portal.accounts.domain.roles import Permission
from portal.accounts.domain.scopes import Scope
from portal.adoption.api import documents, serializers
from portal.adoption.services.reading import readiness_of
from portal.api.operations import Operation

if TYPE_CHECKING:
    from rest_framework.request import Request
    from rest_framework.response import Response


class ReadinessView(ClusterView):
    """Whether a cluster is ready."""

    operations = {
        "GET": Operation(
            id="getReadiness",
            summary="Say what a cluster and its nodes have of what DRA needs",
            description="Each verdict is `yes`, `no` or `unknown`, with what it is known"
            " from and what to do. What the API server does not show is `unknown`.",
            scope=Scope.TENANTS_READ,
            permission=Permission.SEE_HOLDERS,
            tag="adoption",
            answer=serializers.Readiness,
            bucket="check",
        )
    }

    def get(self, request: Request, cluster: str) -> Response:
        """Return every verdict."""
        found = self.cluster()
        may_probe = self.person.may(Permission.MANAGE_CLUSTERS)
        read = readiness_of(found, self.person, probe=may_probe)
        return self.answer(documents.readiness_document(found, read))

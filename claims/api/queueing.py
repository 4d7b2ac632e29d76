"""Where a request stands in Kueue's queues, and selectors that many templates repeat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.http import Http404
from django.utils.translation import gettext as _

from claims.api import composing_serializers, documents, waiting_serializers
from claims.api.composing import TAG
from claims.api.requests import RequestView
from claims.domain.kueue import Sought
from claims.domain.manifest import DOMAIN
from claims.services.costing import repeated_selectors
from claims.services.queueing import queueing_of
from inventory.api.base import ClusterView
from portal.accounts.domain.roles import Permission
from portal.accounts.domain.scopes import Scope
from portal.api.operations import Operation, PageParameters
from portal.core.keyset import list_page

if TYPE_CHECKING:
    from rest_framework.request import Request
    from rest_framework.response import Response

    from claims.domain.why.cost import Repeated

Json = dict[str, Any]


class RequestQueue(RequestView):
    """A request in Kueue."""

    operations = {
        "GET": Operation(
            id="getClaimRequestQueue",
            summary="Say where what a request made stands in Kueue's queues",
            description="It is read under your own identity: what the cluster does not"
            " show you is a `problem`, in words.",
            tag="claim requests",
            scope=Scope.CLAIMS_READ,
            answer=waiting_serializers.RequestQueue,
            bucket="check",
        )
    }

    def get(self, request: Request, id: UUID) -> Response:  # noqa: A002  the address's
        """Return the queue's word."""
        plan = self.visible(id).plan
        if plan.kind == DOMAIN:
            raise Http404(_("A ComputeDomain waits in no queue of its own."))
        sought = Sought(frozenset({(plan.kind, plan.name)}))
        found = queueing_of(
            plan.cluster, self.person, plan.namespace, sought, plan.manifest
        )
        kueue = documents.queueing_document(found) if found else None
        return self.answer({"kueue": kueue})


class RepeatedSelectorList(ClusterView):
    """Selectors that many templates repeat."""

    operations = {
        "GET": Operation(
            id="listRepeatedSelectors",
            summary="List selectors in three templates or more, and a class for each",
            description="For whoever looks after the classes; the most frequent first.",
            tag=TAG,
            scope=Scope.CLAIMS_READ,
            permission=Permission.MANAGE_CLUSTERS,
            query=PageParameters,
            answer=composing_serializers.RepeatedSelector,
            listed=True,
        )
    }

    def get(self, request: Request, cluster: str) -> Response:
        """Return a page of them."""
        found = repeated_selectors(self.cluster())
        page = list_page(found, _place, (int, str), **self.wanted)
        return self.page(page, _document)


def _place(found: tuple[Repeated, Json]) -> tuple[int, str]:
    return -len(found[0].templates), found[0].expression


def _document(found: tuple[Repeated, Json]) -> Json:
    each, body = found
    return {
        "expression": each.expression,
        "classes": list(each.classes),
        "templates": list(each.templates),
        "deviceClass": body,
    }

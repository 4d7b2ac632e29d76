"""What classes may fall back to, over the API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.response import Response

from inventory.queries.clusters_by_name import cluster_named
from portal.admission.api import documents, serializers
from portal.admission.api.views import listing, operation
from portal.admission.models import Fallback
from portal.admission.services.editing import (
    change_fallback,
    make_fallback,
    remove_fallback,
)
from portal.api.matching import ETAG, demand_match
from portal.api.operations import leads_to
from portal.api.views import ApiView

if TYPE_CHECKING:
    from rest_framework.request import Request

Json = dict[str, Any]


class FallbackList(ApiView):
    """What classes may fall back to."""

    operations = {
        "GET": listing(
            serializers.Fallback,
            id="listFallbacks",
            summary="List what classes may fall back to",
        ),
        "POST": operation(
            id="createFallback",
            links=leads_to(
                "getFallback", matched=("changeFallback", "deleteFallback"), by="name"
            ),
            summary="Let a class fall back",
            body=serializers.FallbackBody,
            answer=serializers.Fallback,
            status=201,
            bucket="write",
            headers=ETAG,
            problems=(404, 422),
        ),
    }

    def get(self, request: Request) -> Response:
        """Return a page of fallbacks by name."""
        every = Fallback.objects.select_related("cluster")
        return self.by_name(every, documents.fallback_document)

    def post(self, request: Request) -> Response:
        """Make a fallback."""
        body = self.body()
        row = make_fallback(
            name=body["name"],
            cluster=cluster_named(body["cluster"]) if body["cluster"] else None,
            fields=_fallback_fields(body),
            by=self.person.username,
            now=timezone.now(),
        )
        return _fallback_shown(self, row)


_FALLBACK_FIELDS = {
    "deviceClass": "device_class",
    "alternatives": "alternatives",
    "namespaces": "namespaces",
    "needsAdvice": "needs_advice",
    "isEnabled": "is_enabled",
}


def _fallback_fields(body: Json) -> Json:
    named = _FALLBACK_FIELDS.items()
    return {ours: body[theirs] for theirs, ours in named if theirs in body}


def _fallback_shown(view: ApiView, row: Fallback) -> Response:
    headers = {"ETag": documents.fallback_etag(row)}
    return view.answer(documents.fallback_document(row), headers=headers)


class FallbackDetail(ApiView):
    """One fallback."""

    operations = {
        "GET": operation(
            id="getFallback",
            summary="Say what a class falls back to",
            answer=serializers.Fallback,
            headers=ETAG,
        ),
        "PATCH": operation(
            id="changeFallback",
            summary="Change a fallback, or switch it off or on",
            body=serializers.FallbackChange,
            answer=serializers.Fallback,
            bucket="write",
            needs_match=True,
            headers=ETAG,
            problems=(404, 409, 422),
        ),
        "DELETE": operation(
            id="deleteFallback",
            summary="Remove a fallback; claims that have it keep it",
            status=204,
            bucket="write",
            needs_match=True,
        ),
    }

    def row(self, name: str) -> Fallback:
        """Return the fallback.

        Raises:
            Http404: There is none of that name.
        """
        found = Fallback.objects.select_related("cluster").filter(name=name).first()
        if found is None:
            raise Http404(_("There is no fallback of that name."))
        return found

    def get(self, request: Request, name: str) -> Response:
        """Return the fallback."""
        return _fallback_shown(self, self.row(name))

    def patch(self, request: Request, name: str) -> Response:
        """Change it, unless somebody did so meanwhile."""
        row, body = self.row(name), self.body()
        demand_match(request, documents.fallback_etag(row))
        fields = _fallback_fields(body)
        if "cluster" in body:
            where = body["cluster"]
            fields["cluster"] = cluster_named(where) if where else None
        changed = change_fallback(
            row,
            seen=row.changed_at,
            fields=fields,
            by=self.person.username,
            now=timezone.now(),
        )
        return _fallback_shown(self, changed)

    def delete(self, request: Request, name: str) -> Response:
        """Remove it."""
        row = self.row(name)
        demand_match(request, documents.fallback_etag(row))
        remove_fallback(row)
        return Response(status=204)

"""Filters of the GPUs page that a person keeps under a name, over REST."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import Http404
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiExample
from rest_framework.response import Response

from inventory.api import detail_documents as documents
from inventory.api import detail_serializers as serializers
from inventory.models import SavedView
from inventory.services.saved_views import checked_query, remove_view, save_view
from portal.accounts.domain.roles import Permission
from portal.accounts.domain.scopes import Scope
from portal.api.operations import Operation, PageParameters
from portal.api.views import ApiView

if TYPE_CHECKING:
    from rest_framework.request import Request

TAG = "you"
EXAMPLE = OpenApiExample(
    "L40S with 40 GiB free",
    request_only=True,
    value={"name": "L40S with room", "query": "product=NVIDIA+L40S&free=40"},
)


class SavedViewList(ApiView):
    """One's own views."""

    operations = {
        "GET": Operation(
            id="listSavedViews",
            summary="List the filters of the GPUs page that you keep",
            tag=TAG,
            scope=Scope.INVENTORY_READ,
            permission=Permission.SEE_INVENTORY,
            query=PageParameters,
            answer=serializers.SavedView,
            listed=True,
        ),
        "POST": Operation(
            id="saveView",
            links=(("removeSavedView", {"view": "$response.body#/id"}),),
            summary="Keep a filter of the GPUs page; the same name replaces it",
            tag=TAG,
            scope=Scope.INVENTORY_WRITE,
            permission=Permission.SEE_INVENTORY,
            body=serializers.SavedViewBody,
            answer=serializers.SavedView,
            status=201,
            bucket="write",
            problems=(422,),
            examples=(EXAMPLE,),
        ),
    }

    def get(self, request: Request) -> Response:
        """Return a page of views by name."""
        rows = SavedView.objects.filter(user=self.person)
        return self.by_name(rows, documents.view_document)

    def post(self, request: Request) -> Response:
        """Keep a view."""
        body = self.body()
        row = save_view(self.person, body["name"], checked_query(body["query"]))
        return self.answer(documents.view_document(row))


class SavedViewDetail(ApiView):
    """One of one's own views."""

    operations = {
        "DELETE": Operation(
            id="removeSavedView",
            summary="Remove one of the filters that you keep",
            tag=TAG,
            scope=Scope.INVENTORY_WRITE,
            permission=Permission.SEE_INVENTORY,
            status=204,
            bucket="write",
        )
    }

    def delete(self, request: Request, view: int) -> Response:
        """Remove the view."""
        if not remove_view(self.person, view):
            raise Http404(_("You keep no view of that number."))
        return Response(status=204)

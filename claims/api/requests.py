"""Claim requests and the operations that they stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiExample
from rest_framework import exceptions
from rest_framework.response import Response

from claims.api import documents, parameters, serializers
from claims.api.base import refused
from claims.domain.operations import Work
from claims.queries.lists import RequestFilter, request_page
from claims.queries.requests import following, timeline, visible_to
from claims.services.presets import preset_for
from claims.services.requesting import Ask, request_claim
from claims.services.submit import SubmitRefused
from inventory.gateways.files import parse_objects
from inventory.queries.clusters_by_name import cluster_named
from portal.accounts.domain.roles import Permission
from portal.accounts.domain.scopes import Scope
from portal.api.idempotency import once
from portal.api.matching import unchanged
from portal.api.operations import Operation
from portal.api.problems import ApiProblem, BadParameters
from portal.api.views import ApiView
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from rest_framework.request import Request

    from claims.models import ClaimRequest

Json = dict[str, Any]

RETRY_AFTER = "1"
ACCEPTED = (
    ("Location", "The operation to wait for."),
    ("Retry-After", "Seconds until it is worth asking."),
    ("ETag", "Of the claim request as it now is."),
)
TEMPLATE_EXAMPLE = OpenApiExample(
    "A template of one L40S",
    request_only=True,
    media_type="application/json",
    value={
        "cluster": "demo",
        "manifest": {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": "notebook-gpu", "namespace": "ai-serving"},
            "spec": {
                "spec": {
                    "devices": {
                        "requests": [
                            {
                                "name": "gpu",
                                "exactly": {
                                    "deviceClassName": "gpu.nvidia.com",
                                    "selectors": [
                                        {
                                            "cel": {
                                                "expression": "device.attributes"
                                                '["gpu.nvidia.com"].productName'
                                                ' == "NVIDIA L40S"'
                                            }
                                        }
                                    ],
                                },
                            }
                        ]
                    }
                }
            },
        },
    },
)


_ID = "$response.body#/id"
_MATCHED = {"id": _ID, "If-Match": "$response.header.ETag"}
FOLLOWING = (
    ("getClaimRequest", {"id": _ID}),
    ("getClaimRequestUsage", {"id": _ID}),
    ("releaseClaimRequest", _MATCHED),
    ("cancelClaimRequest", _MATCHED),
    ("retryClaimRequest", _MATCHED),
)


class RequestView(ApiView):
    """A view of one claim request, or of all."""

    def visible(self, public_id: UUID) -> ClaimRequest:
        """Return a claim request that the caller may look at.

        Raises:
            Http404: There is none of that id for this caller.
        """
        row = visible_to(self.person).filter(public_id=public_id).distinct().first()
        if row is None:
            raise Http404(_("There is no claim request of that id for you."))
        return row

    def submitted(self, body: Json, key: UUID) -> ClaimRequest:
        """Submit what a body asks for, once a key.

        Raises:
            ApiProblem: It is refused, and where.
        """
        cluster = cluster_named(body["cluster"])
        try:
            ask = Ask(
                body["manifest"],
                body["justification"],
                body["endsAt"],
                self._revised(body["revises"]),
                preset_for(self.person, body["preset"], body["manifest"]),
            )
            return request_claim(
                self.person,
                cluster,
                ask,
                key=key,
                request_id=self.request_id,
                now=timezone.now(),
            )
        except PortalError as error:
            raise refused(error) from error

    def _revised(self, public_id: UUID | None) -> ClaimRequest | None:
        """Return the request that is revised, if one is named."""
        if public_id is None:
            return None
        row = visible_to(self.person).filter(public_id=public_id).distinct().first()
        if row is None:
            raise SubmitRefused(
                _("There is no claim request of that id for you."),
                code="submit.revises",
                paths=("revises",),
            )
        return row


class RequestList(RequestView):
    """Claim requests: those that are there, and new ones."""

    operations = {
        "GET": Operation(
            id="listClaimRequests",
            summary="List the claim requests that you may see, newest first",
            tag="claim requests",
            scope=Scope.CLAIMS_READ,
            query=parameters.RequestParameters,
            answer=serializers.ClaimRequest,
            listed=True,
            links=(
                ("getClaimRequest", {"id": "$response.body#/items/0/id"}),
                ("listClaimRequests", {"cursor": "$response.body#/cursor"}),
            ),
        ),
        "POST": Operation(
            id="createClaimRequest",
            summary="Submit a claim or a template",
            description="It is checked and previewed first; a finding of level error"
            " refuses it, with a pointer to its place. What is stored is applied in"
            " the background under your own identity: follow the operation.",
            tag="claim requests",
            scope=Scope.CLAIMS_WRITE,
            permission=Permission.COMPOSE,
            body=serializers.SubmitBody,
            query=parameters.YamlSubmitParameters,
            yaml=True,
            answer=serializers.ClaimRequestDetail,
            status=202,
            bucket="write",
            is_idempotent=True,
            headers=ACCEPTED,
            problems=(404,),
            examples=(TEMPLATE_EXAMPLE,),
            links=FOLLOWING,
        ),
    }

    def get(self, request: Request) -> Response:
        """Return a page of claim requests."""
        wanted = self.wanted
        page = request_page(
            self.person,
            RequestFilter(
                tuple(wanted["state"]),
                wanted["cluster"],
                wanted["namespace"],
                wanted["name"],
                wanted["tenant"],
                wanted["mine"],
            ),
            cursor=wanted["cursor"],
            limit=wanted["limit"],
        )
        return self.page(page, documents.request_document)

    def post(self, request: Request) -> Response:
        """Submit; the same Idempotency-Key submits once."""
        body = self._asked()
        return once(request, lambda key: self._submit(body, key))

    def _asked(self) -> Json:
        """Return what is asked for, from JSON, or from YAML and the parameters."""
        data = self.request.data
        if not isinstance(data, dict) or not isinstance(data.get("text"), bytes):
            if self.request.query_params:
                raise exceptions.ValidationError(
                    _("With JSON, everything is a member of the body.")
                )
            return self.body()
        if not self.wanted["cluster"]:
            raise BadParameters({"cluster": [_("Name the cluster.")]})
        found = parse_objects(data["text"], _("The body"))
        if len(found) > 1:
            raise ApiProblem(
                422, "submit.one_at_a_time", _("Send one claim or template at a time.")
            )
        return {**self.wanted, "manifest": found[0]}

    def _submit(self, body: Json, key: UUID) -> Response:
        made = self.submitted(body, key)
        return accepted(
            made, Work.APPLY, documents.request_detail_document(made, timeline(made))
        )


def accepted(row: ClaimRequest, work: Work, document: Json) -> Response:
    """Return that work has been taken on, and where to see how far it is."""
    headers = {
        "Location": documents.operation_link(row, work),
        "Retry-After": RETRY_AFTER,
        "ETag": documents.etag_of(row),
    }
    return Response(document, status=202, headers=headers)


class RequestDetail(RequestView):
    """One claim request."""

    operations = {
        "GET": Operation(
            id="getClaimRequest",
            summary="Say what was asked for, how far it is and what happened",
            tag="claim requests",
            scope=Scope.CLAIMS_READ,
            answer=serializers.ClaimRequestDetail,
            headers=(
                ("ETag", "For If-Match of what changes it, and for If-None-Match."),
            ),
            links=FOLLOWING[1:],
        )
    }

    def get(self, request: Request, id: UUID) -> Response:  # noqa: A002  the address's
        """Return the claim request, or 304."""
        row = self.visible(id)
        etag = documents.etag_of(row)
        document = documents.request_detail_document(row, timeline(row))
        return unchanged(request, etag) or self.answer(document, headers={"ETag": etag})


class RequestUsage(RequestView):
    """What became of a claim request in its cluster."""

    operations = {
        "GET": Operation(
            id="getClaimRequestUsage",
            summary="Say which claims and pods a request has in its cluster",
            description="What a release would end; as the watcher last saw it.",
            tag="claim requests",
            scope=Scope.CLAIMS_READ,
            answer=serializers.Usage,
        )
    }

    def get(self, request: Request, id: UUID) -> Response:  # noqa: A002  the address's
        """Return object, claims and pods."""
        found = following(self.visible(id), now=timezone.now())
        return self.answer(documents.usage_document(found))


class OperationDetail(RequestView):
    """Work that goes on in the background."""

    operations = {
        "GET": Operation(
            id="getOperation",
            summary="Say how far an operation is",
            description="Ask again after Retry-After while `done` is false.",
            tag="operations",
            scope=Scope.CLAIMS_READ,
            answer=serializers.OperationState,
            headers=(("Retry-After", "Seconds, while it is not done."),),
        )
    }

    def get(self, request: Request, operation: str) -> Response:
        """Return how far it is."""
        word, _dot, public_id = operation.partition(".")
        try:
            work, key = Work(word), UUID(public_id)
        except ValueError as error:
            raise Http404(_("There is no operation of that id.")) from error
        document = documents.operation_document(self.visible(key), work)
        if document is None:
            raise Http404(_("Nobody has asked for that yet."))
        headers = {} if document["done"] else {"Retry-After": RETRY_AFTER}
        return self.answer(document, headers=headers)

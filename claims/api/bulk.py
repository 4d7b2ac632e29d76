"""Many claim requests in one call: each succeeds or fails by itself, and says so.

Source: RFC 4918, 13 "Multi-Status Response", in JSON.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiExample
from rest_framework import exceptions
from rest_framework import serializers as s
from rest_framework.response import Response

from claims.api import documents, serializers
from claims.api.request_moves import refuse_others
from claims.api.requests import TEMPLATE_EXAMPLE, RequestView
from claims.domain.lifecycle import State
from claims.domain.operations import Work
from claims.queries.requests import timeline
from claims.services.releasing import release
from portal.accounts.domain.roles import Permission
from portal.accounts.domain.scopes import Scope
from portal.api.idempotency import once
from portal.api.matching import demand_tag
from portal.api.operations import Operation
from portal.api.serializers import Problem
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from uuid import UUID

    from rest_framework.request import Request

    from claims.models import ClaimRequest

Json = dict[str, Any]
One = Callable[[int, Json], "ClaimRequest"]

MOST_ITEMS = 50
# What another attempt may change; an answer with one of these is not kept.
PASSING = frozenset({429, 503})


class BulkItem(s.Serializer[Any]):
    """One of many; unknown members are refused, as in a body."""

    def to_internal_value(self, data: Any) -> Any:
        """Return what is sent, once nothing of it is unknown."""
        unknown = set(data) - set(self.fields) if isinstance(data, dict) else ()
        if unknown:
            text = _("There is no such member.")
            raise s.ValidationError({str(name): [text] for name in sorted(unknown)})
        return super().to_internal_value(data)


class BulkSubmitItem(BulkItem, serializers.SubmitBody):
    """One of many claims or templates of a cluster."""

    cluster = None  # type: ignore[assignment]


class BulkSubmitBody(s.Serializer[Any]):
    """Many claims or templates of one cluster."""

    cluster = s.CharField(max_length=63)
    items = s.ListField(child=BulkSubmitItem(), min_length=1, max_length=MOST_ITEMS)


class BulkReleaseItem(BulkItem, serializers.ReleaseBody):
    """One of many releases."""

    id = s.UUIDField(help_text="Of the claim request.")
    etag = s.CharField(
        default=None,
        allow_null=True,
        max_length=255,
        help_text="As If-Match: the ETag that was read, or `*`; 428 without it.",
    )


class BulkReleaseBody(s.Serializer[Any]):
    """Many releases."""

    items = s.ListField(child=BulkReleaseItem(), min_length=1, max_length=MOST_ITEMS)


class BulkResult(s.Serializer[Any]):
    """What became of one of many."""

    index = s.IntegerField(help_text="Of the item, from 0.")
    status = s.IntegerField(help_text="As if it had been sent alone: 202, or why not.")
    etag = s.CharField(allow_null=True)
    operation = s.CharField(allow_null=True, help_text="The address to ask.")
    claimRequest = serializers.ClaimRequestDetail(allow_null=True)  # noqa: N815
    problem = Problem(allow_null=True)


class BulkResults(s.Serializer[Any]):
    """What became of each."""

    items = BulkResult(many=True)
    succeeded = s.IntegerField()
    failed = s.IntegerField()


def bulk_operation(**more: Any) -> Operation:
    """Return an operation on many claim requests."""
    return Operation(
        tag="claim requests",
        scope=Scope.CLAIMS_WRITE,
        permission=Permission.COMPOSE,
        answer=BulkResults,
        status=207,
        bucket="write",
        is_idempotent=True,
        **more,
    )


class BulkView(RequestView):
    """A view that does the same to many, one after the other."""

    work: Work

    def each(self, do: One, items: list[Json]) -> Response:
        """Do it to each item; a refusal of one stops no other.

        What it costs is counted as if each had been sent alone.
        """
        self.count_more(len(items) - 1)
        results = [self._result(do, index, item) for index, item in enumerate(items)]
        failed = sum(result["problem"] is not None for result in results)
        counts = {"succeeded": len(results) - failed, "failed": failed}
        return Response({"items": results, **counts}, status=207)

    def _result(self, do: One, index: int, item: Json) -> Json:
        told: Json = {"etag": None, "operation": None, "claimRequest": None}
        try:
            row = do(index, item)
        except (PortalError, exceptions.APIException, Http404) as error:
            context = {"request": self.request, "view": self, "args": (), "kwargs": {}}
            refusal = self.get_exception_handler()(error, context)
            if refusal is None:
                raise
            status, problem = refusal.status_code, refusal.data
            return {"index": index, "status": status, **told, "problem": problem}
        told = {
            "etag": documents.etag_of(row),
            "operation": documents.operation_link(row, self.work),
            "claimRequest": documents.request_detail_document(row, timeline(row)),
        }
        return {"index": index, "status": 202, **told, "problem": None}


def may_be_kept(answer: Response) -> bool:
    """Return whether sending the same again could do no more."""
    return not any(item["status"] in PASSING for item in answer.data["items"])


class RequestBulk(BulkView):
    """Many new claim requests."""

    work = Work.APPLY
    operations = {
        "POST": bulk_operation(
            id="createClaimRequests",
            summary="Submit many claims or templates; each is refused by itself",
            description="With an Idempotency-Key the same call again submits what was"
            " not submitted, and nothing twice.",
            body=BulkSubmitBody,
            examples=(
                OpenApiExample(
                    "One template",
                    request_only=True,
                    value={
                        "cluster": "demo",
                        "items": [{"manifest": TEMPLATE_EXAMPLE.value["manifest"]}],
                    },
                ),
            ),
        )
    }

    def post(self, request: Request) -> Response:
        """Submit each."""
        body = self.body()

        def all_of_them(key: UUID) -> Response:
            def one(index: int, item: Json) -> ClaimRequest:
                sent = {"cluster": body["cluster"], **item}
                return self.submitted(sent, uuid.uuid5(key, str(index)))

            return self.each(one, body["items"])

        return once(request, all_of_them, keep=may_be_kept)


class RequestBulkRelease(BulkView):
    """The end of many claim requests."""

    work = Work.RELEASE
    operations = {
        "POST": bulk_operation(
            id="releaseClaimRequests",
            summary="Release what many requests made; each by its own ETag",
            description="One that is being released, or is released, is left as it is"
            " and counts as done.",
            body=BulkReleaseBody,
        )
    }

    def post(self, request: Request) -> Response:
        """Begin each release."""
        items = self.body()["items"]
        return once(
            request, lambda _key: self.each(self._release, items), keep=may_be_kept
        )

    def _release(self, _index: int, item: Json) -> ClaimRequest:
        row = self.visible(item["id"])
        refuse_others(row, self.person, "release.not_yours")
        if row.state in (State.RELEASING, State.RELEASED):
            return row
        demand_tag(item["etag"], documents.etag_of(row), at=("pointer", "#/etag"))
        release(
            row,
            user=self.person,
            pods=[(pod["name"], pod["uid"]) for pod in item["pods"]],
            request_id=self.request_id,
            now=timezone.now(),
        )
        row.refresh_from_db()
        return row

"""What a requester does to a claim request: cancel it, try it again, release it."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.response import Response

from claims.api import documents, serializers
from claims.api.requests import ACCEPTED, RequestView, accepted
from claims.domain.operations import Work
from claims.queries.requests import timeline
from claims.services.ending import cancel
from claims.services.releasing import release
from claims.services.retrying import try_again
from portal.accounts.domain.roles import Permission
from portal.accounts.domain.scopes import Scope
from portal.api.idempotency import once
from portal.api.matching import demand_match
from portal.api.operations import Operation
from portal.api.problems import ApiProblem

if TYPE_CHECKING:
    from rest_framework.request import Request

    from claims.models import ClaimRequest
    from portal.accounts.models import User

Json = dict[str, Any]


def refuse_others(row: ClaimRequest, person: User, code: str) -> None:
    """Refuse a move by anybody but who asked for it.

    Raises:
        ApiProblem: 403 with this code.
    """
    if row.requester_id != person.pk:
        text = _("Only who asked for it may do that: %(user)s.")
        raise ApiProblem(403, code, text % {"user": row.requester.username})


def _move(**more: Any) -> Operation:
    """Return an operation that moves a request and is then waited for."""
    return Operation(
        tag="claim requests",
        scope=Scope.CLAIMS_WRITE,
        permission=Permission.COMPOSE,
        answer=serializers.ClaimRequestDetail,
        status=202,
        bucket="write",
        is_idempotent=True,
        needs_match=True,
        headers=ACCEPTED,
        **more,
    )


class MoveView(RequestView):
    """A view with which a requester moves a request that they have seen.

    Attributes:
        refusal: the code of the problem for anybody else.
        work: the operation to wait for.
    """

    refusal: ClassVar[str]
    work: ClassVar[Work]

    def post(self, request: Request, id: UUID) -> Response:  # noqa: A002  the address's
        """Move it; the same Idempotency-Key moves it once."""
        row = self.visible(id)
        refuse_others(row, self.person, self.refusal)
        body = self.body() if self.operations["POST"].body else {}
        return once(request, lambda _key: self._moved(row, body))

    def _moved(self, row: ClaimRequest, body: Json) -> Response:
        demand_match(self.request, documents.etag_of(row))
        self.move(row, body)
        row.refresh_from_db()
        return accepted(
            row, self.work, documents.request_detail_document(row, timeline(row))
        )

    @abstractmethod
    def move(self, row: ClaimRequest, body: Json) -> None:
        """Move the request, or raise what says why not."""


class RequestRelease(MoveView):
    """The end of a claim request."""

    refusal = "release.not_yours"
    work = Work.RELEASE
    operations = {
        "POST": _move(
            id="releaseClaimRequest",
            summary="Release what a request made",
            description="Ends the object, its claims and the pods that `pods` names."
            " Only its requester may.",
            body=serializers.ReleaseBody,
        )
    }

    def move(self, row: ClaimRequest, body: Json) -> None:
        """Begin the release."""
        release(
            row,
            user=self.person,
            pods=[(pod["name"], pod["uid"]) for pod in body["pods"]],
            request_id=self.request_id,
            now=timezone.now(),
        )


class RequestCancel(MoveView):
    """A claim request taken back."""

    refusal = "request.not_yours"
    work = Work.APPLY
    operations = {
        "POST": _move(
            id="cancelClaimRequest",
            summary="Take a request back before anything is made of it",
            description="While it waits, for an approval or a worker, or could not be"
            " applied. Only its requester may.",
        )
    }

    def move(self, row: ClaimRequest, body: Json) -> None:
        """Cancel it."""
        cancel(row, user=self.person, request_id=self.request_id, now=timezone.now())


class RequestRetry(MoveView):
    """Another attempt at a claim request that could not be applied."""

    refusal = "request.not_yours"
    work = Work.APPLY
    operations = {
        "POST": _move(
            id="retryClaimRequest",
            summary="Try again to apply a request that could not be applied",
            description="The same plan is applied, once approval, classes and person"
            " have been looked at anew: follow the operation. Only its requester may.",
        )
    }

    def move(self, row: ClaimRequest, body: Json) -> None:
        """Give it back to the workers."""
        try_again(row, user=self.person, request_id=self.request_id, now=timezone.now())

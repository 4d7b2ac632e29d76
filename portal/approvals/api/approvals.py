"""Approvals: what waits, what was decided, and deciding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _

from claims.services.ending import revoke
from portal.accounts.domain.roles import Permission
from portal.accounts.domain.scopes import Scope
from portal.api.matching import demand_match, unchanged
from portal.api.operations import Operation
from portal.api.views import ApiView
from portal.approvals.api import documents, serializers
from portal.approvals.models import Decision
from portal.approvals.queries.inbox import in_tab, visible_to, waiting_for
from portal.approvals.services.deciding import decide
from portal.approvals.services.narrowing import Narrower, approve_narrower
from portal.approvals.services.wording import standing_sentences
from portal.core.keyset import decoded_moment, page_of, rows_after

if TYPE_CHECKING:
    from rest_framework.request import Request
    from rest_framework.response import Response

    from portal.approvals.models import Approval

Json = dict[str, Any]

TAG = "approvals"
_ORDER = ("created_at", "pk")


class ApprovalView(ApiView):
    """A view of one approval, or of all."""

    def visible(self, public_id: UUID) -> Approval:
        """Return an approval that the caller may look at.

        Raises:
            Http404: There is none of that id for this caller.
        """
        rows = visible_to(self.person).filter(claim_request__public_id=public_id)
        row = rows.first()
        if row is None:
            raise Http404(_("There is no approval of that id for you."))
        return row

    def shown(self, row: Approval) -> Response:
        """Return an approval as it now is."""
        waits = waiting_for(self.person).filter(pk=row.pk).exists()
        document = documents.approval_detail_document(
            row, standing_sentences(row), may_decide=waits
        )
        return self.answer(document, headers={"ETag": documents.etag_of(row)})


class ApprovalList(ApprovalView):
    """The approvals that the caller may look at."""

    operations = {
        "GET": Operation(
            id="listApprovals",
            summary="List approvals: what waits for you, your own, or all that you see",
            tag=TAG,
            scope=Scope.APPROVALS_READ,
            query=serializers.ApprovalParameters,
            answer=serializers.Approval,
            listed=True,
        )
    }

    def get(self, request: Request) -> Response:
        """Return a page of approvals, newest first."""
        limit = self.wanted["limit"]
        rows = rows_after(
            in_tab(self.person, self.wanted["tab"]),
            _ORDER,
            decoded_moment(self.wanted["cursor"]),
            descending=True,
        )
        page = page_of(
            list(rows[: limit + 1]),
            limit,
            lambda row: (row.created_at.isoformat(), row.pk),
        )
        return self.page(page, documents.approval_document)


class ApprovalDetail(ApprovalView):
    """One approval."""

    operations = {
        "GET": Operation(
            id="getApproval",
            summary="Say what is asked, why it needs an approval, and who decided",
            tag=TAG,
            scope=Scope.APPROVALS_READ,
            answer=serializers.ApprovalDetail,
            headers=(("ETag", "For If-Match of a decision, and for If-None-Match."),),
        )
    }

    def get(self, request: Request, id: UUID) -> Response:  # noqa: A002  the address's
        """Return the approval, or 304."""
        row = self.visible(id)
        return unchanged(request, documents.etag_of(row)) or self.shown(row)


class ApprovalDecide(ApprovalView):
    """A decision."""

    operations = {
        "POST": Operation(
            id="decideApproval",
            summary="Approve or deny a request",
            description="`narrower` approves less than was asked: fewer hours, fewer"
            " devices. What is made then has another digest, and others who have to"
            " agree decide about that.",
            tag=TAG,
            scope=Scope.APPROVALS_DECIDE,
            permission=Permission.DECIDE,
            body=serializers.DecisionBody,
            answer=serializers.ApprovalDetail,
            bucket="write",
            needs_match=True,
            headers=(("ETag", "Of the approval as it now is."),),
            problems=(403, 409, 422),
        )
    }

    def post(self, request: Request, id: UUID) -> Response:  # noqa: A002  the address's
        """Take the decision; of two at once, one is told that it was late."""
        row = self.visible(id)
        body = self.body()
        demand_match(request, documents.etag_of(row))
        said = {
            "user": self.person,
            "reason": body["reason"],
            "digest": body["digest"],
            "request_id": self.request_id,
            "now": timezone.now(),
        }
        less = body["narrower"]
        if less and body["verdict"] == Decision.Verdict.APPROVE:
            approve_narrower(row, Narrower(less["hours"], dict(less["counts"])), **said)
        else:
            decide(row, verdict=Decision.Verdict(body["verdict"]), **said)
        return self.shown(self.visible(id))


class ApprovalRevoke(ApprovalView):
    """The end of what was approved."""

    operations = {
        "POST": Operation(
            id="revokeApproval",
            summary="End at once what an active request made, whatever still uses it",
            description="Its pods, claims and template are deleted by the portal, and"
            " looked for until they are gone.",
            tag=TAG,
            scope=Scope.APPROVALS_DECIDE,
            permission=Permission.DECIDE,
            body=serializers.RevocationBody,
            answer=serializers.ApprovalDetail,
            bucket="write",
            needs_match=True,
            headers=(("ETag", "Of the approval as it now is."),),
            problems=(403, 409),
        )
    }

    def post(self, request: Request, id: UUID) -> Response:  # noqa: A002  the address's
        """Revoke it."""
        row = self.visible(id)
        body = self.body()
        demand_match(request, documents.etag_of(row))
        revoke(
            row.claim_request,
            user=self.person,
            reason=body["reason"],
            request_id=self.request_id,
            now=timezone.now(),
        )
        return self.shown(self.visible(id))

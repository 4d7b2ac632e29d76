"""How long requests last: extensions, what is idle, and what drifted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.conf import settings
from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _

from claims.queries.requests import visible_to
from inventory.api.base import ClusterView
from portal.accounts.domain.roles import Permission
from portal.accounts.domain.scopes import Scope
from portal.api.matching import demand_match
from portal.api.operations import Operation
from portal.api.views import ApiView
from portal.approvals.api import serializers
from portal.approvals.models import Decision, Extension
from portal.approvals.queries.inbox import extensions_for
from portal.approvals.queries.lifetime import drift_of, idle_of
from portal.approvals.services.extending import NotExtended, ask_longer, say_on_longer

if TYPE_CHECKING:
    from rest_framework.request import Request
    from rest_framework.response import Response

    from claims.models import ClaimRequest
    from portal.approvals.models import IdleClaim
    from portal.approvals.queries.lifetime import Drift

Json = dict[str, Any]

TAG = "approvals"


def etag_of(row: ClaimRequest) -> str:
    """Return what changes with a request's end, its extensions and their words."""
    last = row.extensions.order_by("-pk").first()
    said = last.words.count() if last else 0
    key = f"{last.pk}-{last.state}-{said}" if last else "none"
    end = row.expires_at.isoformat() if row.expires_at else "never"
    return f'"lasts-{row.pk}-{end}-{key}"'


def _extension(row: Extension) -> Json:
    return {
        "until": row.until,
        "reason": row.reason,
        "state": row.state,
        "needed": row.needed,
        "role": row.role or None,
        "group": row.group or None,
        "decideBy": row.decide_by,
        "askedAt": row.asked_at,
        "words": [
            {
                "person": each.person.username,
                "verdict": each.verdict,
                "reason": each.reason or None,
                "saidAt": each.said_at,
            }
            for each in row.words.all()
        ],
    }


class LastingView(ApiView):
    """A view of how long one request lasts."""

    def visible(self, public_id: UUID) -> ClaimRequest:
        """Return a request that the caller may see.

        Raises:
            Http404: There is none of that id for this caller.
        """
        row = visible_to(self.person).filter(public_id=public_id).first()
        if row is None:
            raise Http404(_("There is no request of that id for you."))
        return row

    def shown(self, row: ClaimRequest) -> Response:
        """Return when a request ends, and what was asked of that."""
        rows = row.extensions.prefetch_related("words__person").order_by("-asked_at")
        waits = extensions_for(self.person).filter(claim_request=row).exists()
        document = {
            "expiresAt": row.expires_at,
            "mayDecide": waits,
            "extensions": [_extension(each) for each in rows],
        }
        return self.answer(document, headers={"ETag": etag_of(row)})


class Extensions(LastingView):
    """What was asked about a request's end."""

    operations = {
        "GET": Operation(
            id="listExtensions",
            summary="Say when a request ends, and who asked that it lasts longer",
            tag=TAG,
            scope=Scope.CLAIMS_READ,
            answer=serializers.Lasting,
            headers=(("ETag", "For If-Match of a decision."),),
        ),
        "POST": Operation(
            id="askForExtension",
            summary="Ask that an active request of yours lasts longer",
            description="Where policy lets it pass it does at once; else people decide.",
            tag=TAG,
            scope=Scope.CLAIMS_WRITE,
            permission=Permission.COMPOSE,
            body=serializers.ExtensionBody,
            answer=serializers.Lasting,
            bucket="write",
            headers=(("ETag", "For If-Match of a decision."),),
            problems=(409,),
        ),
    }

    def get(self, request: Request, id: UUID) -> Response:  # noqa: A002  the address's
        """Return them, the last asked first."""
        return self.shown(self.visible(id))

    def post(self, request: Request, id: UUID) -> Response:  # noqa: A002  the address's
        """Ask."""
        row, body = self.visible(id), self.body()
        ask_longer(
            row,
            user=self.person,
            until=body["until"],
            reason=body["reason"],
            request_id=self.request_id,
            now=timezone.now(),
        )
        return self.shown(self.visible(id))


class ExtensionDecide(LastingView):
    """A word on an extension."""

    operations = {
        "POST": Operation(
            id="decideExtension",
            summary="Approve or deny that a request lasts longer",
            tag=TAG,
            scope=Scope.APPROVALS_DECIDE,
            permission=Permission.DECIDE,
            body=serializers.ExtensionWordBody,
            answer=serializers.Lasting,
            bucket="write",
            needs_match=True,
            headers=(("ETag", "Of how it now stands."),),
            problems=(403, 409, 422),
        )
    }

    def post(self, request: Request, id: UUID) -> Response:  # noqa: A002  the address's
        """Take the word; of two at once, one is told that it was late."""
        row, body = self.visible(id), self.body()
        demand_match(request, etag_of(row))
        opened = row.extensions.filter(state=Extension.State.OPEN).first()
        if opened is None:
            raise NotExtended(_("There is nothing left to decide here."))
        say_on_longer(
            opened,
            user=self.person,
            verdict=Decision.Verdict(body["verdict"]),
            reason=body["reason"],
            request_id=self.request_id,
            now=timezone.now(),
        )
        return self.shown(self.visible(id))


class LifetimeView(ClusterView):
    """What is idle in a cluster, and what is not as the portal made it."""

    operations = {
        "GET": Operation(
            id="getLifetime",
            summary="List idle claims, and what drifted from what was asked",
            description="`known` is false where claims or pods of the cluster are not"
            " readable: then that nothing is listed says nothing. At most 500 idle claims.",
            tag=TAG,
            scope=Scope.CLAIMS_READ,
            answer=serializers.Lifetime,
        )
    }

    def get(self, request: Request, cluster: str) -> Response:
        """Return both."""
        found = self.cluster()
        return self.answer(
            {
                "known": found.sees("ResourceClaim", "Pod"),
                "toldAfterHours": settings.SLICEWISE_IDLE_HOURS,
                "idle": [_idle(each) for each in idle_of(self.person, found)],
                "drift": [_drift(each) for each in drift_of(self.person, found)],
            }
        )


def _idle(row: IdleClaim) -> Json:
    own = row.claim_request
    return {
        "namespace": row.namespace,
        "name": row.name,
        "since": row.since,
        "toldAt": row.told_at,
        "claimRequest": str(own.public_id) if own else None,
    }


def _drift(row: Drift) -> Json:
    own = row.claim_request
    return {
        "drift": row.kind,
        "kind": row.object_kind,
        "namespace": row.namespace,
        "name": row.name,
        "claimRequest": str(own.public_id) if own else None,
        "changes": [
            {"path": path, "made": made or None, "found": found or None}
            for path, made, found in row.fields
        ],
    }

"""The audit trail, and whether it is whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rest_framework import serializers as s

from portal.accounts.domain.roles import Permission
from portal.accounts.domain.scopes import Scope
from portal.api import serializers
from portal.api.operations import Operation, PageParameters
from portal.api.views import ApiView
from portal.audit.queries.trail import Filters, trail
from portal.audit.services.sealing import event_models, seal, verify
from portal.core.keyset import decoded, page_of

if TYPE_CHECKING:
    from rest_framework.request import Request
    from rest_framework.response import Response

    from portal.audit.models import Seal

Json = dict[str, Any]

TAG = "audit"


class AuditParameters(PageParameters):
    """What is looked for; empty finds everything."""

    actor = s.CharField(default="", max_length=150)
    text = s.CharField(
        default="",
        max_length=200,
        help_text="In the reason, messages; or a whole id, of the request or an audit log.",
    )
    table = s.CharField(default="", max_length=63)
    since = s.DateTimeField(default=None)
    until = s.DateTimeField(default=None)
    routine = s.BooleanField(
        default=False, help_text="Also what only says that a worker was at it."
    )


class VerifyParameters(s.Serializer[Any]):
    """What must still be there."""

    head = s.CharField(
        default="", max_length=64, help_text="A digest that an earlier check gave."
    )


def _document(row: Seal) -> Json:
    return {
        "number": row.number,
        "at": row.at,
        "table": row.table,
        "object": row.object_id,
        "actor": row.actor or None,
        "reason": row.reason or None,
        "requestId": row.request_id or None,
        "kubernetesAuditIds": row.audit_ids,
        "changes": row.changes,
        "previous": row.previous,
        "digest": row.digest,
    }


class AuditList(ApiView):
    """What happened."""

    operations = {
        "GET": Operation(
            id="listAuditTrail",
            summary="List what happened, newest first",
            tag=TAG,
            scope=Scope.AUDIT_READ,
            permission=Permission.SEE_AUDIT,
            query=AuditParameters,
            answer=serializers.AuditSeal,
            listed=True,
        )
    }

    def get(self, request: Request) -> Response:
        """Return a page of seals, sealed up to this moment."""
        seal()
        wanted = self.wanted
        rows = trail(
            Filters(
                actor=wanted["actor"],
                text=wanted["text"],
                table=wanted["table"],
                since=wanted["since"],
                until=wanted["until"],
                is_whole=wanted["routine"],
            )
        )
        key = decoded(wanted["cursor"], (int,))
        if key is not None:
            rows = rows.filter(number__lt=key[0])
        limit = wanted["limit"]
        page = page_of(list(rows[: limit + 1]), limit, lambda row: (row.number,))
        return self.page(page, _document)


class AuditVerify(ApiView):
    """Whether the trail is whole."""

    operations = {
        "GET": Operation(
            id="verifyAuditTrail",
            summary="Check the whole chain of hashes against the events",
            description="As `manage.py verify_audit`.",
            tag=TAG,
            scope=Scope.AUDIT_READ,
            permission=Permission.SEE_AUDIT,
            query=VerifyParameters,
            answer=serializers.AuditVerified,
            bucket="check",
        )
    }

    def get(self, request: Request) -> Response:
        """Return what was found."""
        seal()
        found = verify(head=self.wanted["head"])
        faults = [
            {
                "code": each.code,
                "number": each.number,
                "detail": each.detail or None,
            }
            for each in found.faults
        ]
        return self.answer(
            {
                "isWhole": not faults,
                "seals": found.seals,
                "head": found.head,
                "faults": faults,
                "tables": list(event_models()),
            }
        )

"""Who calls, and the tokens that they have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.response import Response

from portal.accounts.models import ApiToken, TenantNamespace
from portal.accounts.tokens import revoke_token, tokens_of
from portal.api import serializers
from portal.api.operations import Operation, PageParameters
from portal.api.views import ApiView

if TYPE_CHECKING:
    from rest_framework.request import Request

Json = dict[str, Any]

TAG = "you"


class MeView(ApiView):
    """Who calls."""

    operations = {
        "GET": Operation(
            id="getMe",
            summary="Say who you are here, and what you may do",
            tag=TAG,
            scope=None,
            answer=serializers.Me,
        )
    }

    def get(self, request: Request) -> Response:
        """Return the person, within the token."""
        person = self.person
        rows = TenantNamespace.objects.filter(tenant__members=person)
        named = rows.order_by("cluster", "namespace").values_list(
            "cluster", "namespace", "tenant__name"
        )
        return self.answer(
            {
                "username": person.username,
                "roles": list(person.roles),
                "permissions": sorted(person.permissions),
                "scopes": getattr(request.auth, "scopes", None),
                "tenants": sorted(person.tenants.values_list("name", flat=True)),
                "namespaces": [
                    {"cluster": cluster, "namespace": namespace, "tenant": tenant}
                    for cluster, namespace, tenant in named
                ],
            }
        )


class TokenList(ApiView):
    """One's own tokens; they are made on the page, by a person who is signed in."""

    operations = {
        "GET": Operation(
            id="listTokens",
            summary="List your tokens, without what is secret of them",
            tag=TAG,
            scope=None,
            query=PageParameters,
            answer=serializers.Token,
            listed=True,
        )
    }

    def get(self, request: Request) -> Response:
        """Return a page of tokens, the last made first."""
        return self.newest_first(tokens_of(self.person), token_document)


class TokenDetail(ApiView):
    """One of one's own tokens."""

    operations = {
        "DELETE": Operation(
            id="revokeToken",
            summary="Revoke one of your tokens; this one too",
            tag=TAG,
            scope=None,
            status=204,
            bucket="write",
        )
    }

    def delete(self, request: Request, id: UUID) -> Response:  # noqa: A002  the address's
        """End the token."""
        if not revoke_token(user=self.person, public_id=id, now=timezone.now()):
            raise Http404(_("You have no such token that still works."))
        return Response(status=204)


def token_document(row: ApiToken) -> Json:
    """Return a token, without what is secret of it."""
    return {
        "id": str(row.public_id),
        "name": row.name,
        "prefix": row.prefix,
        "scopes": row.scopes,
        "addresses": row.addresses,
        "createdAt": row.created_at,
        "expiresAt": row.expires_at,
        "lastUsedAt": row.last_used_at,
        "revokedAt": row.revoked_at,
    }

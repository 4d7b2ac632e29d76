"""The claims of a cluster, whoever made them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import Http404
from django.utils.translation import gettext as _

from claims.api import documents, parameters, serializers
from claims.queries.claims import visible_claims, with_pods
from claims.queries.lists import claim_page
from inventory.api.base import ClusterView
from portal.accounts.domain.scopes import Scope
from portal.api.operations import Operation

if TYPE_CHECKING:
    from rest_framework.request import Request
    from rest_framework.response import Response


class ClaimList(ClusterView):
    """The claims that the caller may see."""

    operations = {
        "GET": Operation(
            id="listClaims",
            summary="List the claims of a cluster that you may see",
            tag="claims",
            scope=Scope.CLAIMS_READ,
            query=parameters.ClaimParameters,
            answer=serializers.Claim,
            listed=True,
        )
    }

    def get(self, request: Request, cluster: str) -> Response:
        """Return a page of claims by namespace and name."""
        text = self.wanted.pop("q")
        page = claim_page(self.person, self.cluster(), text=text, **self.wanted)
        return self.page(page, documents.claim_document)


class ClaimDetail(ClusterView):
    """One claim."""

    operations = {
        "GET": Operation(
            id="getClaim",
            summary="Say how a claim stands and what it holds",
            tag="claims",
            scope=Scope.CLAIMS_READ,
            answer=serializers.Claim,
        )
    }

    def get(
        self, request: Request, cluster: str, namespace: str, name: str
    ) -> Response:
        """Return the claim."""
        found = self.cluster()
        rows = visible_claims(self.person, found)
        row = rows.filter(namespace=namespace, name=name).first()
        if row is None:
            raise Http404(_("There is no claim of that name for you."))
        return self.answer(documents.claim_document(with_pods(found, [row])[0]))

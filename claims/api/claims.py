"""The claims of a cluster, whoever made them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import Http404
from django.utils.translation import gettext as _

from claims.api import documents, parameters, serializers, waiting_serializers
from claims.domain.follow import ClaimState, state_of
from claims.queries.claims import visible_claims, with_pods
from claims.queries.lists import claim_page
from claims.services.waiting import waiting_of
from inventory.api.base import ClusterView
from portal.accounts.domain.scopes import Scope
from portal.api.operations import Operation
from portal.api.problems import ApiProblem

if TYPE_CHECKING:
    from rest_framework.request import Request
    from rest_framework.response import Response

    from inventory.models import Cluster, KubeObject


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
        row = self.visible(found, namespace, name)
        return self.answer(documents.claim_document(with_pods(found, [row])[0]))

    def visible(self, cluster: Cluster, namespace: str, name: str) -> KubeObject:
        """Return a claim that the caller may see.

        Raises:
            Http404: There is none of that name for them.
        """
        rows = visible_claims(self.person, cluster)
        row = rows.filter(namespace=namespace, name=name).first()
        if row is None:
            raise Http404(_("There is no claim of that name for you."))
        return row


class ClaimWaiting(ClaimDetail):
    """What a pending claim waits for."""

    operations = {
        "GET": Operation(
            id="getClaimWaiting",
            summary="Say whose end would free a pending claim, and its place in Kueue",
            description="`endings` are claims of which each, by its end, would let this"
            " one fit; another tenant's has no name. `kueue` is null where the cluster"
            " has no Kueue.",
            tag="claims",
            scope=Scope.CLAIMS_READ,
            answer=waiting_serializers.ClaimWaiting,
            bucket="check",
            problems=(409,),
        )
    }

    def get(
        self, request: Request, cluster: str, namespace: str, name: str
    ) -> Response:
        """Return what it waits for."""
        found = self.cluster()
        row = self.visible(found, namespace, name)
        if state_of(row.body, None) is not ClaimState.PENDING:
            raise ApiProblem(
                409, "claim.not_pending", _("It waits for nothing: it has its devices.")
            )
        waiting = waiting_of(found, self.person, row.body)
        return self.answer(documents.waiting_document(waiting))

"""Copies that fit, and moves that would free a larger piece: asked, never done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asgiref.sync import async_to_sync
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiExample
from rest_framework import exceptions

from claims.api import moving_serializers as shapes
from claims.api.base import age_of, judging
from claims.api.validating import CLAIM
from claims.services.copies import acopies_asked
from claims.services.diagnosing import hidden_from
from claims.services.judging import filed_for
from claims.services.moves import amoves
from claims.services.whatif import claim_in
from inventory.api.base import ClusterView
from inventory.gateways.files import parse_objects

if TYPE_CHECKING:
    from rest_framework.request import Request
    from rest_framework.response import Response

    from claims.services.copies import CopiesAnswer
    from claims.services.moves import Move, Moves, Place
    from claims.services.shown import Reason, Together
    from inventory.models import Cluster

Json = dict[str, Any]

TEMPLATE = {
    "apiVersion": CLAIM["apiVersion"],
    "kind": "ResourceClaimTemplate",
    "metadata": CLAIM["metadata"],
    "spec": {"spec": CLAIM["spec"]},
}


class ManifestView(ClusterView):
    """A view that takes one claim or template, as JSON or as YAML."""

    def manifest_sent(self, cluster: Cluster) -> tuple[Json, Json]:
        """Return the manifest, and what goes with it.

        Raises:
            ValidationError: 400; the body is of another shape.
            PortalError: It holds no claim or template, or one of a foreign namespace.
        """
        data = self.request.data
        if isinstance(data, dict) and isinstance(data.get("text"), bytes):
            objects, wanted = (
                parse_objects(data["text"], _("The body"))[:1],
                self.wanted,
            )
        elif self.request.query_params:
            raise exceptions.ValidationError(
                _("With JSON, what goes with the manifest are members of the body.")
            )
        else:
            wanted = self.body()
            objects = [wanted["manifest"]]
        filed = filed_for(self.person, cluster, objects, namespace=wanted["namespace"])
        return claim_in(filed.items[0]), wanted


class CopiesView(ManifestView):
    """How many copies of a template fit now."""

    operations = {
        "POST": judging(
            id="countCopies",
            summary="Count how many copies of a template fit now, all together",
            description="As a Deployment of as many would ask; and why the first that"
            " does not fit, does not. Pods share a ResourceClaim, so that of one"
            " `together` is null.",
            body=shapes.CopiesBody,
            query=shapes.YamlCopiesParameters,
            yaml=True,
            answer=shapes.Copies,
            examples=(
                OpenApiExample(
                    "One GPU for each pod",
                    request_only=True,
                    media_type="application/json",
                    value={"manifest": TEMPLATE},
                ),
            ),
        )
    }

    def post(self, request: Request, cluster: str) -> Response:
        """Return the counts."""
        found = self.cluster()
        manifest, wanted = self.manifest_sent(found)
        hidden = hidden_from(self.person, found)
        counted = async_to_sync(acopies_asked)(found, manifest, hidden, wanted["most"])
        return self.answer({**age_of(found), **copies_document(counted)})


def copies_document(counted: CopiesAnswer) -> Json:
    """Return counts as JSON."""
    return {
        "revision": counted.revision,
        "nodes": {
            name: {
                "copies": each.copies,
                "atLeast": each.at_least,
                "message": each.message or None,
            }
            for name, each in sorted(counted.nodes.items())
        },
        "together": together_document(counted.together) if counted.together else None,
        "problem": counted.problem or None,
    }


def together_document(found: Together) -> Json:
    """Return how many copies fit at once as JSON."""
    return {
        "copies": found.copies,
        "atLeast": found.at_least,
        "failing": None if found.at_least else found.failing,
        "reasons": [reason_document(each) for each in found.reasons],
    }


def reason_document(reason: Reason) -> Json:
    """Return why one alternative finds too little as JSON."""
    return {"request": reason.label, "cause": reason.first, "message": reason.text}


class MoveList(ClusterView):
    """The moves that would free a larger piece of a card."""

    operations = {
        "GET": judging(
            id="listMoves",
            summary="List the moves that would free a larger piece than there is now",
            description="One claim ended and made anew elsewhere, each proven by"
            " Kubernetes' own allocator; what was not looked at in time is counted."
            " The claims of other tenants are null.",
            answer=shapes.Moves,
        )
    }

    def get(self, request: Request, cluster: str) -> Response:
        """Return proven moves, the largest pieces first."""
        found = self.cluster()
        hidden = hidden_from(self.person, found)
        moves = async_to_sync(amoves)(found)
        return self.answer({**age_of(found), **moves_document(moves, hidden)})


def moves_document(found: Moves, hidden: frozenset[str]) -> Json:
    """Return moves as JSON; claims of hidden namespaces are null."""
    return {
        "revision": found.revision,
        "kinds": [
            {
                "product": each.product or None,
                "kind": each.kind,
                "largest": each.largest,
            }
            for each in found.kinds
        ],
        "moves": [_move(each, hidden) for each in found.moves],
        "notLookedAt": found.not_looked_at,
    }


def _move(move: Move, hidden: frozenset[str]) -> Json:
    namespace, name = move.claim
    claim = None if namespace in hidden else {"namespace": namespace, "name": name}
    return {
        "product": move.candidate.card.product or None,
        "kind": move.candidate.card.kind,
        "frees": {
            "profile": move.piece.profile or None,
            "role": move.piece.role,
            "memory": move.piece.size,
            "device": move.device,
            "largestNow": move.candidate.largest,
        },
        "claim": claim,
        "holds": move.candidate.moved,
        "pods": move.pods,
        "from": _place(move.source),
        "to": _place(move.target),
    }


def _place(place: Place) -> Json:
    return {"node": place.node or None, "devices": list(place.devices)}

"""The shapes of copies and moves, for the API's document."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers as s

from claims.api.judging_serializers import OfSnapshot
from claims.api.parameters import YamlParameters
from claims.services.copies import MOST_COPIES

MOST_ASKED = 1_000
KINDS = ["whole", "dynamic", "static", "shares"]


class CopiesBody(s.Serializer[Any]):
    manifest = s.DictField(help_text="A ResourceClaimTemplate, or a ResourceClaim.")
    namespace = s.CharField(
        default="", allow_blank=True, max_length=63, help_text="Where it names none."
    )
    most = s.IntegerField(
        default=MOST_COPIES,
        min_value=1,
        max_value=MOST_ASKED,
        help_text="After so many the count ends.",
    )


class YamlCopiesParameters(YamlParameters):
    """What a YAML body cannot say itself."""

    most = s.IntegerField(
        default=MOST_COPIES, min_value=1, max_value=MOST_ASKED, help_text="With YAML."
    )


class NodeCopies(s.Serializer[Any]):
    copies = s.IntegerField()
    atLeast = s.BooleanField(help_text="More may fit.")
    message = s.CharField(allow_null=True, help_text="The allocator's own words.")


class CopyReason(s.Serializer[Any]):
    request = s.CharField(help_text="Or request/subrequest.")
    cause = s.CharField(allow_blank=True, help_text="The first cause, in short.")
    message = s.CharField()


class CopiesTogether(s.Serializer[Any]):
    copies = s.IntegerField()
    atLeast = s.BooleanField(help_text="More may fit: the count ended before.")
    failing = s.IntegerField(
        allow_null=True, help_text="The first copy that does not fit."
    )
    reasons = CopyReason(many=True, help_text="Why it fits nowhere.")


class Copies(OfSnapshot):
    revision = s.IntegerField()
    nodes = s.DictField(
        child=NodeCopies(), help_text="Each node that takes one, by itself."
    )
    together = CopiesTogether(allow_null=True)
    problem = s.CharField(
        allow_null=True, help_text="What ends scheduling on every node."
    )


class MovePlace(s.Serializer[Any]):
    node = s.CharField(allow_null=True)
    devices = s.ListField(child=s.CharField(), help_text="As pool/device.")


class MovedClaim(s.Serializer[Any]):
    namespace = s.CharField()
    name = s.CharField()


class FreedPiece(s.Serializer[Any]):
    profile = s.CharField(allow_null=True, help_text="Of a partition.")
    role = s.ChoiceField(["whole", "partition", "passthrough"])
    memory = s.IntegerField(help_text="Bytes.")
    device = s.CharField(help_text="As pool/device.")
    largestNow = s.IntegerField(
        help_text="Bytes of the largest piece that any card of its kind gives."
    )


class CardKind(s.Serializer[Any]):
    product = s.CharField(allow_null=True)
    kind = s.ChoiceField(KINDS, help_text="How its cards are cut up.")
    largest = s.IntegerField(
        allow_null=True, help_text="Bytes in one piece now; null: not known."
    )


class Move(s.Serializer[Any]):
    product = s.CharField(allow_null=True)
    kind = s.ChoiceField(KINDS, help_text="How the card is cut up.")
    frees = FreedPiece()
    claim = MovedClaim(allow_null=True, help_text="null: in use by others.")
    holds = s.IntegerField(allow_null=True, help_text="Bytes; null: not known.")
    pods = s.IntegerField(help_text="That use it, and would start anew.")
    to = MovePlace()

    def get_fields(self) -> dict[str, Any]:
        """Return the fields; one is named as no Python name may be."""
        return {**super().get_fields(), "from": MovePlace()}


class Moves(OfSnapshot):
    revision = s.IntegerField()
    kinds = CardKind(many=True)
    moves = Move(many=True)
    notLookedAt = s.IntegerField(
        help_text="Claims that may help, for which there was no time."
    )

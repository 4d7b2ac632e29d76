"""The shapes of an explained preview, for the API's document."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers as s

from claims.api.judging_serializers import EngineVersion, OfSnapshot
from claims.api.moving_serializers import CopiesTogether, CopyReason


class ExplainBody(s.Serializer[Any]):
    manifest = s.DictField(help_text="A ResourceClaim or ResourceClaimTemplate.")
    namespace = s.CharField(
        default="", allow_blank=True, max_length=63, help_text="Where it names none."
    )


class ExplainedNode(s.Serializer[Any]):
    node = s.CharField()
    marks = s.ListField(
        child=s.CharField(), help_text="Cordoned, not ready, tainted: in words."
    )
    outcome = s.ChoiceField(["fits", "no", "node-error", "error", "undecided"])
    message = s.CharField(allow_null=True, help_text="The allocator's own words.")
    score = s.IntegerField(allow_null=True)
    copies = s.IntegerField(
        allow_null=True, help_text="That fit on it; null: not counted."
    )
    reasons = CopyReason(many=True, help_text="Of each request that is short.")
    blame = s.CharField(allow_null=True, help_text="What keeps requests apart.")
    alike = s.IntegerField(help_text="Nodes that say the same, itself counted.")


class ExplainedAlternative(s.Serializer[Any]):
    request = s.CharField(help_text="As request/subrequest.")
    number = s.IntegerField(help_text="In its list, from 1.")
    fitting = s.ListField(child=s.CharField(), help_text="If it were the only one.")
    undecided = s.IntegerField()
    total = s.IntegerField()
    problem = s.CharField(allow_null=True)


class ProvenChange(s.Serializer[Any]):
    message = s.CharField()
    where = s.CharField(help_text="Where the claim fits then.")
    path = s.CharField(
        allow_null=True, help_text="In the manifest; null: it is no edit of it."
    )
    value = s.CharField(
        allow_null=True, help_text="What stands there then, as JSON; null: nothing."
    )


class CostOfSelector(s.Serializer[Any]):
    owner = s.CharField(help_text="A request, an alternative or a class.")
    ofClass = s.BooleanField()
    number = s.IntegerField(help_text="Of its selectors, from 1.")
    expression = s.CharField()
    devices = s.IntegerField(help_text="That are asked at most.")
    cost = s.IntegerField(allow_null=True, help_text="Estimated units a device.")
    microseconds = s.FloatField(allow_null=True, help_text="Measured, a device.")


class CostOfClaim(s.Serializer[Any]):
    slices = s.IntegerField()
    devices = s.IntegerField()
    selectors = CostOfSelector(many=True)


class Explained(OfSnapshot):
    revision = s.IntegerField()
    engine = EngineVersion()
    fitting = s.IntegerField(help_text="Nodes.")
    undecided = s.IntegerField(help_text="Nodes.")
    total = s.IntegerField(help_text="Nodes.")
    problem = s.CharField(
        allow_null=True, help_text="What ends scheduling on every node."
    )
    best = s.ListField(
        child=s.CharField(),
        help_text="Nodes of the highest score of this plugin, where scores differ;"
        " other plugins score, too.",
    )
    nodes = ExplainedNode(
        many=True,
        help_text="The best of those that fit, and of those that say alike some.",
    )
    alternatives = ExplainedAlternative(many=True)
    together = CopiesTogether(allow_null=True)
    changes = ProvenChange(many=True, help_text="The smallest first.")
    cost = CostOfClaim(allow_null=True)

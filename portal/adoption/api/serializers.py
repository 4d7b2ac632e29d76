"""The shapes of what the API says of adoption, for its document."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers as s

from portal.adoption.domain.readiness import Answer

ANSWERS = [each.value for each in Answer]


class ReadinessVerdict(s.Serializer[Any]):
    code = s.CharField(help_text="Which question; stable.")
    title = s.CharField()
    answer = s.ChoiceField(ANSWERS)
    evidence = s.CharField(help_text="What the answer is known from.")
    advice = s.CharField(
        allow_null=True, help_text="What to do; null where all is well."
    )


class NodeReadiness(s.Serializer[Any]):
    node = s.CharField()
    verdicts = ReadinessVerdict(many=True)


class MigLayout(s.Serializer[Any]):
    layout = s.CharField(help_text="Of the MIG manager's ConfigMap.")
    product = s.CharField(allow_null=True, help_text="null: slices name none.")
    profile = s.CharField()
    told = s.IntegerField(help_text="Devices that the layout makes on its nodes.")
    published = s.IntegerField(help_text="Devices that their slices publish.")
    nodes = s.IntegerField()


class Readiness(s.Serializer[Any]):
    cluster = s.CharField()
    revision = s.IntegerField()
    verdicts = ReadinessVerdict(many=True)
    nodes = NodeReadiness(many=True)
    migLayouts = MigLayout(
        many=True, help_text="Of nodes whose label names one and whose slices are read."
    )

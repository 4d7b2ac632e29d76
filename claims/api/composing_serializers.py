"""The shapes of drafts, templates, the builder and what is free, for the API's document."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers as s

from claims.api.judging_serializers import OfSnapshot
from claims.api.preset_serializers import Room


class DraftBody(s.Serializer[Any]):
    cluster = s.CharField(max_length=63)
    manifest = s.DictField(
        help_text="A ResourceClaim or ResourceClaimTemplate, finished or not."
    )


class Draft(s.Serializer[Any]):
    id = s.UUIDField()
    cluster = s.CharField()
    kind = s.CharField()
    namespace = s.CharField(allow_null=True)
    name = s.CharField(allow_null=True)
    manifest = s.DictField(help_text="What it would send as it stands.")
    origin = s.CharField(allow_null=True, help_text="What it was begun from.")
    createdAt = s.DateTimeField()
    changedAt = s.DateTimeField()
    expiresAt = s.DateTimeField(help_text="When it is forgotten, unchanged.")


class Template(s.Serializer[Any]):
    namespace = s.CharField()
    name = s.CharField()
    uid = s.CharField()
    classes = s.ListField(child=s.CharField())
    keptBy = s.CharField(
        allow_null=True, help_text="`domain`, or the claim request that made it."
    )
    yours = s.BooleanField(help_text="Whether it is in one of your namespaces.")


class TemplateDetail(Template):
    manifest = s.DictField(help_text="Without what servers and the portal added.")
    pods = s.ListField(
        child=s.CharField(), allow_null=True, help_text="null: not yours to see."
    )
    podCount = s.IntegerField()


class SelectorKey(s.Serializer[Any]):
    driver = s.CharField()
    space = s.ChoiceField(["attributes", "capacity"])
    domain = s.CharField()
    name = s.CharField()
    expression = s.CharField(help_text="As CEL names it.")
    kind = s.CharField(allow_null=True, help_text="string, int, …; null for a list.")
    values = s.ListField(child=s.CharField(), help_text="Up to six, the most frequent.")
    devices = s.IntegerField()


class ConditionBody(s.Serializer[Any]):
    expression = s.CharField(max_length=400, help_text="Of a key, as it is listed.")
    operator = s.ChoiceField(
        ["is", "is-not", "at-least", "at-most", "starts", "holds"], default="is"
    )
    value = s.CharField(max_length=400)
    deviceClass = s.CharField(
        default="",
        allow_blank=True,
        max_length=253,
        help_text="Whose devices are meant.",
    )


class Condition(s.Serializer[Any]):
    expression = s.CharField()


class AvailabilityParameters(s.Serializer[Any]):
    """What is wanted besides the classes."""

    namespace = s.CharField(
        default="", max_length=63, help_text="Whose quotas; one of yours."
    )
    presets = s.BooleanField(default=False, help_text="Ask for each preset, too.")


class ClassFree(s.Serializer[Any]):
    name = s.CharField()
    matching = s.IntegerField(allow_null=True, help_text="null: not known.")
    free = s.IntegerField(allow_null=True, help_text="null: not known.")
    matchingAtLeast = s.BooleanField(
        help_text="A pool lacks slices, so there may be more devices, and more free."
    )
    problem = s.CharField(allow_null=True)


class QuotaLeft(s.Serializer[Any]):
    quota = s.CharField()
    key = s.CharField()
    limit = s.IntegerField()
    left = s.IntegerField()


class PresetFree(Room):
    preset = s.CharField()


class Availability(OfSnapshot):
    classes = ClassFree(many=True)
    quotas = QuotaLeft(many=True)
    presets = PresetFree(many=True, allow_null=True)


class DomainBody(s.Serializer[Any]):
    manifest = s.DictField(help_text="A ComputeDomain of resource.nvidia.com/v1beta1.")


class DomainClique(s.Serializer[Any]):
    clique = s.CharField(allow_null=True, help_text="null: nobody tells it.")
    free = s.ListField(child=s.CharField())
    taken = s.ListField(child=s.CharField())
    undecided = s.ListField(child=s.CharField())


class DomainRoom(s.Serializer[Any]):
    wanted = s.IntegerField(help_text="Nodes of one clique.")
    verdict = s.ChoiceField(["fits", "no", "unknown"])
    cliques = DomainClique(many=True)


class DomainJudged(OfSnapshot):
    diagnostics = s.ListField(child=s.DictField())
    room = DomainRoom(allow_null=True)


class RepeatedSelector(s.Serializer[Any]):
    expression = s.CharField(help_text="In CEL.")
    classes = s.ListField(child=s.CharField(), help_text="Of what asks with it.")
    templates = s.ListField(child=s.CharField(), help_text="namespace/name.")
    deviceClass = s.DictField(help_text="A DeviceClass that could stand for it.")

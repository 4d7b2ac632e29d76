"""The shapes of what the API takes and says of presets, for its document."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers as s


class Rule(s.Serializer[Any]):
    min = s.CharField(required=False, max_length=40)
    max = s.CharField(required=False, max_length=40)


class PresetContent(s.Serializer[Any]):
    title = s.CharField(max_length=120)
    description = s.CharField(max_length=1000)
    category = s.CharField(max_length=60)
    manifest = s.DictField(help_text="A claim or template without a namespace.")
    fields = s.DictField(  # type: ignore[assignment]
        child=Rule(),
        default=dict,
        help_text="What people may change, by the form's field; all else is locked.",
    )
    tenants = s.ListField(
        child=s.CharField(),
        allow_null=True,
        default=None,
        help_text="null: everyone.",
    )


class PresetBody(PresetContent):
    name = s.SlugField(max_length=63)


class Preset(PresetBody):
    version = s.IntegerField(allow_null=True, help_text="null: it is not offered.")
    versions = s.IntegerField()
    changedBy = s.CharField()
    changedAt = s.DateTimeField()


class OfferBody(s.Serializer[Any]):
    version = s.IntegerField(min_value=1, allow_null=True, help_text="null: none.")


class RenderBody(s.Serializer[Any]):
    name = s.CharField(max_length=253)
    namespace = s.CharField(max_length=63)
    values = s.DictField(
        child=s.CharField(), default=dict, help_text="Open fields, by name."
    )


class Rendered(s.Serializer[Any]):
    version = s.IntegerField()
    manifest = s.DictField()


class Room(s.Serializer[Any]):
    nodes = s.IntegerField(allow_null=True, help_text="null: not known.")
    copies = s.IntegerField(allow_null=True, help_text="null: not counted.")
    atLeast = s.BooleanField(help_text="More may fit.")
    problem = s.CharField(allow_null=True, help_text="Why it is not known.")
    why = s.CharField(allow_null=True, help_text="Why none fits now.")

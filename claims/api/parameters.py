"""The query parameters of claims and of claim requests."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers as s

from claims.domain.lifecycle import State
from claims.domain.why.suppose import Kind
from portal.api.operations import PageParameters


class RequestParameters(PageParameters):
    """Which claim requests."""

    state = s.ListField(
        child=s.ChoiceField([each.value for each in State]),
        default=list,
        max_length=len(State),
        help_text="In one of these states; repeatable.",
    )
    cluster = s.CharField(default="", max_length=63)
    namespace = s.CharField(default="", max_length=63)
    name = s.CharField(default="", max_length=253)
    tenant = s.CharField(default="", max_length=63)
    mine = s.BooleanField(default=False, help_text="Only your own.")


class ClaimParameters(PageParameters):
    """Which claims."""

    namespace = s.CharField(default="", max_length=63)
    q = s.CharField(default="", max_length=253, help_text="Part of the name.")


class YamlSubmitParameters(s.Serializer[Any]):
    """What a YAML body cannot say itself."""

    cluster = s.CharField(default="", max_length=63, help_text="With YAML.")
    justification = s.CharField(default="", max_length=2_000, help_text="With YAML.")
    endsAt = s.DateTimeField(default=None, help_text="With YAML.")
    revises = s.UUIDField(default=None, help_text="With YAML.")
    preset = s.CharField(default=None, max_length=63, help_text="With YAML.")


class YamlParameters(s.Serializer[Any]):
    """What a YAML body cannot say itself."""

    namespace = s.CharField(
        default="", max_length=63, help_text="Of objects without one, with YAML."
    )


class YamlPreviewParameters(YamlParameters):
    """What a YAML body cannot say itself."""

    together = s.BooleanField(default=False, help_text="As one pod's, with YAML.")
    causes = s.BooleanField(default=True, help_text="First causes too, with YAML.")


class YamlWhatIfParameters(YamlParameters):
    """What a YAML body cannot say itself."""

    kind = s.ChoiceField(
        ["", *(each.value for each in Kind)], default="", help_text="With YAML."
    )
    target = s.CharField(default="", max_length=700, help_text="With YAML.")

"""The shapes of what the API takes and says of mapped resources, for its document."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers as s

from portal.adoption.domain.mapping import LONGEST


class MappingProposal(s.Serializer[Any]):
    resource = s.CharField(help_text="The extended resource.")
    deviceClass = s.CharField()
    pods = s.IntegerField(
        allow_null=True, help_text="That ask for it now; null where pods are not read."
    )
    mapped = s.BooleanField(help_text="The class maps it already.")


class MappingProposals(s.Serializer[Any]):
    cluster = s.CharField()
    proposals = MappingProposal(many=True)


class MappingBody(s.Serializer[Any]):
    deviceClass = s.CharField(max_length=LONGEST)
    resource = s.CharField(
        default="",
        allow_blank=True,
        max_length=LONGEST,
        help_text="The extended resource; empty takes the mapping away.",
    )


class MappingPod(s.Serializer[Any]):
    namespace = s.CharField()
    name = s.CharField()
    count = s.IntegerField()
    node = s.CharField(allow_null=True)
    claim = s.CharField(
        allow_null=True, help_text="That the scheduler made for it; null without one."
    )


class MappingTrial(s.Serializer[Any]):
    before = s.CharField(allow_null=True)
    after = s.CharField(allow_null=True)
    dropped = s.BooleanField(help_text="The server dropped the field: a gate is off.")


class MappingPreview(s.Serializer[Any]):
    deviceClass = s.CharField()
    resource = s.CharField()
    before = s.CharField(allow_null=True, help_text="What the class maps now.")
    devices = s.IntegerField(
        allow_null=True, help_text="That the class selects; null where not known."
    )
    problem = s.CharField(allow_null=True, help_text="Why that is not known.")
    types = s.DictField(child=s.IntegerField(), help_text="Type → devices.")
    pods = MappingPod(many=True, allow_null=True)
    rivals = s.ListField(child=s.CharField(), help_text="Classes that map it too.")
    pluginNodes = s.ListField(
        child=s.CharField(),
        allow_null=True,
        help_text="Where a device plugin offers it; null where nodes are not read.",
    )
    offeredTwice = s.ListField(child=s.CharField())
    trial = MappingTrial(
        allow_null=True, help_text="A dry run, where there is a server."
    )


class AppliedMapping(s.Serializer[Any]):
    deviceClass = s.CharField()
    before = s.CharField(allow_null=True)
    after = s.CharField(allow_null=True)
    by = s.CharField()
    at = s.DateTimeField()

"""The shapes of what the API takes and says of converting, for its document."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers as s

from claims.api.serializers import ImportBody, ImportedText
from portal.adoption.services.workloads import MOST_CHOSEN


class LiveWorkload(s.Serializer[Any]):
    kind = s.CharField()
    namespace = s.CharField()
    name = s.CharField()
    resources = s.DictField(
        child=s.IntegerField(), help_text="What its pods ask for, name → number."
    )
    owner = s.CharField(allow_null=True, help_text="What made it, to change instead.")


class LiveWorkloads(s.Serializer[Any]):
    namespace = s.CharField()
    workloads = LiveWorkload(many=True)
    unread = s.ListField(
        child=s.CharField(), help_text="Kinds that were not read: there may be more."
    )


class WorkloadParameters(s.Serializer[Any]):
    namespace = s.CharField(max_length=63, help_text="One of your namespaces.")


class ConvertBody(ImportBody):
    text = s.CharField(
        default="",
        allow_blank=True,
        max_length=256 * 1024,
        trim_whitespace=False,
        help_text="YAML or JSON, any number of documents; or name live workloads.",
    )
    namespace = s.CharField(
        default="", allow_blank=True, max_length=63, help_text="Of live workloads."
    )
    workloads = s.ListField(
        child=s.CharField(max_length=300),
        default=list,
        max_length=MOST_CHOSEN,
        help_text="Live ones to convert in place of a text, as `Deployment/name`.",
    )


class ConvertedTemplate(s.Serializer[Any]):
    name = s.CharField()
    usedBy = s.CharField(help_text="Kind and name of the workload.")
    text = s.CharField(help_text="YAML.")
    fits = s.ListField(
        child=s.CharField(),
        allow_null=True,
        help_text="Nodes that could hold a claim of it now; null where not known.",
    )
    undecided = s.IntegerField(help_text="Nodes where the search did not end in time.")
    error = s.CharField(allow_null=True, help_text="What ends scheduling everywhere.")


class WithoutEqual(s.Serializer[Any]):
    kind = s.CharField()
    name = s.CharField()
    code = s.CharField()
    path = s.CharField(allow_blank=True)
    message = s.CharField()


class Converted(ImportedText):
    templates = ConvertedTemplate(many=True)
    noEqual = WithoutEqual(many=True, help_text="What no claim can stand for.")
    plain = s.DictField(
        child=s.CharField(), help_text="File name → text, for `kubectl apply -f`."
    )
    kustomize = s.DictField(child=s.CharField(), help_text="File name → text.")

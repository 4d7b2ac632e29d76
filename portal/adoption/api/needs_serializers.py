"""The shapes of what the API takes and says of savings and needs, for its document."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers as s

from portal.adoption.services.needs import MOST_ASKED

_SOURCES = ["annotation", "owner", "measured"]


class ProductSaving(s.Serializer[Any]):
    product = s.CharField(
        allow_null=True, help_text="null: no label of the node tells."
    )
    pods = s.IntegerField()
    cards = s.IntegerField()
    unknownPods = s.IntegerField(help_text="Of which need, or card, is not known.")
    heldBytes = s.IntegerField(allow_null=True, help_text="Of pods that are known.")
    neededBytes = s.IntegerField(allow_null=True)
    strandedBytes = s.IntegerField(
        allow_null=True, help_text="At least, where `unknownPods` is not 0."
    )
    efficiency = s.FloatField(allow_null=True, help_text="η: needed of held.")
    wholeCards = s.IntegerField(allow_null=True, help_text="That would do, at best.")


class NodePools(s.Serializer[Any]):
    axes = s.DictField(
        child=s.ListField(child=s.CharField()), help_text="Label → values on nodes."
    )
    possible = s.IntegerField(help_text="C_pool: every combination of the values.")
    present = s.IntegerField(help_text="Combinations that nodes have.")
    selected = s.IntegerField(help_text="Combinations that pods select by.")
    hardware = s.IntegerField(help_text="Combinations of what nodes are made of.")


class Savings(s.Serializer[Any]):
    cluster = s.CharField()
    revision = s.IntegerField()
    complete = s.BooleanField(help_text="Whether all pods and nodes are read.")
    products = ProductSaving(many=True)
    pools = NodePools()


class WorkloadName(s.Serializer[Any]):
    namespace = s.CharField(max_length=63)
    kind = s.CharField(max_length=63, help_text="Pod for one that nothing made.")
    name = s.CharField(max_length=253)


class WorkloadNeed(WorkloadName):
    pods = s.IntegerField()
    cards = s.IntegerField(help_text="Of all its pods.")
    products = s.ListField(child=s.CharField())
    cardMemoryBytes = s.IntegerField(allow_null=True, help_text="Of the smallest card.")
    needBytes = s.IntegerField(
        allow_null=True, help_text="Of each card; null: not known of all its pods."
    )
    needSource = s.ChoiceField(
        _SOURCES, allow_null=True, help_text="Who told; `measured` may be too much."
    )
    askedBy = s.CharField(allow_null=True)
    askedAt = s.DateTimeField(allow_null=True)
    toldBy = s.CharField(allow_null=True)
    toldAt = s.DateTimeField(allow_null=True)
    version = s.IntegerField(help_text="To be sent with an answer; 0: nobody asked.")


class WorkloadNeeds(s.Serializer[Any]):
    cluster = s.CharField()
    complete = s.BooleanField(help_text="Whether all pods and nodes are read.")
    workloads = WorkloadNeed(many=True)


class QuestionBody(s.Serializer[Any]):
    workloads = s.ListField(child=WorkloadName(), min_length=1, max_length=MOST_ASKED)


class Question(s.Serializer[Any]):
    asked = s.IntegerField(help_text="Workloads whose owners were told.")
    withoutTenant = s.ListField(
        child=s.CharField(), help_text="Namespaces where nobody can be asked."
    )


class AnswerBody(WorkloadName):
    memoryBytes = s.IntegerField(min_value=1, help_text="That it needs of each card.")
    version = s.IntegerField(min_value=0, help_text="Of the workload as it was read.")


class Answer(WorkloadName):
    memoryBytes = s.IntegerField()
    toldBy = s.CharField()
    toldAt = s.DateTimeField()
    version = s.IntegerField()

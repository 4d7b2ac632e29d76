"""The shapes of what the API says of a pending claim, for its document."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers as s

from claims.domain.kueue import Admission


class WaitingPod(s.Serializer[Any]):
    name = s.CharField()
    priority = s.IntegerField(allow_null=True)
    priorityClass = s.CharField(allow_null=True)


class Ending(s.Serializer[Any]):
    claim = s.CharField(allow_null=True, help_text="null: another tenant's.")
    message = s.CharField()
    lowerPriority = s.BooleanField(
        allow_null=True, help_text="Of its pods; null where that is not known."
    )


class QueuedWorkload(s.Serializer[Any]):
    name = s.CharField()
    state = s.ChoiceField([each.value for each in Admission])
    message = s.CharField(allow_null=True, help_text="Kueue's own words.")
    queue = s.CharField(allow_null=True)
    clusterQueue = s.CharField(allow_null=True)
    priority = s.IntegerField(allow_null=True)
    priorityClass = s.CharField(allow_null=True)


class LocalQueue(s.Serializer[Any]):
    name = s.CharField()
    clusterQueue = s.CharField(allow_null=True)
    pending = s.IntegerField(allow_null=True)
    admitted = s.IntegerField(allow_null=True)
    active = s.BooleanField(allow_null=True, help_text="null where it does not say.")
    message = s.CharField(allow_null=True)


class Queueing(s.Serializer[Any]):
    problem = s.CharField(allow_null=True, help_text="Why nothing is known.")
    workloads = QueuedWorkload(many=True)
    queues = LocalQueue(many=True)
    priorityClasses = s.ListField(child=s.CharField(), allow_null=True)
    refused = s.ListField(
        child=s.CharField(), help_text="What Kueue would refuse of the template."
    )


class ClaimWaiting(s.Serializer[Any]):
    pods = WaitingPod(many=True)
    preemption = s.CharField(help_text="What a priority does, in words.")
    fits = s.ListField(
        child=s.CharField(),
        allow_null=True,
        help_text="Nodes where it would fit now; null where that could not be asked.",
    )
    problem = s.CharField(allow_null=True)
    endings = Ending(many=True)
    kueue = Queueing(allow_null=True)

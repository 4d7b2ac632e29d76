"""The shapes of what the API says a claim waits for, for its document."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers as s

from claims.domain.binding import Readiness
from claims.domain.kueue import Admission


class BindingCondition(s.Serializer[Any]):
    device = s.CharField(help_text="driver/pool/device.")
    type = s.CharField(help_text="Such as FabricAttached.")
    isFailure = s.BooleanField(help_text="If it comes true, the attempt ends.")
    state = s.ChoiceField(
        ["awaited", "met", "failed"],
        allow_null=True,
        help_text="null: a failure condition that did not come.",
    )
    reason = s.CharField(allow_null=True)
    message = s.CharField(allow_null=True, help_text="The driver's own words.")
    since = s.DateTimeField(allow_null=True)


class ClaimBinding(s.Serializer[Any]):
    state = s.ChoiceField([each.value for each in Readiness])
    waitedSeconds = s.IntegerField(
        allow_null=True, help_text="null where the time of allocation is not told."
    )
    timeoutSeconds = s.IntegerField(
        help_text="The scheduler's default; its own setting is not published."
    )
    conditions = BindingCondition(many=True)


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


class RequestQueue(s.Serializer[Any]):
    kueue = Queueing(
        allow_null=True, help_text="null where the cluster has no Kueue, or no word."
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

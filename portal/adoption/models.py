"""What admins wrote to clusters on the way to DRA."""

from __future__ import annotations

import pghistory
import pgtrigger
from django.db import models
from django.db.models import Q

from portal.adoption.domain.phases import LAST, Move, Phase, State


@pghistory.track(
    pghistory.InsertEvent(), append_only=True, model_name="AppliedMappingEvent"
)
class AppliedMapping(models.Model):
    """An extended resource that an admin mapped to a DeviceClass, or took from it."""

    cluster = models.CharField(max_length=63)
    device_class = models.CharField(max_length=253)
    # extendedResourceName before and after; "" for none.
    before = models.CharField(max_length=253, default="", blank=True)
    after = models.CharField(max_length=253, default="", blank=True)
    object_uid = models.CharField(max_length=64)
    applied_by = models.CharField(max_length=150)
    applied_at = models.DateTimeField()

    class Meta:
        triggers = [
            pgtrigger.Protect(
                name="append_only", operation=pgtrigger.Update | pgtrigger.Delete
            )
        ]

    def __str__(self) -> str:
        return f"{self.cluster}/{self.device_class}: {self.after or 'none'}"


def _phase() -> models.PositiveSmallIntegerField[int, int]:
    return models.PositiveSmallIntegerField(default=Phase.CONTROL_PLANE)


def _state() -> models.CharField[str, str]:
    return models.CharField(
        max_length=16,
        choices=[(each.value, each.value) for each in State],
        default=State.NOT_STARTED,
    )


@pghistory.track(
    pghistory.InsertEvent(),
    pghistory.UpdateEvent(),
    append_only=True,
    model_name="MigrationPlanEvent",
)
class MigrationPlan(models.Model):
    """How far a cluster is on the way to DRA.

    `confirmed` names the lines of the current gate that somebody answers for, since
    the API does not tell; `version` counts moves, for compare-and-set.
    """

    cluster = models.CharField(max_length=63, unique=True)
    phase = _phase()
    state = _state()
    confirmed = models.JSONField(default=list, blank=True)
    version = models.PositiveIntegerField(default=1)
    changed_by = models.CharField(max_length=150)
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(phase__gte=min(Phase), phase__lte=LAST),
                name="adoption_plan_phase",
            ),
            models.CheckConstraint(
                condition=Q(state__in=[each.value for each in State]),
                name="adoption_plan_state",
            ),
            models.CheckConstraint(
                condition=~Q(state=State.DONE) | Q(phase=LAST),
                name="adoption_plan_done_is_last",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.cluster}: {Phase(self.phase).code}, {self.state}"

    @property
    def current(self) -> Phase:
        """The phase that is at work."""
        return Phase(self.phase)


@pghistory.track(
    pghistory.InsertEvent(), append_only=True, model_name="MigrationStepEvent"
)
class MigrationStep(models.Model):
    """What somebody did: the move, why, and what the gate said at that moment."""

    plan = models.ForeignKey(MigrationPlan, models.PROTECT, related_name="steps")
    number = models.PositiveIntegerField()  # the plan's version that it made
    move = models.CharField(
        max_length=16, choices=[(each.value, each.value) for each in Move]
    )
    phase_before = _phase()
    state_before = _state()
    phase = _phase()
    state = _state()
    reason = models.TextField(default="", blank=True)
    # Lines of the gate: [{"code", "answer", "why", "values"}].
    evidence = models.JSONField(default=list, blank=True)
    revision = models.BigIntegerField()  # of the cluster, that the gate looked at
    made_by = models.CharField(max_length=150)
    made_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["plan", "number"], name="adoption_step_number"
            )
        ]
        triggers = [
            pgtrigger.Protect(
                name="append_only", operation=pgtrigger.Update | pgtrigger.Delete
            )
        ]

    def __str__(self) -> str:
        return f"{self.plan_id}/{self.number}: {self.move}"


@pghistory.track(
    pghistory.InsertEvent(),
    pghistory.UpdateEvent(),
    append_only=True,
    model_name="WorkloadNeedEvent",
)
class WorkloadNeed(models.Model):
    """How much of a card a workload needs: asked by an admin, told by its owner.

    Of a pod that nothing made, `kind` is Pod. `version` counts changes, for
    compare-and-set.
    """

    cluster = models.CharField(max_length=63)
    namespace = models.CharField(max_length=63)
    kind = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    # Bytes of each card; null until somebody tells.
    memory = models.PositiveBigIntegerField(null=True, blank=True)
    version = models.PositiveIntegerField(default=1)
    asked_by = models.CharField(max_length=150, default="", blank=True)
    asked_at = models.DateTimeField(null=True, blank=True)
    told_by = models.CharField(max_length=150, default="", blank=True)
    told_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "namespace", "kind", "name"],
                name="adoption_need_one_of_a_workload",
            ),
            models.CheckConstraint(
                condition=Q(memory=None) | Q(memory__gt=0),
                name="adoption_need_is_something",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.cluster}/{self.namespace}/{self.kind}/{self.name}"

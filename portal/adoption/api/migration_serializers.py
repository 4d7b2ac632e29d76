"""The shapes of what the API takes and says of the plan to DRA, for its document."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers as s

from portal.adoption.api.serializers import ANSWERS
from portal.adoption.domain.phases import Move, Phase, State
from portal.adoption.services.migrating import MOST_REASON

_PHASES = [each.code for each in Phase]
_STATES = [each.value for each in State]
_MOVES = [each.value for each in Move]


class GateRecord(s.Serializer[Any]):
    code = s.CharField(help_text="Which line; stable.")
    title = s.CharField()
    answer = s.ChoiceField(ANSWERS)
    evidence = s.CharField(help_text="What the answer is known from.")


class GateLine(GateRecord):
    confirmed = s.BooleanField(help_text="Somebody answers for it while it is unknown.")


class MigrationPhase(s.Serializer[Any]):
    phase = s.ChoiceField(_PHASES)
    title = s.CharField()
    goal = s.CharField()
    state = s.ChoiceField(_STATES)
    gate = s.ChoiceField(
        ANSWERS, help_text="yes: green; no: not yet; unknown: the API cannot tell."
    )
    lines = GateLine(many=True)
    blockedBy = GateLine(
        many=True, help_text="To be put right before the phase may begin or be left."
    )


class PhaseManifest(s.Serializer[Any]):
    name = s.CharField(help_text="The file that the commands speak of.")
    text = s.CharField(help_text="YAML.")


class PhaseAction(s.Serializer[Any]):
    code = s.CharField()
    title = s.CharField()
    commands = s.ListField(child=s.CharField())
    manifest = PhaseManifest(allow_null=True)
    open = s.BooleanField(help_text="Whether it may be done already.")


class MigrationPhaseDetail(MigrationPhase):
    actions = PhaseAction(many=True)
    rollback = PhaseAction(many=True)


class MigrationPlan(s.Serializer[Any]):
    cluster = s.CharField()
    phase = s.ChoiceField(_PHASES, help_text="The one that is at work.")
    state = s.ChoiceField(_STATES)
    moves = s.ListField(child=s.ChoiceField(_MOVES), help_text="What can be done now.")
    phases = MigrationPhase(many=True)
    changedBy = s.CharField(allow_null=True)
    changedAt = s.DateTimeField(allow_null=True)


class MoveBody(s.Serializer[Any]):
    move = s.ChoiceField(_MOVES)
    reason = s.CharField(
        default="",
        allow_blank=True,
        max_length=MOST_REASON,
        help_text="Needed by `confirm` and `go-back`; kept in the record.",
    )


class PlanPlace(s.Serializer[Any]):
    phase = s.ChoiceField(_PHASES)
    state = s.ChoiceField(_STATES)


class MigrationStep(s.Serializer[Any]):
    number = s.IntegerField()
    move = s.ChoiceField(_MOVES)
    before = PlanPlace()
    after = PlanPlace()
    reason = s.CharField()
    evidence = GateRecord(many=True)
    revision = s.IntegerField(help_text="Of the cluster, that the gate looked at.")
    by = s.CharField()
    at = s.DateTimeField()

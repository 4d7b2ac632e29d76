"""Phases and steps of the plan to DRA, in words for its pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from portal.adoption.domain.phases import Move, Phase, State
from portal.adoption.domain.readiness import Answer
from portal.adoption.services.migrating import recorded
from portal.adoption.services.phase_words import (
    ACTIONS,
    GATES,
    MOVES,
    PHASES,
    STATES,
    line_evidence,
    line_title,
)
from portal.adoption.services.words import ANSWERS, BADGES

if TYPE_CHECKING:
    from portal.adoption.domain.actions import Action
    from portal.adoption.domain.readiness import Verdict
    from portal.adoption.models import MigrationStep
    from portal.adoption.services.migrating import PhaseView

# Pages of the portal that do what a command does.
_TOOLS = {"map": "adoption:mapping", "convert": "adoption:convert"}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a gate, in words."""

    title: str
    answer: str
    badge: str
    evidence: str
    confirmed: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """What is done, in words."""

    code: str
    title: str
    commands: str
    manifest: str
    is_open: bool
    tool: str


@dataclass(frozen=True, slots=True)
class Row:
    """One phase of the page."""

    number: int
    code: str
    title: str
    goal: str
    state: str
    badge: str
    is_current: bool
    gate: str
    gate_badge: str
    lines: list[Line]
    blocked: list[Line]
    actions: list[Step]
    rollback: list[Step]


@dataclass(frozen=True, slots=True)
class Entry:
    """One step of the record, in words."""

    step: MigrationStep
    move: str
    number: int
    phase: str
    state: str
    badge: str
    lines: list[Line]

    @property
    def label(self) -> str:
        """Return the id of its heading."""
        return f"step-{self.step.number}"


def row_of(view: PhaseView, current: Phase) -> Row:
    """Return one phase of the page."""
    title, goal = PHASES[view.phase]
    badge, state = STATES[view.state]
    return Row(
        number=view.phase.value,
        code=view.phase.code,
        title=str(title),
        goal=str(goal),
        state=str(state),
        badge=badge,
        is_current=view.phase is current,
        gate=str(GATES[view.answer]),
        gate_badge=BADGES[view.answer],
        lines=[_line(each, view.confirmed) for each in view.lines],
        blocked=[_line(each) for each in view.blocked],
        actions=[_step(each) for each in view.actions],
        rollback=[_step(each) for each in view.rollback],
    )


def entry_of(step: MigrationStep) -> Entry:
    """Return one step of the record."""
    badge, state = STATES[State(step.state)]
    return Entry(
        step=step,
        move=str(MOVES[Move(step.move)]),
        phase=str(PHASES[Phase(step.phase_before)][0]),
        number=step.phase_before,
        state=str(state),
        badge=badge,
        lines=[_line(recorded(each)) for each in step.evidence],
    )


def _line(verdict: Verdict, confirmed: frozenset[str] = frozenset()) -> Line:
    return Line(
        title=line_title(verdict.code),
        answer=str(ANSWERS[verdict.answer]),
        badge=BADGES[verdict.answer],
        evidence=line_evidence(verdict.code, verdict.why, verdict.values),
        confirmed=verdict.answer is Answer.UNKNOWN and verdict.code in confirmed,
    )


def _step(action: Action) -> Step:
    return Step(
        code=action.code,
        title=str(ACTIONS[action.code]),
        commands="\n".join(action.commands),
        manifest=action.manifest,
        is_open=action.is_open,
        tool=_TOOLS.get(action.code, ""),
    )

"""What the API says of the plan to DRA, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portal.adoption.api.documents import Json
from portal.adoption.domain.phases import Phase
from portal.adoption.services.migrating import manifest_text, recorded
from portal.adoption.services.phase_words import (
    ACTIONS,
    PHASES,
    line_evidence,
    line_title,
)

if TYPE_CHECKING:
    from portal.adoption.domain.actions import Action
    from portal.adoption.domain.readiness import Verdict
    from portal.adoption.models import MigrationPlan, MigrationStep
    from portal.adoption.services.migrating import PhaseView, PlanView


def etag_of(plan: MigrationPlan) -> str:
    """Return the ETag of a plan; the first move names the plan that is not begun."""
    return f'"{plan.version}"'


def plan_document(found: PlanView) -> Json:
    """Return a plan with its phases."""
    plan = found.plan
    return {
        "cluster": plan.cluster,
        "phase": plan.current.code,
        "state": plan.state,
        "moves": [each.value for each in found.moves],
        "phases": [phase_document(each) for each in found.phases],
        "changedBy": plan.changed_by or None,
        "changedAt": plan.changed_at.isoformat() if plan.version else None,
    }


def phase_document(view: PhaseView) -> Json:
    """Return a phase and its gate."""
    title, goal = PHASES[view.phase]
    return {
        "phase": view.phase.code,
        "title": str(title),
        "goal": str(goal),
        "state": view.state.value,
        "gate": view.answer.value,
        "lines": [_line(each, view.confirmed) for each in view.lines],
        "blockedBy": [_line(each, frozenset()) for each in view.blocked],
    }


def phase_detail(view: PhaseView) -> Json:
    """Return a phase with what is done in it and how it is undone."""
    return {
        **phase_document(view),
        "actions": [_action(each) for each in view.actions],
        "rollback": [_action(each) for each in view.rollback],
    }


def step_document(step: MigrationStep) -> Json:
    """Return one step of the record."""
    return {
        "number": step.number,
        "move": step.move,
        "before": {"phase": Phase(step.phase_before).code, "state": step.state_before},
        "after": {"phase": Phase(step.phase).code, "state": step.state},
        "reason": step.reason,
        "evidence": [_recorded(recorded(each)) for each in step.evidence],
        "revision": step.revision,
        "by": step.made_by,
        "at": step.made_at.isoformat(),
    }


def _line(verdict: Verdict, confirmed: frozenset[str]) -> Json:
    return {**_recorded(verdict), "confirmed": verdict.code in confirmed}


def _recorded(verdict: Verdict) -> Json:
    return {
        "code": verdict.code,
        "title": line_title(verdict.code),
        "answer": verdict.answer.value,
        "evidence": line_evidence(verdict.code, verdict.why, verdict.values),
    }


def _action(action: Action) -> Json:
    manifest = {"name": action.manifest, "text": manifest_text(action.manifest)}
    return {
        "code": action.code,
        "title": str(ACTIONS[action.code]),
        "commands": list(action.commands),
        "manifest": manifest if action.manifest and action.is_open else None,
        "open": action.is_open,
    }

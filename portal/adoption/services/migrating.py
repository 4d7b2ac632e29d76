"""The plan of a cluster: what each phase asks, and moves from one to the next.

A move looks at the live state first, outside of any transaction; then it is one
compare-and-set of the plan's version, and one step of the record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils.translation import gettext as _

from claims.services.yaml_text import dump
from portal.accounts.domain.roles import Permission
from portal.adoption.domain.actions import Action, actions, rollback
from portal.adoption.domain.facts import MAPPING
from portal.adoption.domain.gates import MigrationFacts, blocks, gate
from portal.adoption.domain.phase_manifests import MANIFESTS
from portal.adoption.domain.phases import (
    NEED_REASON,
    Move,
    Phase,
    State,
    after,
    gate_of,
    moves_from,
    state_of,
)
from portal.adoption.domain.readiness import Answer, Verdict
from portal.adoption.models import MigrationPlan, MigrationStep
from portal.adoption.queries.migration import migration_facts, plan_of
from portal.adoption.services.phase_words import MOVES, PHASES, STATES, titles_of
from portal.adoption.services.reading import facts_of
from portal.audit.context import acting
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from inventory.models import Cluster
    from portal.accounts.models import User

MOST_REASON = 2_000


class MoveRefused(PortalError):
    """A move that cannot be made now; the message says why."""

    code = "migration.refused"


class PlanChanged(PortalError):
    """Somebody moved the plan since it was read."""

    code = "migration.changed"


@dataclass(frozen=True, slots=True)
class PhaseView:
    """One phase as it stands.

    Attributes:
        answer: of its gate, what is answered for counted.
        lines: of its gate, judged now.
        blocked: what must be put right before it may begin or be left.
        confirmed: codes of unknown lines that somebody answers for.
    """

    phase: Phase
    state: State
    answer: Answer
    lines: tuple[Verdict, ...]
    blocked: tuple[Verdict, ...]
    actions: tuple[Action, ...]
    rollback: tuple[Action, ...]
    confirmed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PlanView:
    """A cluster's plan, and every phase of it judged from the same facts."""

    plan: MigrationPlan
    phases: tuple[PhaseView, ...]
    moves: tuple[Move, ...]

    @property
    def current(self) -> PhaseView:
        """The phase that is at work."""
        return self.phases[self.plan.phase - 1]


def plan_view(cluster: Cluster, user: User) -> PlanView:
    """Return a cluster's plan as it stands; asks the API server as readiness does."""
    plan, facts = plan_of(cluster), migration_facts_for(cluster, user)
    phases = tuple(_phase_view(plan, phase, cluster, facts) for phase in Phase)
    return PlanView(plan, phases, moves_from(plan.current, State(plan.state)))


def make_move(  # noqa: PLR0913  each is one fact of the act
    cluster: Cluster,
    move: Move,
    *,
    version: int,
    reason: str,
    user: User,
    request_id: str,
    now: datetime,
) -> MigrationPlan:
    """Move a cluster's plan, and keep who did so, why, and what the gate said.

    Args:
        cluster: whose.
        move: what to do.
        version: of the plan that the person saw; 0 where nobody had begun.
        reason: needed to go back, and to answer for what is unknown.
        user: who.
        request_id: of the HTTP request, for the audit trail.
        now: the moment.

    Raises:
        MoveRefused: It cannot be made now.
        PlanChanged: Somebody was first.
    """
    plan, reason = plan_of(cluster), reason.strip()
    if plan.version != version:
        raise _changed(plan)
    _check_move(plan, move, reason)
    facts = migration_facts_for(cluster, user)
    lines = gate(plan.current, facts)
    answer = gate_of(lines, plan.confirmed)
    _check_state(plan, move, lines, answer, blocks(plan.current, facts))
    phase, state = after(plan.current, State(plan.state), move, answer)
    step = MigrationStep(
        number=version + 1,
        move=move.value,
        phase_before=plan.phase,
        state_before=plan.state,
        phase=phase.value,
        state=state.value,
        reason=reason,
        evidence=[_stored(each) for each in lines],
        revision=cluster.revision,
        made_by=user.username,
        made_at=now,
    )
    confirmed = _confirmed(plan, move, lines)
    with acting(actor=user.username, reason=reason, request_id=request_id):
        return _write(plan, step, confirmed)


def manifest_text(name: str) -> str:
    """Return a manifest of a phase as YAML; "" where there is none of that name."""
    make = MANIFESTS.get(name)
    return "---\n".join(dump(each) for each in make()) if make else ""


def migration_facts_for(cluster: Cluster, user: User) -> MigrationFacts:
    """Return what the gates look at; a person who may write has the mapping tried."""
    probes = [MAPPING] if user.may(Permission.MANAGE_CLUSTERS) else []
    return migration_facts(cluster, facts_of(cluster, user, probes=probes))


def _phase_view(
    plan: MigrationPlan, phase: Phase, cluster: Cluster, facts: MigrationFacts
) -> PhaseView:
    lines = gate(phase, facts)
    confirmed = plan.confirmed if phase is plan.current else ()
    return PhaseView(
        phase=phase,
        state=state_of(phase, plan.current, State(plan.state)),
        answer=gate_of(lines, confirmed),
        lines=lines,
        blocked=blocks(phase, facts),
        actions=actions(phase, cluster.name, facts),
        rollback=rollback(phase, cluster.name, facts),
        confirmed=frozenset(confirmed),
    )


def _check_move(plan: MigrationPlan, move: Move, reason: str) -> None:
    if move not in moves_from(plan.current, State(plan.state)):
        raise MoveRefused(
            _(
                "“%(move)s” cannot be done now: the phase “%(phase)s” is in the state “%(state)s”."
            )
            % {
                "move": MOVES[move],
                "phase": PHASES[plan.current][0],
                "state": STATES[State(plan.state)][1],
            }
        )
    if move in NEED_REASON and not reason:
        raise MoveRefused(
            _("Say why, in the field for the reason: it is kept in the record."),
            code="migration.reason",
        )
    if len(reason) > MOST_REASON:
        raise MoveRefused(
            _("The reason is too long: write at most %(most)d characters.")
            % {"most": MOST_REASON},
            code="migration.reason",
        )


def _check_state(
    plan: MigrationPlan,
    move: Move,
    lines: tuple[Verdict, ...],
    answer: Answer,
    blocked: tuple[Verdict, ...],
) -> None:
    """Refuse what the live state does not allow."""
    if move in {Move.START, Move.GO_ON} and blocked:
        raise MoveRefused(
            _("Put this right first: %(lines)s.") % {"lines": titles_of(blocked)}
        )
    missing = [each for each in lines if each.answer is Answer.NO]
    unknown = [
        each
        for each in lines
        if each.answer is Answer.UNKNOWN and each.code not in plan.confirmed
    ]
    if move in {Move.GO_ON, Move.CONFIRM} and missing:
        raise MoveRefused(
            _("The gate is not green yet: %(lines)s.") % {"lines": titles_of(missing)}
        )
    if move is Move.GO_ON and answer is not Answer.YES:
        raise MoveRefused(
            _(
                "Not known, so the gate is not green: %(lines)s. Answer for it, or make it readable."
            )
            % {"lines": titles_of(unknown)}
        )
    if move is Move.CONFIRM and not unknown:
        raise MoveRefused(_("Nothing of this gate is unknown: check the gate instead."))


def _confirmed(
    plan: MigrationPlan, move: Move, lines: tuple[Verdict, ...]
) -> list[str]:
    """Return the unknown lines that somebody answers for from now on."""
    unknown = [each.code for each in lines if each.answer is Answer.UNKNOWN]
    if move is Move.CONFIRM:
        return unknown
    if move in {Move.CHECK, Move.PAUSE, Move.RESUME}:
        return [code for code in unknown if code in plan.confirmed]
    return []


def _write(
    plan: MigrationPlan, step: MigrationStep, confirmed: list[str]
) -> MigrationPlan:
    """Store the move, if the plan is still the one that was read."""
    fields = {
        "phase": step.phase,
        "state": step.state,
        "confirmed": confirmed,
        "changed_by": step.made_by,
        "changed_at": step.made_at,
    }
    try:
        with transaction.atomic():
            if not plan.version:
                plan = MigrationPlan.objects.create(cluster=plan.cluster, **fields)
            else:
                rows = MigrationPlan.objects.filter(pk=plan.pk, version=plan.version)
                if not rows.update(version=F("version") + 1, **fields):
                    raise _changed(plan)
            step.plan = plan
            step.save(force_insert=True)
    except IntegrityError as error:
        raise _changed(plan) from error
    plan.refresh_from_db()
    return plan


def _stored(verdict: Verdict) -> dict[str, object]:
    return {
        "code": verdict.code,
        "answer": verdict.answer.value,
        "why": verdict.why,
        "values": dict(verdict.values),
    }


def recorded(line: Mapping[str, Any]) -> Verdict:
    """Return a line of a gate as a step keeps it."""
    return Verdict(line["code"], Answer(line["answer"]), line["why"], line["values"])


def _changed(plan: MigrationPlan) -> PlanChanged:
    found = MigrationPlan.objects.filter(cluster=plan.cluster).first()
    return PlanChanged(
        _("%(who)s moved this plan meanwhile: look at it, then decide again.")
        % {"who": found.changed_by if found else _("Somebody")}
    )

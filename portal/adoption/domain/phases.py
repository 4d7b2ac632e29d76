"""The five phases from device plugin to DRA, and how one moves through them.

Going back is normal: a phase that is undone is rolled back, and can be begun again;
from there one can go back further, phase by phase.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum, StrEnum

from portal.adoption.domain.readiness import Answer, Verdict


class Phase(IntEnum):
    """The phases in their order."""

    CONTROL_PLANE = 1
    CANARY = 2
    MAPPING = 3
    TEMPLATES = 4
    DRAIN = 5

    @property
    def code(self) -> str:
        """Return its name in addresses and documents, such as `control-plane`."""
        return self.name.lower().replace("_", "-")


LAST = Phase.DRAIN


class State(StrEnum):
    """How far a phase is; the spelling is stored."""

    NOT_STARTED = "NotStarted"
    RUNNING = "Running"
    GATE_GREEN = "GateGreen"
    DONE = "Done"
    PAUSED = "Paused"
    ROLLED_BACK = "RolledBack"


class Move(StrEnum):
    """What somebody may do; the spelling is stored and part of the API."""

    START = "start"
    CHECK = "check"
    CONFIRM = "confirm"
    GO_ON = "go-on"
    PAUSE = "pause"
    RESUME = "resume"
    GO_BACK = "go-back"


NEED_REASON = frozenset({Move.CONFIRM, Move.GO_BACK})
_WORKING = frozenset({State.RUNNING, State.GATE_GREEN})
_FROM: dict[Move, frozenset[State]] = {
    Move.START: frozenset({State.NOT_STARTED, State.ROLLED_BACK}),
    Move.CHECK: _WORKING,
    Move.CONFIRM: _WORKING,
    Move.GO_ON: _WORKING,
    Move.PAUSE: _WORKING,
    Move.RESUME: frozenset({State.PAUSED}),
    Move.GO_BACK: frozenset(State),
}


def moves_from(phase: Phase, state: State) -> tuple[Move, ...]:
    """Return what may be done now, in the order of a page."""
    return tuple(
        move
        for move, states in _FROM.items()
        if state in states and not (move is Move.GO_BACK and _is_first(phase, state))
    )


def after(phase: Phase, state: State, move: Move, gate: Answer) -> tuple[Phase, State]:
    """Return where a move leads.

    Args:
        phase: the current one.
        state: its state.
        move: one of `moves_from(phase, state)`.
        gate: what the gate says, confirmations counted.
    """
    if move is Move.GO_BACK:
        is_undone = state in {State.NOT_STARTED, State.ROLLED_BACK}
        return Phase(phase - 1) if is_undone else phase, State.ROLLED_BACK
    if move is Move.GO_ON:
        if phase is LAST:
            return phase, State.DONE
        return Phase(phase + 1), State.NOT_STARTED
    if move is Move.CONFIRM or (move is Move.CHECK and gate is Answer.YES):
        return phase, State.GATE_GREEN
    return phase, State.PAUSED if move is Move.PAUSE else State.RUNNING


def state_of(each: Phase, phase: Phase, state: State) -> State:
    """Return the state of any phase, where `phase` is the current one, in `state`."""
    if each == phase:
        return state
    return State.DONE if each < phase else State.NOT_STARTED


def gate_of(
    verdicts: Iterable[Verdict], confirmed: Iterable[str] = frozenset()
) -> Answer:
    """Return what a gate's lines say together: yes only if each of them does.

    Args:
        verdicts: the lines.
        confirmed: codes of lines that somebody answers for where they are unknown.
    """
    known = set(confirmed)
    answers = {
        Answer.YES
        if each.answer is Answer.UNKNOWN and each.code in known
        else each.answer
        for each in verdicts
    }
    if Answer.NO in answers:
        return Answer.NO
    return Answer.UNKNOWN if Answer.UNKNOWN in answers else Answer.YES


def _is_first(phase: Phase, state: State) -> bool:
    """Whether there is nothing to go back from."""
    return phase == min(Phase) and state in {State.NOT_STARTED, State.ROLLED_BACK}

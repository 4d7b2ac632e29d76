"""The advisor's answer as a value, and what is decided on it.

Nothing is taken on trust: an answer that is not of its shape, whose numbers do not
fit together, or that is missing is no answer. Confidence is worked out from the
probabilities, since servers differ in what they call so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from portal.admission.domain import questions as q
from portal.admission.domain.fallback import BATCH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Json = dict[str, Any]

SUM_TOLERANCE = 0.05
SCORE_TOLERANCE = 0.05


class Malformed(ValueError):
    """The advisor's answer cannot be used; the text says why."""


class AdvisorMode(StrEnum):
    """What the advisor may do; the spelling is stored and part of the API."""

    OFF = "off"
    SHADOW = "shadow"
    ENFORCE = "enforce"


class Outcome(StrEnum):
    """What becomes of a claim."""

    ADMIT = "admit"
    MUTATE = "mutate"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """From where on an answer counts.

    Attributes:
        safe: the least P(safe), 0 to 1.
        confidence: the least confidence in a fallback, 0 to 1.
        severity: the least expected severity, 0 to 3.
    """

    safe: float = 0.90
    confidence: float = 0.82
    severity: float = 2.0


UNCALIBRATED = Thresholds()


@dataclass(frozen=True, slots=True)
class Resources:
    """What a cluster has free, as the advisor is told."""

    total_hopper_gpus: int
    gpus_with_32gi_free: int
    gpus_with_16gi_free: int
    mig_2g_20gb_free: int
    nvlink_imex_healthy_domains: int


@dataclass(frozen=True, slots=True)
class Asked:
    """What a claim asks for, as the advisor is told."""

    namespace: str
    workload_tier: str
    requested_class: str
    requested_count: int
    requested_memory_per_slice: str
    has_prioritized_fallback: bool
    requests_admin_access: bool


def state_of(resources: Resources, asked: Asked) -> Json:
    """Return the state of a question: facts, and nothing but facts."""
    return {
        "cluster_resource_slices": {
            name: getattr(resources, name) for name in Resources.__slots__
        },
        "incoming_claim_spec": {name: getattr(asked, name) for name in Asked.__slots__},
    }


@dataclass(frozen=True, slots=True)
class Advice:
    """An answer whose numbers fit together.

    Attributes:
        action: the likeliest of ACTIONS; `actions` their probabilities.
        severity: expected, 0 to 3; `severities` the probability of each level.
        safe: P(safe), 0 to 1.
    """

    action: str
    actions: Mapping[str, float]
    severity: float
    severities: Sequence[float]
    safe: float

    @property
    def confidence(self) -> float:
        """How far the likeliest action stands above chance, 0 to 1."""
        return choice_confidence(list(self.actions.values()))

    @property
    def severity_confidence(self) -> float:
        """How narrow the severity's distribution is, 0 to 1."""
        return score_confidence(self.severities)

    def document(self) -> Json:
        """Return it as it is stored."""
        return {
            "action": self.action,
            "actions": dict(self.actions),
            "severity": self.severity,
            "severities": list(self.severities),
            "safe": self.safe,
            "confidence": round(self.confidence, 6),
            "severityConfidence": round(self.severity_confidence, 6),
        }


def choice_confidence(probabilities: Sequence[float]) -> float:
    """Return (max p − 1/n) / (1 − 1/n)."""
    n = len(probabilities)
    return 1.0 if n < 2 else (max(probabilities) - 1 / n) / (1 - 1 / n)


def score_confidence(probabilities: Sequence[float]) -> float:
    """Return 1 − Σ p·|i − mode| over the spread of a uniform distribution."""
    n = len(probabilities)
    if n < 2:
        return 1.0
    mode = max(range(n), key=lambda i: probabilities[i])
    spread = sum(p * abs(i - mode) for i, p in enumerate(probabilities))
    uniform = sum(abs(i - (n - 1) / 2) for i in range(n)) / n
    return max(0.0, 1 - spread / uniform)


def read_advice(answers: Mapping[str, Json]) -> Advice:
    """Return an answer that was checked.

    Args:
        answers: question → its answer, decoded.

    Raises:
        Malformed: It is not an answer to what was asked.
    """
    if set(answers) != {q.ACTION, q.SEVERITY, q.SAFE}:
        raise Malformed(f"answers to {', '.join(sorted(answers)) or 'nothing'}")
    action, actions = _choice(answers[q.ACTION])
    severity, severities = _score(answers[q.SEVERITY])
    if answers[q.SAFE].get("type") != "noul":
        raise Malformed(f"{q.SAFE} is no noul")
    safe = _probability(answers[q.SAFE].get("noul"), q.SAFE)
    return Advice(action, actions, severity, severities, safe)


def _choice(answer: Json) -> tuple[str, dict[str, float]]:
    if answer.get("type") != "choice":
        raise Malformed(f"{q.ACTION} is no choice")
    found = answer.get("probabilities")
    if not isinstance(found, dict) or set(found) != set(q.ACTIONS):
        raise Malformed(f"{q.ACTION} has other options than were asked")
    actions = {name: _probability(found[name], name) for name in q.ACTIONS}
    _check_sum(list(actions.values()), q.ACTION)
    chosen = str(answer.get("choice"))
    if chosen not in actions or actions[chosen] < max(actions.values()) - 1e-6:
        raise Malformed(f"{q.ACTION} is not the likeliest option")
    _check_confidence(answer, q.ACTION)
    return chosen, actions


def _score(answer: Json) -> tuple[float, list[float]]:
    if answer.get("type") != "score":
        raise Malformed(f"{q.SEVERITY} is no score")
    found = answer.get("probabilities")
    levels = [str(i) for i in range(q.SCORE_LEVELS)]
    if not isinstance(found, dict) or sorted(map(str, found)) != levels:
        raise Malformed(f"{q.SEVERITY} has other levels than were asked")
    by_level = {str(level): value for level, value in found.items()}
    chances = [_probability(by_level[level], q.SEVERITY) for level in levels]
    _check_sum(chances, q.SEVERITY)
    score = answer.get("score")
    expected = sum(i * p for i, p in enumerate(chances))
    if not _is_number(score) or abs(float(score or 0) - expected) > SCORE_TOLERANCE:
        raise Malformed(f"{q.SEVERITY} is not the expectation of its levels")
    legend = answer.get("legend")
    if not isinstance(legend, dict) or sorted(map(str, legend)) != levels:
        raise Malformed(f"{q.SEVERITY} has another legend than was asked")
    _check_confidence(answer, q.SEVERITY)
    return float(score or 0), chances


def _check_sum(chances: Sequence[float], name: str) -> None:
    if abs(sum(chances) - 1) > SUM_TOLERANCE:
        raise Malformed(f"the probabilities of {name} add up to {sum(chances):.3f}")


def _check_confidence(answer: Json, name: str) -> None:
    """Refuse a confidence out of range; its value is not used."""
    _probability(answer.get("confidence"), f"the confidence of {name}")


def _probability(value: Any, name: str) -> float:
    if not _is_number(value) or not -1e-9 <= value <= 1 + 1e-9:
        raise Malformed(f"{name} is no probability: {value!r}")
    return min(max(float(value), 0.0), 1.0)


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and math.isfinite(value)
    )


@dataclass(frozen=True, slots=True)
class Decision:
    """What is decided, and why: a code, and what its sentence speaks of."""

    outcome: Outcome
    code: str
    values: Json


def decide(
    advice: Advice, thresholds: Thresholds, *, tier: str, can_mutate: bool
) -> Decision:
    """Return what an answer leads to, always in this order.

    Args:
        advice: the answer.
        thresholds: from where on it counts.
        tier: the workload's; only batch-offline is ever changed.
        can_mutate: a fallback is configured, fits now, and the claim may be changed.
    """
    safe = {"safe": round(advice.safe, 4), "threshold": thresholds.safe}
    if advice.safe < thresholds.safe:
        return Decision(Outcome.DENY, "advice.unsafe", safe)
    if advice.action == q.REJECT:
        chance = round(advice.actions[q.REJECT], 4)
        return Decision(Outcome.DENY, "advice.reject", {"chance": chance})
    if advice.action != q.MUTATE:
        return Decision(Outcome.ADMIT, "advice.admit", safe)
    values = {
        "confidence": round(advice.confidence, 4),
        "least": thresholds.confidence,
        "severity": round(advice.severity, 4),
        "leastSeverity": thresholds.severity,
    }
    obstacles = {
        "advice.not_confident": advice.confidence < thresholds.confidence,
        "advice.not_severe": advice.severity < thresholds.severity,
        "advice.not_batch": tier != BATCH,
        "advice.no_fallback": not can_mutate,
    }
    obstacle = next((code for code, holds in obstacles.items() if holds), "")
    if obstacle:
        return Decision(Outcome.ADMIT, obstacle, values)
    return Decision(Outcome.MUTATE, "advice.mutate", values)


def guard(*, asks_admin: bool, labelled: bool | None) -> Decision | None:
    """Return the host's own refusal, before the advisor is asked anything.

    Args:
        asks_admin: the claim asks for adminAccess.
        labelled: whether its namespace has the label; None where that is not known.
    """
    if asks_admin and not labelled:
        return Decision(Outcome.DENY, "admin.no_label", {})
    return None

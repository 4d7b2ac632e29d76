"""Every branch of the advisor's decision, and the constants it is asked with."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.domain.fragmentation import Piece, severity
from inventory.domain.quantity import GIB
from portal.admission.domain import questions as q
from portal.admission.domain.advice import (
    UNCALIBRATED,
    Asked,
    Malformed,
    Outcome,
    Resources,
    choice_confidence,
    decide,
    guard,
    read_advice,
    score_confidence,
    state_of,
)
from tests.conftest import DATA

GUIDE = json.loads((DATA / "guides" / "000-systemone.json").read_text())


def answers(action=q.ADMIT, chance=0.97, severities=(0.0, 0.0, 0.9, 0.1), safe=0.99):
    """Return answers as a server sends them."""
    rest = (1 - chance) / 2
    chances = {name: chance if name == action else rest for name in q.ACTIONS}
    return {
        q.ACTION: {
            "type": "choice",
            "choice": action,
            "probabilities": chances,
            "confidence": 0.5,
        },
        q.SEVERITY: {
            "type": "score",
            "score": sum(i * p for i, p in enumerate(severities)),
            "legend": {str(i): "x" for i in range(4)},
            "probabilities": {str(i): p for i, p in enumerate(severities)},
            "confidence": 0.5,
        },
        q.SAFE: {"type": "noul", "noul": safe},
    }


def decided(tier="batch-offline", *, can_mutate=True, **more):
    advice = read_advice(answers(**more))
    return decide(advice, UNCALIBRATED, tier=tier, can_mutate=can_mutate)


def test_the_guides_request_is_what_is_sent():
    resources = Resources(**GUIDE["state"]["cluster_resource_slices"])
    asked = Asked(**GUIDE["state"]["incoming_claim_spec"])
    assert state_of(resources, asked) == GUIDE["state"]
    sent = json.loads(json.dumps(dict(q.QUESTIONS["ko"])))
    wanted = GUIDE["questions"]
    levels = wanted[q.SEVERITY]["criteria"]
    wanted[q.SEVERITY]["criteria"] = [levels[str(i)] for i in range(4)]
    assert sent == wanted


def test_the_guides_cards_are_of_severity_one():
    pieces = [Piece(16 * GIB)] * 5 + [Piece(0)] * 11
    assert severity(pieces, asked=2) == 1


def test_both_languages_ask_the_same():
    ko, en = q.QUESTIONS["ko"], q.QUESTIONS["en"]
    assert list(ko) == list(en)
    for name in ko:
        assert ko[name]["type"] == en[name]["type"]
        one, other = ko[name].get("criteria"), en[name].get("criteria")
        assert type(one) is type(other)
        if isinstance(one, dict):
            assert list(one) == list(other) == list(q.ACTIONS)
        elif one is not None:
            assert len(one) == len(other) == q.SCORE_LEVELS


@pytest.mark.parametrize("language", q.LANGUAGES)
def test_questions_are_constants(language):
    with pytest.raises(TypeError):
        q.QUESTIONS[language][q.SAFE] = {}  # type: ignore[index]


@pytest.mark.parametrize("labelled", [False, None])
def test_the_guard_comes_before_any_call(labelled):
    refused = guard(asks_admin=True, labelled=labelled)
    assert refused is not None
    assert (refused.outcome, refused.code) == (Outcome.DENY, "admin.no_label")
    assert guard(asks_admin=True, labelled=True) is None
    assert guard(asks_admin=False, labelled=False) is None


@pytest.mark.parametrize(
    ("more", "outcome", "code"),
    [
        ({"safe": 0.89}, "deny", "advice.unsafe"),
        ({"safe": 0.90}, "admit", "advice.admit"),
        ({"action": q.REJECT, "safe": 0.5}, "deny", "advice.unsafe"),
        ({"action": q.REJECT}, "deny", "advice.reject"),
        ({"action": q.REJECT, "chance": 0.4}, "deny", "advice.reject"),
        ({"action": q.MUTATE}, "mutate", "advice.mutate"),
        ({"action": q.MUTATE, "chance": 0.85}, "admit", "advice.not_confident"),
        (
            {"action": q.MUTATE, "severities": (0.0, 0.2, 0.8, 0.0)},
            "admit",
            "advice.not_severe",
        ),
        ({"action": q.MUTATE, "tier": "online"}, "admit", "advice.not_batch"),
        ({"action": q.MUTATE, "can_mutate": False}, "admit", "advice.no_fallback"),
        ({"action": q.MUTATE, "safe": 0.1}, "deny", "advice.unsafe"),
    ],
)
def test_every_branch(more, outcome, code):
    decision = decided(**more)
    assert (decision.outcome, decision.code) == (outcome, code)


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (
            {"safe": 0.4},
            "The advisor holds it for safe with a probability of 0.4, and 0.9 is needed:"
            " ask for less, or ask an administrator.",
        ),
        (
            {"action": q.REJECT, "chance": 0.8},
            "The advisor would reject it, with a probability of 0.8: ask for less, or try"
            " again when devices are free.",
        ),
        ({}, "The advisor would admit it as it is."),
        (
            {"action": q.MUTATE},
            "The advisor falls back with a confidence of 0.955 at a severity of 2.1.",
        ),
        (
            {"action": q.MUTATE, "chance": 0.85},
            "The advisor would fall back, but is not confident enough: 0.775 of 0.82.",
        ),
        (
            {"action": q.MUTATE, "severities": (0.0, 0.2, 0.8, 0.0)},
            "The advisor would fall back, but fragmentation is not severe enough: 1.8 of"
            " 2.0.",
        ),
        (
            {"action": q.MUTATE, "tier": "online"},
            "The advisor would fall back, but only claims of the tier batch-offline are"
            " changed.",
        ),
        (
            {"action": q.MUTATE, "can_mutate": False},
            "The advisor would fall back, but no fallback that fits now may be put into"
            " it.",
        ),
    ],
)
def test_what_each_branch_says(more, sentence):
    from portal.admission.services.wording import said

    decision = decided(**more)
    assert said(decision.code, decision.values) == sentence


def test_severity_is_compared_as_the_float_that_it_is():
    kept = decided(action=q.MUTATE, severities=(0.0, 0.04, 0.92, 0.04))
    assert kept.outcome == Outcome.MUTATE
    assert kept.values["severity"] == 2.0


def test_confidence_is_worked_out_from_the_probabilities():
    advice = read_advice(answers(chance=0.6))
    assert advice.confidence == pytest.approx((0.6 - 1 / 3) / (1 - 1 / 3))
    assert choice_confidence([1.0]) == 1.0
    assert score_confidence([0.25] * 4) == pytest.approx(max(0, 1 - 1.5 / 1.0))
    assert score_confidence([0.0, 0.0, 1.0, 0.0]) == 1.0
    assert score_confidence([0.0, 0.1, 0.9, 0.0]) == pytest.approx(0.9)


def _without(name):
    return lambda found: found.pop(name)


def _set(*path, value):
    def change(found):
        place = found
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        _without(q.ACTION),
        _without(q.SAFE),
        _set("more", value={"type": "noul", "noul": 0.5}),
        _set(q.ACTION, "type", value="score"),
        _set(q.ACTION, "choice", value="something"),
        _set(q.ACTION, "choice", value=q.REJECT),
        _set(q.ACTION, "probabilities", value={q.ADMIT: 1.0}),
        _set(q.ACTION, "probabilities", q.ADMIT, value=0.2),
        _set(q.ACTION, "probabilities", q.ADMIT, value="1"),
        _set(q.ACTION, "confidence", value=1.5),
        _set(q.ACTION, "confidence", value=None),
        _set(q.SEVERITY, "score", value=3.0),
        _set(q.SEVERITY, "score", value=float("nan")),
        _set(q.SEVERITY, "score", value=None),
        _set(q.SEVERITY, "legend", value={}),
        _set(q.SEVERITY, "probabilities", value={"1": 1.0}),
        _set(q.SEVERITY, "probabilities", "2", value=0.4),
        _set(q.SAFE, "noul", value=1.2),
        _set(q.SAFE, "noul", value=True),
        _set(q.SAFE, "type", value="boolean"),
    ],
)
def test_what_does_not_fit_together_is_no_answer(change):
    found = answers()
    change(found)
    with pytest.raises(Malformed):
        read_advice(found)


@given(
    st.sampled_from(q.ACTIONS),
    st.floats(0.34, 1),
    st.lists(st.floats(0.01, 1), min_size=4, max_size=4),
    st.floats(0, 1),
    st.sampled_from(["batch-offline", "online"]),
    st.booleans(),
)
def test_nothing_is_changed_but_batch_that_is_sure_and_severe(
    action, chance, weights, safe, tier, can_mutate
):
    severities = [each / sum(weights) for each in weights]
    advice = read_advice(answers(action, chance, severities, safe))
    decision = decide(advice, UNCALIBRATED, tier=tier, can_mutate=can_mutate)
    if decision.outcome is Outcome.MUTATE:
        assert tier == "batch-offline"
        assert can_mutate
        assert advice.safe >= UNCALIBRATED.safe
        assert advice.confidence >= UNCALIBRATED.confidence
        assert advice.severity >= UNCALIBRATED.severity
    stricter = replace(UNCALIBRATED, safe=1.01)
    assert decide(advice, stricter, tier=tier, can_mutate=can_mutate).outcome == "deny"

# ruff: noqa: F811  fixtures by name
"""An engine that hangs or is away holds up no other review, and leaves nothing behind."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from inventory.gateways.engine import Engine, EngineDeadline
from inventory.gateways.engine_process import EngineUnavailable
from portal.admission.services import budgeting, facts, limiting
from portal.budgets.services import needing
from tests.integration.admission.reviews import claim, review, stored
from tests.integration.budgets.conftest import (  # noqa: F401  fixtures
    GPU_CLASS,
    admin,
    budget,
    cluster,
    gpus,
    kubeconfigs,
)

pytestmark = pytest.mark.django_db
SPACE = "ai-training"
AWAY = EngineUnavailable("The engine does not answer; try again in a moment.")


@pytest.fixture(autouse=True)
def nothing_known():
    """Begin and end with nothing that was asked before."""
    needing.forget()
    yield
    needing.forget()


@pytest.fixture
def log(monkeypatch):
    """Return what happens, in order: an engine asked, a lock taken."""
    happened = []
    evaluate = Engine.evaluate

    def asked(*args, **more):
        happened.append("engine")
        return evaluate(*args, **more)

    monkeypatch.setattr(Engine, "evaluate", asked)
    for module in (budgeting, limiting):
        real = module._lock

        def locked(*args, real=real):
            happened.append("lock")
            real(*args)

        monkeypatch.setattr(module, "_lock", locked)
    return happened


@pytest.fixture
def broken(monkeypatch):
    """Return a function that lets the engine fail so from now on; None: no longer."""
    evaluate = Engine.evaluate
    calls = []

    def do(error):
        def asked(*args, **more):
            calls.append(error)
            if error is not None:
                raise error
            return evaluate(*args, **more)

        monkeypatch.setattr(Engine, "evaluate", asked)
        return calls

    return do


def waiting(cluster, *names, **asked):
    """Store claims that hold nothing yet, each with a spec of its own."""
    for number, name in enumerate(names, 2):
        body = claim(SPACE, name, deviceClassName=GPU_CLASS, count=number, **asked)
        stored(cluster, body)


def judged_beside_two(gpus, ask, log):
    """Have one more claim judged; the engine is asked of all, and no longer once locked."""
    waiting(gpus, "x", "y")

    assert ask(claim(SPACE, deviceClassName=GPU_CLASS))["allowed"] is True

    assert log.count("engine") >= 3
    assert "engine" not in log[log.index("lock") :]


def test_no_budget_is_locked_while_the_engine_is_asked(gpus, budget, ask, log):
    budget(vram_hard=100_000)
    judged_beside_two(gpus, ask, log)


def test_no_limit_is_locked_while_the_engine_is_asked(gpus, rule, ask, log):
    params = {"namespaces": [SPACE], "vramGib": 100_000}
    rule("gib", kind="limits", params=params)
    judged_beside_two(gpus, ask, log)


def test_a_claim_seen_since_then_counts_as_unknown(gpus, rule, ask, monkeypatch):
    params = {"namespaces": [SPACE], "vramGib": 100_000}
    rule("gib", kind="limits", params=params)
    real = limiting._lock

    def locked(*args):
        waiting(gpus, "late")
        real(*args)

    monkeypatch.setattr(limiting, "_lock", locked)

    assert ask(claim(SPACE, deviceClassName=GPU_CLASS))["allowed"] is False


@pytest.mark.parametrize("error", [AWAY, EngineDeadline("too late")])
def test_what_failed_is_asked_again_at_once(gpus, broken, error):
    body = claim(SPACE, deviceClassName=GPU_CLASS)
    broken(error)
    assert needing.need_lately(gpus, body).problem == error.message

    broken(None)
    found = needing.need_lately(gpus, body)

    assert (found.problem, found.amounts.cards) == ("", 1)


def test_a_review_passes_as_soon_as_the_engine_is_back(
    gpus, budget, rule, post, ask, broken
):
    rule("diagnostics", mode="off", kind="diagnostics")
    budget(vram_hard=1_000)
    body = claim(SPACE, deviceClassName=GPU_CLASS)
    broken(AWAY)
    assert post("/admission/validate", review(body)).status_code == 503

    broken(None)

    assert ask(body)["allowed"] is True


def test_a_limit_of_memory_holds_as_soon_as_the_engine_is_back(
    gpus, rule, ask, broken, afresh
):
    rule("diagnostics", mode="off", kind="diagnostics")
    rule("gib", kind="limits", params={"namespaces": [SPACE], "vramGib": 1_000})
    body = claim(SPACE, deviceClassName=GPU_CLASS)
    broken(AWAY)
    assert ask(body)["allowed"] is False

    broken(None)
    afresh()  # A verdict is kept for two seconds.

    assert ask(body)["allowed"] is True


def test_how_broken_up_cards_are_is_asked_again_at_once(gpus, broken):
    asked = SimpleNamespace(body=claim(SPACE, deviceClassName=GPU_CLASS))
    broken(AWAY)
    assert facts.exact_severity(gpus, asked) is None

    broken(None)

    assert facts.exact_severity(gpus, asked) is not None


def test_an_engine_that_failed_is_not_asked_about_every_claim(gpus, broken):
    bodies = [claim(SPACE, deviceClassName=GPU_CLASS, count=n) for n in (1, 2, 3)]
    calls = broken(AWAY)

    found = list(needing.needs_lately(gpus, bodies))

    assert len(calls) == 1
    assert [need.amounts.gpus for need in found] == [1, 2, 3]

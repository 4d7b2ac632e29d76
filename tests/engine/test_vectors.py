"""The engine says what Kubernetes' own library said, recorded problem by problem."""

from __future__ import annotations

import time

import pytest

from inventory.domain.engine import MINORS
from inventory.gateways.engine import Engine
from tests.engine import problems

# What is said before the library is asked: kube-scheduler's own words.
SCHEDULERS_WORDS = ("does not exist", "unsupported request type", "feature is disabled")
# Asks for no claim at all, which the engine refuses.
WITHOUT_CLAIMS = {"empty", "no-claims-to-allocate"}
# Recorded after the library's own test had changed the quantities of its input.
CHANGED_WHEN_RECORDED = {"consumable-capacity-requests-are-not-modified"}
# The allocators differ in the devices they visit, thus in which error comes first.
OTHER_WORDS = {"list-attributes-distinct-constaint-with-empty-or-unknown-type"}


@pytest.mark.parametrize("minor", MINORS)
def test_cel_is_judged_as_recorded(process, minor):
    wrong = []
    for vector in problems.vectors("cel"):
        problem, recorded = vector["problem"], vector["answers"][minor]
        engine = Engine(process(minor), gates=tuple(problem["features"]))
        checked = engine.check([problem["expression"]])[0]
        write = recorded.get("writeError", "")
        scheduler = problems.said(recorded.get("compileError", ""))
        found = (
            checked.scheduler.error,
            checked.scheduler.line,
            checked.scheduler.column,
        )
        if found != (scheduler.text, scheduler.line, scheduler.column):
            wrong.append((problem["id"], "scheduler", found, scheduler))
        if "too complex" in write:
            if (checked.apiserver.reason, checked.cost) != (
                "cost",
                recorded["maxCost"],
            ):
                wrong.append((problem["id"], "cost", checked))
            continue
        api = problems.said(write)
        found = (
            checked.apiserver.error,
            checked.apiserver.line,
            checked.apiserver.column,
        )
        if found != (api.text, api.line, api.column):
            wrong.append((problem["id"], "apiserver", found, api))
        if checked.cost != (None if write else recorded["maxCost"]):
            wrong.append((problem["id"], "cost", checked.cost))
    assert not wrong, wrong[:5]


def _first_of_many(error):
    """Blank the attribute in an error that names any one of several."""
    unsupported = error and error.endswith(": unsupported attribute value")
    return "unsupported" if unsupported else error


@pytest.mark.parametrize("minor", MINORS)
def test_cel_is_evaluated_as_recorded(process, minor):
    wrong = []
    for vector in problems.vectors("cel"):
        problem, recorded = vector["problem"], vector["answers"][minor]
        body = problems.resource_slice("n", [problem["device"]])
        body["spec"]["driver"] = problem["driver"]
        engine = Engine(
            process(minor),
            gates=tuple(problem["features"]),
            overlay=(problems.row("ResourceSlice", body),),
        )
        answer = engine.evaluate([problem["expression"]])
        if recorded.get("compileError"):
            want = (None, None)
        else:
            error = _first_of_many(recorded.get("runtimeError"))
            want = (not error and recorded["match"], error)
        match = answer.devices and answer.devices.match == 1
        message = answer.errors[0].message if answer.errors else None
        found = (match, _first_of_many(message))
        if found != want:
            wrong.append((problem["id"], found, want))
    assert not wrong, wrong[:5]


def _ask(process, minor, problem, budget=20.0):
    engine = Engine(
        process(minor),
        gates=tuple(problem["features"]),
        overlay=tuple(problems.problem_rows(problem)),
    )
    names = [node["metadata"]["name"] for node in problem["nodes"]]
    return engine.allocate(problem["claims"], nodes=names, budget=budget)


def _difference(recorded, answer, *, arbitrary):
    """Return what one node's answer says otherwise than recorded, or nothing."""
    if answer.outcome != problems.outcome(recorded):
        return (answer.outcome, answer.message, recorded)
    if arbitrary:
        return None
    if recorded["results"] is not None and answer.results != recorded["results"]:
        return (answer.results, recorded["results"])
    said = recorded.get("error") or recorded.get("nodeError") or answer.message
    if answer.message != said and not answer.message.endswith(SCHEDULERS_WORDS):
        return (answer.message, said)
    return None


def test_the_allocators_own_tests_hold(process):
    wrong, seen = [], 0
    for vector in problems.vectors("allocation-upstream"):
        if vector["name"] in WITHOUT_CLAIMS | CHANGED_WHEN_RECORDED:
            continue
        answers = _ask(process, "1.37", vector["problem"])
        # A problem recorded with another allocator than its gates choose may be
        # given other devices, since the stable one takes pools in any order.
        other = answers.engine.allocator != vector["channel"]
        for name, recorded in vector["answer"]["nodes"].items():
            seen += 1
            if recorded.get("error") == "invalid resource pools were encountered":
                recorded = {"results": None, "nodeError": recorded["error"]}
            arbitrary = other or vector["name"] in OTHER_WORDS
            found = _difference(recorded, answers.nodes[name], arbitrary=arbitrary)
            if found:
                wrong.append((vector["name"], *found))
    assert seen >= 270
    assert not wrong, wrong[:5]


@pytest.mark.parametrize("minor", MINORS)
def test_random_problems_are_answered_as_recorded(process, minor):
    every, wrong, seen = 8, [], 0
    for number, vector in enumerate(problems.vectors("allocation-random")):
        problem = vector["problem"]
        if problem["kubernetesVersion"] != minor or number % every:
            continue
        answers = _ask(process, minor, problem)
        # Pools come in any order before 1.36, and in the stable allocator.
        arbitrary = (
            vector["answer"].get("order") == "arbitrary"
            or minor in {"1.34", "1.35"}
            or answers.engine.allocator == "stable"
        )
        for name, recorded in vector["answer"]["nodes"].items():
            seen += 1
            found = _difference(recorded, answers.nodes[name], arbitrary=arbitrary)
            if found:
                wrong.append((problem["id"], name, *found))
    assert seen > 20
    assert not wrong, wrong[:5]


def test_an_explosive_search_is_undecided_and_says_what_has_no_candidate(process):
    (problem,) = problems.vectors("allocation-explosive")
    started = time.monotonic()
    answer = _ask(process, "1.37", problem, budget=2.0)
    # All of the budget is used, and little more.
    assert 2.0 <= time.monotonic() - started < 2.5
    assert {each.outcome for each in answer.nodes.values()} == {"undecided"}
    alone = {(a.claim, a.request): a.nodes["node-0"].outcome for a in answer.alone}
    assert alone["c4-1", "r0"] == "no"
    assert alone["c4-0", "r0"] == "fits"

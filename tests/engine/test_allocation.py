"""Where claims fit: what kube-scheduler adds to the library, copies, and cancelling."""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path

import pytest

from inventory.gateways.engine import AsyncEngine, Engine
from inventory.gateways.engine_process import pid_at
from tests.engine import problems
from tests.engine.problems import (
    GATES,
    GPU,
    allocated_claim,
    claim,
    device,
    exactly,
    first_available,
    node,
    resource_slice,
    row,
    two_nodes,
)


def _devices(answer, at: int = 0) -> list[str]:
    return [r["device"] for r in answer.results[at]["devices"]["results"]]


def test_each_node_has_its_own_answer(engine):
    answer = engine.on(two_nodes()).allocate([claim(exactly("r", "large", 2))])
    big, small = answer.nodes["big"], answer.nodes["small"]
    assert (big.outcome, big.message, big.score) == ("fits", "", 0)
    assert _devices(big) == ["gpu-0", "gpu-1"]
    assert (small.outcome, small.message) == ("no", "cannot allocate all claims")
    assert (small.results, small.score) == (None, None)
    assert answer.engine.minor == "1.37"
    assert answer.engine.allocator == "incubating"
    assert answer.alone == ()


def test_allocated_claims_of_the_snapshot_hold_their_devices(engine):
    held = {"request": "r", "driver": GPU, "pool": "big", "device": "gpu-0"}
    rows = [*two_nodes(), row("ResourceClaim", allocated_claim("h", [held]))]
    answer = engine.on(rows).allocate([claim(exactly("r", "large"))])
    assert _devices(answer.nodes["big"]) == ["gpu-1"]
    admin = [row("ResourceClaim", allocated_claim("h", [held | {"adminAccess": True}]))]
    answer = engine.on([*two_nodes(), *admin]).allocate([claim(exactly("r", "large"))])
    assert _devices(answer.nodes["big"]) == ["gpu-0"]


def test_claims_are_asked_together_and_answered_in_their_order(engine):
    asked = [
        claim(exactly("r", "any", 2), name="a"),
        claim(exactly("r", "any"), name="b"),
    ]
    answer = engine.on(two_nodes()).allocate(asked)
    assert {each.outcome for each in answer.nodes.values()} == {"no"}
    answer = engine.on(two_nodes()).allocate(
        [asked[1], asked[1] | {"metadata": {"name": "c"}}]
    )
    assert [_devices(answer.nodes["big"], at) for at in (0, 1)] == [
        ["gpu-0"],
        ["gpu-1"],
    ]


def test_an_allocated_claim_of_the_pod_only_has_to_be_there(engine):
    terms = [{"matchFields": [
        {"key": "metadata.name", "operator": "In", "values": ["big"]}
    ]}]  # fmt: skip
    held = {"request": "r", "driver": GPU, "pool": "big", "device": "gpu-0"}
    mine = allocated_claim("mine", [held], nodeSelector={"nodeSelectorTerms": terms})
    answer = engine.on(two_nodes()).allocate([mine, claim(exactly("r", "any"))])
    assert [_devices(answer.nodes["big"], at) for at in (0, 1)] == [
        ["gpu-0"],
        ["gpu-1"],
    ]
    small = answer.nodes["small"]
    assert small.outcome == "no"
    assert small.message == "resourceclaim not available on the node"


@pytest.mark.parametrize(
    ("minor", "scores"), [("1.34", (None, None)), ("1.35", (8, 7)), ("1.37", (8, 7))]
)
def test_a_score_is_eight_for_the_first_alternative_and_there_is_none_in_1_34(
    process, minor, scores
):
    engine = Engine(process(minor), gates=GATES, overlay=tuple(two_nodes()))
    answer = engine.allocate([claim(first_available("r", "large", "any"))])
    assert (answer.nodes["big"].score, answer.nodes["small"].score) == scores
    requests = [
        answer.nodes[name].results[0]["devices"]["results"][0]["request"]
        for name in ("big", "small")
    ]
    assert requests == ["r/try-0", "r/try-1"]


def test_a_class_that_is_missing_in_any_alternative_is_an_error_everywhere(engine):
    asked = [claim(first_available("r", "large", "absent"))]
    answer = engine.on(two_nodes()).allocate(asked)
    for each in answer.nodes.values():
        assert each.outcome == "error"
        assert each.message == "request r/try-1: device class absent does not exist"


def test_a_run_time_error_is_an_error_and_not_a_no(engine):
    selector = [{"cel": {"expression": f'device.attributes["{GPU}"].absent == 1'}}]
    answer = engine.on(two_nodes()).allocate(
        [claim(exactly("r", "any", selectors=selector))]
    )
    assert answer.nodes["big"].outcome == "error"
    assert "no such key: absent" in answer.nodes["big"].message


def test_unknown_nodes_are_refused_by_name(engine):
    from inventory.gateways.engine import EngineRefused

    with pytest.raises(EngineRefused, match="no node nowhere"):
        engine.on(two_nodes()).allocate([claim(exactly("r", "any"))], nodes=["nowhere"])


def test_only_the_asked_nodes_answer(engine):
    answer = engine.on(two_nodes()).allocate(
        [claim(exactly("r", "any"))], nodes=["small"]
    )
    assert list(answer.nodes) == ["small"]


# Taint rules, as each minor's tracker applies them


def _rule(selector: dict | None, effect: str = "NoSchedule") -> dict:
    spec: dict = {"taint": {"key": "k", "value": "v", "effect": effect}}
    if selector is not None:
        spec["deviceSelector"] = selector
    return {"metadata": {"name": "rule"}, "spec": spec}


@pytest.mark.parametrize(
    ("minor", "selector", "free"),
    [
        ("1.37", {"driver": GPU, "pool": "big", "device": "gpu-0"}, ["gpu-1"]),
        ("1.37", {"driver": GPU, "pool": "big"}, []),
        ("1.37", {"driver": "other"}, ["gpu-0", "gpu-1"]),
        ("1.37", {"pool": "small"}, ["gpu-0", "gpu-1"]),
        ("1.37", {}, []),
        ("1.37", None, ["gpu-0", "gpu-1"]),
        ("1.35", None, ["gpu-0", "gpu-1"]),
        ("1.34", None, []),
        ("1.34", {"deviceClassName": "large"}, []),
        ("1.34", {"deviceClassName": "absent"}, ["gpu-0", "gpu-1"]),
        (
            "1.34",
            {
                "selectors": [
                    {"cel": {"expression": f'device.attributes["{GPU}"].index == 0'}}
                ]
            },
            ["gpu-1"],
        ),
    ],
)
def test_taint_rules_keep_devices_out(process, minor, selector, free):
    rows = [*two_nodes(), row("DeviceTaintRule", _rule(selector))]
    engine = Engine(process(minor), gates=GATES, overlay=tuple(rows))
    found = []
    for count in (2, 1):
        answer = engine.allocate([claim(exactly("r", "any", count))], nodes=["big"])
        if answer.nodes["big"].outcome == "fits":
            found = _devices(answer.nodes["big"])
            break
    assert found == free


def test_taint_rules_need_their_gate_and_can_be_tolerated(process):
    rows = (*two_nodes(), row("DeviceTaintRule", _rule({})))
    off = tuple(gate for gate in GATES if gate != "DRADeviceTaintRules")
    plain = claim(exactly("r", "any"))
    assert (
        Engine(process("1.37"), gates=off, overlay=rows)
        .allocate([plain])
        .nodes["big"]
        .outcome
        == "fits"
    )
    tolerations = [{"key": "k", "operator": "Exists", "effect": "NoSchedule"}]
    tolerant = claim(exactly("r", "any", tolerations=tolerations))
    on = Engine(process("1.37"), gates=GATES, overlay=rows)
    assert on.allocate([plain]).nodes["big"].outcome == "no"
    assert on.allocate([tolerant]).nodes["big"].outcome == "fits"


# Copies


def test_copies_are_counted_on_each_node_and_together(engine):
    answer = engine.on(two_nodes()).copies([claim(exactly("r", "any"))])
    assert {name: c.copies for name, c in answer.nodes.items()} == {
        "big": 2,
        "small": 2,
    }
    assert answer.together.copies == 4
    assert not answer.together.at_least
    assert answer.together.message == "cannot allocate all claims"


def test_copies_of_what_all_nodes_share_are_not_counted_twice(engine):
    shared = resource_slice(
        "net", [device(f"n-{i}", type="nic") for i in range(3)], allNodes=True
    )
    rows = [*two_nodes(), row("ResourceSlice", shared)]
    rows.append(
        row(
            "DeviceClass",
            problems.device_class("nic", f'device.attributes["{GPU}"].type == "nic"'),
        )
    )
    answer = engine.on(rows).copies([claim(exactly("r", "nic"))])
    assert {name: c.copies for name, c in answer.nodes.items()} == {
        "big": 3,
        "small": 3,
    }
    assert answer.together.copies == 3


def test_a_share_of_a_copy_is_gone_for_the_next(engine):
    card = device("card", type="gpu") | {
        "allowMultipleAllocations": True,
        "capacity": {"memory": {"value": "80Gi"}},
    }
    rows = [
        row("Node", node("n")),
        row("ResourceSlice", resource_slice("n", [card])),
        row("DeviceClass", problems.device_class("any")),
    ]
    share = claim(exactly("r", "any", capacity={"requests": {"memory": "30Gi"}}))
    answer = engine.on(rows).copies([share])
    assert answer.together.copies == 2
    ids = {
        r["shareID"]
        for r in engine.on(rows)
        .allocate([share])
        .nodes["n"]
        .results[0]["devices"]["results"]
    }
    assert ids == {problems.NO_SHARE}


def test_a_maximum_ends_the_count_as_at_least(engine):
    answer = engine.on(two_nodes()).copies([claim(exactly("r", "any"))], most=3)
    assert (answer.together.copies, answer.together.at_least) == (3, True)
    assert not answer.nodes["big"].at_least


# Cancelling


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


async def test_a_cancelled_question_stops_the_search(process):
    (problem,) = problems.vectors("allocation-explosive")
    engine = AsyncEngine(
        process("1.37"),
        gates=tuple(problem["features"]),
        overlay=tuple(problems.problem_rows(problem)),
    )
    pid = pid_at(engine.process.socket)
    started = _ticks(pid)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await engine.allocate(problem["claims"], budget=60)
    await asyncio.sleep(0.3)
    stopped = _ticks(pid)
    assert stopped > started
    await asyncio.sleep(1)
    assert _ticks(pid) - stopped < os.sysconf("SC_CLK_TCK") / 5


def test_hard_nodes_do_not_starve_the_others(process):
    (problem,) = problems.vectors("allocation-explosive")
    kinds = ("slices", "nodes")
    rows = problems.problem_rows(problem)
    # More hard nodes than there are CPUs, and all of them asked before the easy one.
    hard = {f"hard-{at}" for at in range((os.cpu_count() or 1) + 1)}
    for name in hard:
        text = json.dumps({kind: problem[kind] for kind in kinds})
        text = text.replace("node-0", name).replace("slice-", f"{name}-slice-")
        rows += problems.problem_rows(json.loads(text))
    rows.append(row("Node", node("easy")))
    gates = tuple(problem["features"])
    engine = Engine(process("1.37"), gates=gates, overlay=tuple(rows))
    started = time.monotonic()
    answer = engine.allocate(problem["claims"], nodes=[*hard, "easy"], budget=2.0)
    assert time.monotonic() - started < 2.5
    outcomes = {name: each.outcome for name, each in answer.nodes.items()}
    assert outcomes == dict.fromkeys(hard, "undecided") | {"easy": "no"}
    assert {name for each in answer.alone for name in each.nodes} == hard

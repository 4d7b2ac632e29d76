"""Phases: every line of every gate says yes, no and unknown; every way forth and back."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from portal.adoption.domain.actions import actions, rollback
from portal.adoption.domain.facts import (
    ClusterFacts,
    DaemonSetFacts,
    NodeFacts,
    OperatorFacts,
    Role,
)
from portal.adoption.domain.gates import (
    ClaimFacts,
    GpuPod,
    MigrationFacts,
    blocks,
    gate,
)
from portal.adoption.domain.phase_manifests import MANIFESTS
from portal.adoption.domain.phases import (
    Move,
    Phase,
    State,
    after,
    gate_of,
    moves_from,
    state_of,
)
from portal.adoption.domain.pods import read_claim, read_pod
from portal.adoption.domain.readiness import Answer, Verdict
from portal.adoption.services.phase_words import (
    ACTIONS,
    GATE_EVIDENCE,
    GATE_TITLES,
    MOVES,
    PHASES,
    STATES,
    line_evidence,
    line_title,
)

CANARY = NodeFacts(
    "canary",
    "containerd://2.0.1",
    labels={"nvidia.com/dra-enabled": "true", "nvidia.com/gpu.count": "8"},
    drivers=("gpu.nvidia.com",),
    kinds=("whole",),
    cards=8,
)
OLD = NodeFacts("old", "containerd://2.0.1", {"plugin": "true"}, plugin_devices=8)
DRIVER = DaemonSetFacts("dra", "kubelet-plugin", Role.DRA_DRIVER, "v0.5.0", 1, 1, {})
PLUGIN = DaemonSetFacts(
    "gpu-operator",
    "plugin",
    Role.DEVICE_PLUGIN,
    "v0.17",
    1,
    1,
    {"plugin": "true"},
)
AWAY = {
    "nodeSelectorTerms": [
        {
            "matchExpressions": [
                {"key": "nvidia.com/dra-enabled", "operator": "DoesNotExist"}
            ]
        }
    ]
}
GONE = replace(PLUGIN, desired=0, ready=0)
POLICY = OperatorFacts("cluster-policy", "v26.7.1", True, "mixed")
PROBE = GpuPod("lab", "probe", "canary", asks={"nvidia.com/gpu": 1}, implicit="made")
NATIVE = GpuPod("lab", "native", "canary", claims=("own",))
MADE = ClaimFacts("lab", "made", True, True)
OWN = ClaimFacts("lab", "own", True, True)
CLUSTER = ClusterFacts(
    version="v1.37.2",
    served=("v1",),
    gates=frozenset({"DRAExtendedResource"}),
    slices_seen=True,
    nodes_seen=True,
    daemon_sets=(DRIVER, PLUGIN),
    policies=(POLICY,),
    gpu_clusters=(),
    operator_kinds=2,
    nodes=(CANARY, OLD),
)
NOTHING = MigrationFacts(ClusterFacts())


def world(*pods: GpuPod, claims=(), mapped=(), **more) -> MigrationFacts:
    known = {(each.namespace, each.name): each for each in claims}
    return MigrationFacts(replace(CLUSTER, **more), pods, known, mapped)


def nodes(*rows: NodeFacts, **more) -> MigrationFacts:
    return world(nodes=rows, **more)


P1, P2, P3, P4, P5 = Phase
LINES = [
    (P1, "resource.v1", "yes", world()),
    (P1, "resource.v1", "no", world(served=("v1beta1",))),
    (P1, "resource.v1", "unknown", NOTHING),
    (P1, "gate.runtimes", "yes", world()),
    (P1, "gate.runtimes", "no", nodes(replace(OLD, runtime="containerd://1.7.2"))),
    (P1, "gate.runtimes", "unknown", nodes(CANARY, replace(OLD, runtime=""))),
    (P1, "gate.runtimes", "unknown", nodes()),
    (P1, "gate.runtimes", "unknown", NOTHING),
    (P2, "gate.canary", "yes", world()),
    (P2, "gate.canary", "no", nodes(OLD)),
    (P2, "gate.canary", "unknown", NOTHING),
    (P2, "driver.ready", "yes", world()),
    (P2, "driver.ready", "no", world(daemon_sets=(replace(DRIVER, ready=0),))),
    (P2, "driver.ready", "unknown", NOTHING),
    (P2, "gate.slices", "yes", world()),
    (P2, "gate.slices", "no", nodes(replace(CANARY, drivers=()))),
    (P2, "gate.slices", "no", nodes(OLD)),
    (P2, "gate.slices", "unknown", world(slices_seen=False)),
    (P2, "gate.one_driver", "yes", world()),
    (P2, "gate.one_driver", "no", nodes(replace(CANARY, plugin_devices=8))),
    (
        P2,
        "gate.one_driver",
        "no",
        world(daemon_sets=(DRIVER, replace(PLUGIN, node_selector={}))),
    ),
    (
        P2,
        "gate.one_driver",
        "yes",
        world(daemon_sets=(replace(PLUGIN, node_selector={}, required=AWAY),)),
    ),
    (P2, "gate.one_driver", "unknown", world(daemon_sets=None)),
    (P2, "gate.one_driver", "unknown", NOTHING),
    (P3, "gate.mapped", "yes", world(mapped=("gpu.nvidia.com",))),
    (P3, "gate.mapped", "no", world()),
    (P3, "gate.mapped", "unknown", NOTHING),
    (P3, "gate.implicit", "yes", world(PROBE, claims=(MADE,))),
    (P3, "gate.implicit", "no", world(replace(PROBE, implicit=""))),
    (P3, "gate.implicit", "no", world(replace(PROBE, node="old"), claims=(MADE,))),
    (
        P3,
        "gate.implicit",
        "no",
        world(PROBE, claims=(replace(MADE, allocated=False),)),
    ),
    (P3, "gate.implicit", "unknown", NOTHING),
    (P4, "gate.claims", "yes", world(NATIVE, claims=(OWN,))),
    (P4, "gate.claims", "no", world(NATIVE, claims=(replace(OWN, reserved=False),))),
    (P4, "gate.claims", "no", world(replace(NATIVE, node=""), claims=(OWN,))),
    (P4, "gate.claims", "no", world(PROBE, claims=(MADE,))),
    (P4, "gate.claims", "unknown", NOTHING),
    (P4, "gate.prepared", "yes", world(NATIVE, claims=(OWN,))),
    (P4, "gate.prepared", "no", world(replace(NATIVE, phase="Pending"), claims=(OWN,))),
    (P4, "gate.prepared", "no", world()),
    (
        P4,
        "gate.prepared",
        "unknown",
        world(replace(NATIVE, phase="Unknown"), claims=(OWN,)),
    ),
    (P4, "gate.prepared", "unknown", NOTHING),
    (P5, "gate.plugin_gone", "yes", world(daemon_sets=(DRIVER, GONE))),
    (P5, "gate.plugin_gone", "no", world()),
    (P5, "gate.plugin_gone", "unknown", NOTHING),
    (P5, "gate.plugin_pods", "yes", world(PROBE)),
    (P5, "gate.plugin_pods", "yes", world(replace(PROBE, implicit="", node=""))),
    (P5, "gate.plugin_pods", "no", world(replace(PROBE, implicit="", node="old"))),
    (P5, "gate.plugin_pods", "unknown", NOTHING),
    (P5, "gate.all_in_slices", "yes", nodes(CANARY)),
    (P5, "gate.all_in_slices", "no", world()),
    (P5, "gate.all_in_slices", "no", nodes(replace(CANARY, plugin_devices=8))),
    (P5, "gate.all_in_slices", "no", nodes(replace(CANARY, cards=7))),
    (P5, "gate.all_in_slices", "unknown", nodes()),
    (P5, "gate.all_in_slices", "unknown", NOTHING),
    (P5, "gate.switched", "yes", world(policies=(), gpu_clusters=(POLICY,))),
    (P5, "gate.switched", "yes", world(policies=None, operator_kinds=0)),
    (P5, "gate.switched", "yes", world(policies=())),
    (P5, "gate.switched", "no", world()),
    (P5, "gate.switched", "no", world(gpu_clusters=(POLICY,))),
    (P5, "gate.switched", "unknown", NOTHING),
]


@pytest.mark.parametrize(("phase", "code", "answer", "facts"), LINES)
def test_each_line_of_each_gate(phase, code, answer, facts):
    [line] = [each for each in gate(phase, facts) if each.code == code]

    assert line.answer == answer
    assert "%" not in line_evidence(line.code, line.why, line.values)
    assert line_title(code) != code


def test_the_table_has_each_answer_and_each_sentence_of_each_line():
    codes = {(phase, each.code) for phase in Phase for each in gate(phase, NOTHING)}
    assert {(p, c, a) for p, c, a, _ in LINES} == {
        (*key, answer.value) for key, answer in product(codes, Answer)
    }
    said = {
        (line.code, line.why) for phase, _, _, f in LINES for line in gate(phase, f)
    }
    assert GATE_EVIDENCE.keys() <= said
    assert {code for code, _ in GATE_EVIDENCE} == GATE_TITLES.keys()
    assert (len(PHASES), len(STATES), len(MOVES)) == (5, 6, 7)


def test_the_docs_tell_what_each_line_looks_at():
    text = (Path(__file__).parents[3] / "docs" / "migration-gates.md").read_text()
    for phase in Phase:
        for line in gate(phase, NOTHING):
            assert f"| `{line.code}` |" in text


def test_a_gate_is_green_only_if_every_line_is_or_somebody_answers_for_it():
    yes, no, unknown = (Verdict(str(a), a, "is") for a in Answer)

    assert gate_of([yes, yes]) is Answer.YES
    assert gate_of([yes, unknown]) is Answer.UNKNOWN
    assert gate_of([unknown, no], {"unknown", "no"}) is Answer.NO
    assert gate_of([yes, unknown], {"unknown"}) is Answer.YES


def walk(phase, state, *moves, gate_says=Answer.YES):
    for move in moves:
        assert move in moves_from(phase, state), (phase, state, move)
        phase, state = after(phase, state, move, gate_says)
    return phase, state


def test_forth_to_the_end_and_back_to_the_start():
    phase, state = Phase.CONTROL_PLANE, State.NOT_STARTED
    for number in range(1, 6):
        phase, state = walk(phase, state, Move.START, Move.CHECK)
        assert (phase, state) == (number, State.GATE_GREEN)
        phase, state = walk(phase, state, Move.GO_ON)
    assert (phase, state) == (Phase.DRAIN, State.DONE)
    assert [state_of(each, phase, state) for each in Phase] == [State.DONE] * 5
    assert moves_from(phase, state) == (Move.GO_BACK,)
    for number in range(5, 0, -1):
        phase, state = walk(phase, state, Move.GO_BACK)
        assert (phase, state) == (number, State.ROLLED_BACK)
    assert moves_from(phase, state) == (Move.START,)


def test_pausing_and_a_gate_that_is_green_no_more():
    running = (Phase.CANARY, State.RUNNING)
    assert walk(*running, Move.PAUSE) == (Phase.CANARY, State.PAUSED)
    assert walk(*running, Move.PAUSE, Move.RESUME) == running
    green = walk(*running, Move.CHECK)
    assert walk(*green, Move.CHECK, gate_says=Answer.NO) == running
    assert walk(*running, Move.CHECK, gate_says=Answer.UNKNOWN) == running
    paused = walk(*running, Move.PAUSE, Move.GO_BACK)
    assert paused == (Phase.CANARY, State.ROLLED_BACK)
    assert Move.GO_ON not in moves_from(Phase.CANARY, State.PAUSED)


def test_both_operator_objects_block_every_phase():
    both = world(gpu_clusters=(POLICY,))
    for phase in Phase:
        assert "operator.one" in {each.code for each in blocks(phase, both)}
        assert not blocks(phase, world())


def test_a_field_that_the_server_drops_blocks_the_mapping():
    [found] = blocks(Phase.MAPPING, world(kept={"DRAExtendedResource": False}))
    assert found.code == "mapping.on"
    old = replace(POLICY, version="v25.10.0")
    [found] = blocks(Phase.DRAIN, world(policies=(old,)))
    assert found.code == "operator.gpu_cluster"


def commands(steps):
    return "\n".join(line for each in steps for line in each.commands)


@pytest.mark.parametrize("phase", Phase)
def test_each_phase_has_actions_and_a_way_back_in_words(phase):
    for facts in (world(), NOTHING):
        both = (*actions(phase, "demo", facts), *rollback(phase, "demo", facts))
        assert {each.code for each in both} <= ACTIONS.keys()
        assert all(each.commands for each in both)
        assert {each.manifest for each in both} <= {"", *MANIFESTS}


def test_commands_name_what_this_cluster_has():
    odd = replace(OLD, name="old; rm -rf /", runtime="containerd://1.7.2")
    said = commands(actions(P1, "demo", nodes(CANARY, odd)))
    assert "kubectl drain 'old; rm -rf /' --ignore" in said
    assert "kubectl patch clusterpolicy cluster-policy" in said
    plain = replace(PLUGIN, node_selector={})
    said = commands(actions(P2, "demo", world(daemon_sets=(plain,))))
    assert "kubectl --namespace gpu-operator patch daemonset plugin" in said
    limited = replace(PLUGIN, node_selector={"nvidia.com/gpu.deploy.device-plugin": ""})
    said = commands(actions(P2, "demo", world(daemon_sets=(limited,))))
    assert "patch daemonset" not in said
    owned = replace(PROBE, owner=("Deployment", "serve"))
    assert "get deployment serve" in commands(actions(P4, "demo", world(owned)))
    owned = replace(NATIVE, owner=("Deployment", "serve"))
    said = commands(rollback(P4, "demo", world(owned)))
    assert "kubectl --namespace lab rollout undo deployment/serve" in said
    said = commands(rollback(P3, "demo", world(mapped=("a", "b"))))
    assert "deviceclass a --type json" in said
    assert "deviceclass b --type json" in said


def test_a_thousand_nodes_are_no_thousand_commands():
    many = [replace(OLD, name=f"n{n}", runtime="") for n in range(1000)]
    for phase in Phase:
        for steps in (actions, rollback):
            found = steps(phase, "demo", nodes(*many))
            assert len(commands(found).splitlines()) < 60


def test_the_switch_is_shut_until_nothing_needs_the_plugin():
    def switch(facts):
        [found] = [a for a in actions(P5, "demo", facts) if a.code == "switch"]
        return found.is_open

    assert not switch(world())
    assert switch(nodes(CANARY, daemon_sets=(DRIVER, GONE)))
    for none in (world(operator_kinds=0), world(policies=())):
        steps = (*actions(P5, "demo", none), *rollback(P5, "demo", none))
        assert {"switch", "guard", "switch_back"}.isdisjoint(s.code for s in steps)


def test_canary_nodes_are_one_of_each_kind():
    mig = replace(OLD, name="mig", labels={"nvidia.com/mig.config": "all-1g.10gb"})
    shared = replace(
        OLD, name="shared", labels={"nvidia.com/gpu.sharing-strategy": "time-slicing"}
    )
    said = commands(
        actions(P2, "demo", nodes(OLD, mig, replace(OLD, name="b"), shared))
    )
    for name in ("old", "mig", "shared"):
        assert f"kubectl label node {name} " in said
    assert "kubectl label node b " not in said


def test_pods_and_claims_are_read():
    limits = {"nvidia.com/gpu": "2", "nvidia.com/mig-1g.10gb": "1", "cpu": "4"}
    owner = {"kind": "ReplicaSet", "name": "serve-7d4b9c5f68", "controller": True}
    body = {
        "metadata": {"namespace": "lab", "name": "p", "ownerReferences": [owner]},
        "spec": {
            "nodeName": "n",
            "containers": [{"name": "c", "resources": {"limits": limits}}],
            "resourceClaims": [{"name": "own", "resourceClaimName": "own"}],
        },
        "status": {
            "phase": "Running",
            "extendedResourceClaimStatus": {"resourceClaimName": "made"},
            "resourceClaimStatuses": [{"name": "t", "resourceClaimName": "t-x"}],
        },
    }
    pod = read_pod(body)
    assert pod is not None
    assert pod.asks == {"nvidia.com/gpu": 2, "nvidia.com/mig-1g.10gb": 1}
    assert (pod.implicit, pod.claims) == ("made", ("own", "t-x"))
    assert pod.owner == ("Deployment", "serve")
    assert read_pod({**body, "status": {"phase": "Succeeded"}}) is None
    assert read_pod({"metadata": None, "spec": [], "status": 3}) is None

    result = {"driver": "gpu.nvidia.com", "pool": "n", "device": "gpu-0"}
    claim = {
        "metadata": {"namespace": "lab", "name": "own"},
        "spec": {"devices": {"requests": [{"exactly": {"deviceClassName": "x"}}]}},
        "status": {"allocation": {"devices": {"results": [result]}}},
    }
    assert read_claim(claim, frozenset()) == ClaimFacts("lab", "own", True, False)
    waiting = {**claim, "status": {}}
    assert read_claim(waiting, frozenset()) is None
    assert read_claim(waiting, frozenset({"x"})) is not None

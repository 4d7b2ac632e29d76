"""Every verdict says yes, no and unknown; what cannot be told is never yes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from portal.adoption.domain.facts import (
    ClusterFacts,
    DaemonSetFacts,
    NodeFacts,
    OperatorFacts,
    Role,
    read_daemon_set,
    read_operator,
    version_of,
)
from portal.adoption.domain.mig import mig_sums
from portal.adoption.domain.readiness import (
    Answer,
    Verdict,
    cluster_verdicts,
    node_verdicts,
)
from portal.adoption.services.words import (
    ADVICE,
    EVIDENCE,
    TITLES,
    advice_of,
    evidence_of,
)

NOTHING = ClusterFacts()
DRIVER = DaemonSetFacts(
    "nvidia-dra-driver", "gpus", Role.DRA_DRIVER, "v0.5.0", 2, 2, {}
)
PLUGIN = DaemonSetFacts(
    "gpu-operator", "plugin", Role.DEVICE_PLUGIN, "v0.17", 2, 2, {"dra": "no"}
)
POLICY = OperatorFacts("cluster-policy", "v26.7.1", True, "mixed")
DRA_NODE = NodeFacts(
    "n1", labels={"dra": "yes", "cards": "8"}, drivers=("gpu.nvidia.com",)
)
SEEN = ClusterFacts(
    slices_seen=True, nodes_seen=True, daemon_sets=(), nodes=(DRA_NODE,)
)


def daemon_sets(*rows: DaemonSetFacts) -> ClusterFacts:
    return replace(SEEN, daemon_sets=rows)


def operator(version: str) -> ClusterFacts:
    return ClusterFacts(policies=(replace(POLICY, version=version),))


def _rule(key: str, operator: str, *values: str) -> dict[str, object]:
    return {"key": key, "operator": operator, "values": list(values)}


def affine(*rules: dict[str, object], named: object = None) -> ClusterFacts:
    """Return a world whose device plugin needs one of some rules to hold of a node."""
    terms: list[object] = [{"matchExpressions": [rule]} for rule in rules]
    if named:
        terms.append({"matchFields": [named]})
    required = {"nodeSelectorTerms": terms}
    return daemon_sets(replace(PLUGIN, node_selector={}, required=required))


def tainted(
    *tolerations: dict[str, str], key: str = "pool", effect: str = "NoSchedule"
) -> ClusterFacts:
    """Return a world whose node of the DRA driver is tainted."""
    taint = {"key": key, "value": "dra", "effect": effect}
    plugin = replace(PLUGIN, node_selector={}, tolerations=tolerations)
    return replace(daemon_sets(plugin), nodes=(replace(DRA_NODE, taints=(taint,)),))


GATES = {
    "mapping.on": "DRAExtendedResource",
    "partitions.on": "DRAPartitionableDevices",
    "shares.on": "DRAConsumableCapacity",
}
CLUSTER = [
    ("resource.v1", "yes", ClusterFacts(served=("v1", "v1beta2"))),
    ("resource.v1", "no", ClusterFacts(served=("v1beta1",))),
    ("resource.v1", "no", ClusterFacts(served=())),
    ("resource.v1", "unknown", NOTHING),
    ("server.version", "yes", ClusterFacts(version="v1.34.2-eks-1")),
    ("server.version", "no", ClusterFacts(version="v1.34.1")),
    ("server.version", "no", ClusterFacts(version="v1.33.9")),
    ("server.version", "unknown", NOTHING),
    *[
        (code, answer, facts)
        for code, gate in GATES.items()
        for answer, facts in (
            ("yes", ClusterFacts(kept={gate: True}, gates=frozenset())),
            ("yes", ClusterFacts(gates=frozenset({gate}))),
            ("no", ClusterFacts(kept={gate: False}, gates=frozenset({gate}))),
            ("no", ClusterFacts(gates=frozenset())),
            ("unknown", NOTHING),
        )
    ],
    ("mapping.stable", "yes", ClusterFacts(version="v1.37.0")),
    ("mapping.stable", "no", ClusterFacts(version="v1.36.4")),
    ("mapping.stable", "unknown", NOTHING),
    ("driver.ready", "yes", daemon_sets(DRIVER)),
    ("driver.ready", "no", daemon_sets(replace(DRIVER, ready=1))),
    ("driver.ready", "no", daemon_sets(replace(DRIVER, ready=0, desired=0))),
    ("driver.ready", "no", daemon_sets()),
    ("driver.ready", "unknown", NOTHING),
    ("driver.version", "yes", daemon_sets(DRIVER)),
    ("driver.version", "no", daemon_sets(replace(DRIVER, tag="v0.4.9"))),
    ("driver.version", "no", daemon_sets(replace(DRIVER, tag="v25.8.1"))),
    ("driver.version", "unknown", daemon_sets(replace(DRIVER, tag=""))),
    ("driver.version", "unknown", daemon_sets()),
    ("driver.version", "unknown", NOTHING),
    ("operator.cdi", "yes", operator("v25.10.0")),
    ("operator.cdi", "no", operator("v25.3.4")),
    ("operator.cdi", "unknown", operator("")),
    ("operator.cdi", "unknown", ClusterFacts(policies=(), gpu_clusters=())),
    ("operator.cdi", "unknown", NOTHING),
    ("operator.gpu_cluster", "yes", operator("26.7.1")),
    ("operator.gpu_cluster", "no", operator("26.7.0")),
    ("operator.gpu_cluster", "unknown", NOTHING),
    ("operator.one", "yes", ClusterFacts(policies=(POLICY,), gpu_clusters=())),
    ("operator.one", "yes", ClusterFacts(policies=(POLICY,), operator_kinds=1)),
    ("operator.one", "no", ClusterFacts(policies=(POLICY,), gpu_clusters=(POLICY,))),
    ("operator.one", "unknown", ClusterFacts(policies=(POLICY,), operator_kinds=2)),
    ("operator.one", "unknown", NOTHING),
    ("plugin.limited", "yes", daemon_sets()),
    ("plugin.limited", "yes", daemon_sets(PLUGIN)),
    ("plugin.limited", "no", daemon_sets(replace(PLUGIN, node_selector={}))),
    ("plugin.limited", "yes", affine(_rule("dra", "NotIn", "yes", "soon"))),
    ("plugin.limited", "yes", affine(_rule("dra", "DoesNotExist"))),
    ("plugin.limited", "yes", affine(_rule("dra", "In", "no"), _rule("x", "Exists"))),
    ("plugin.limited", "yes", affine(_rule("cards", "Gt", "8"))),
    ("plugin.limited", "yes", affine(named=_rule("metadata.name", "In", "n2"))),
    ("plugin.limited", "yes", tainted()),
    ("plugin.limited", "yes", tainted({"key": "pool", "value": "old"})),
    ("plugin.limited", "yes", tainted({"operator": "Exists", "effect": "NoExecute"})),
    ("plugin.limited", "no", tainted({"key": "pool", "value": "dra"})),
    ("plugin.limited", "no", tainted({"key": "pool", "operator": "Exists"})),
    ("plugin.limited", "no", tainted({"operator": "Exists"})),
    ("plugin.limited", "no", tainted(key="node.kubernetes.io/not-ready")),
    ("plugin.limited", "no", tainted(effect="PreferNoSchedule")),
    ("plugin.limited", "no", affine(_rule("dra", "Exists"))),
    (
        "plugin.limited",
        "no",
        affine(_rule("dra", "In", "no"), _rule("cards", "Exists")),
    ),
    ("plugin.limited", "no", affine(_rule("cards", "Lt", "9"))),
    ("plugin.limited", "no", affine(named=_rule("metadata.name", "NotIn", "n2"))),
    (
        "plugin.limited",
        "unknown",
        replace(daemon_sets(PLUGIN), slices_seen=False),
    ),
    ("plugin.limited", "unknown", NOTHING),
    ("mig.strategy", "yes", ClusterFacts(policies=(POLICY,))),
    (
        "mig.strategy",
        "no",
        ClusterFacts(policies=(replace(POLICY, mig_strategy="single"),)),
    ),
    ("mig.strategy", "unknown", ClusterFacts(policies=())),
    ("mig.strategy", "unknown", NOTHING),
]

LAYOUTS = {
    "all-1g.10gb": [
        {"devices": "all", "mig-enabled": True, "mig-devices": {"1g.10gb": 7}}
    ],
    "by-model": [
        {"devices": "all", "device-filter": ["0x233010DE"], "mig-devices": {}}
    ],
}
TOLD = {"nvidia.com/mig.config": "all-1g.10gb", "nvidia.com/gpu.count": "2"}
MADE = NodeFacts(
    "n1",
    labels=TOLD,
    drivers=("gpu.nvidia.com",),
    fixed={"H100": {"1g.10gb": 14}},
)
WITH_LAYOUTS = replace(SEEN, mig_configs=LAYOUTS)


def labelled(name: str) -> NodeFacts:
    return replace(MADE, labels={**TOLD, "nvidia.com/mig.config": name})


NODE = [
    ("node.runtime", "yes", NOTHING, NodeFacts("n", "containerd://2.0.1")),
    ("node.runtime", "yes", NOTHING, NodeFacts("n", "containerd://1.7.18")),
    ("node.runtime", "yes", NOTHING, NodeFacts("n", "cri-o://1.34.0")),
    ("node.runtime", "no", NOTHING, NodeFacts("n", "containerd://1.7.17")),
    ("node.runtime", "no", NOTHING, NodeFacts("n", "docker://28.1")),
    ("node.runtime", "unknown", NOTHING, NodeFacts("n", "other://1.0")),
    ("node.runtime", "unknown", NOTHING, NodeFacts("n")),
    ("node.cdi", "yes", NOTHING, NodeFacts("n", runs_claims=True)),
    (
        "node.cdi",
        "no",
        ClusterFacts(policies=(replace(POLICY, cdi=False),)),
        NodeFacts("n"),
    ),
    ("node.cdi", "unknown", ClusterFacts(policies=(POLICY,)), NodeFacts("n")),
    ("node.gpu_driver", "yes", NOTHING, NodeFacts("n", driver_versions=("580.95.5",))),
    ("node.gpu_driver", "no", NOTHING, NodeFacts("n", driver_versions=("570.1.0",))),
    (
        "node.gpu_driver",
        "no",
        NOTHING,
        NodeFacts("n", driver_versions=("580.1", "570.1")),
    ),
    ("node.gpu_driver", "unknown", NOTHING, NodeFacts("n")),
    ("node.gpu_driver", "unknown", NOTHING, NodeFacts("n", driver_versions=("new",))),
    ("node.registered", "yes", SEEN, DRA_NODE),
    ("node.registered", "no", SEEN, NodeFacts("n", drivers=("dra.net",))),
    ("node.registered", "unknown", NOTHING, DRA_NODE),
    ("node.one_driver", "yes", SEEN, DRA_NODE),
    ("node.one_driver", "yes", SEEN, NodeFacts("n", plugin_devices=8)),
    ("node.one_driver", "no", SEEN, replace(DRA_NODE, plugin_devices=8)),
    ("node.one_driver", "unknown", NOTHING, replace(DRA_NODE, plugin_devices=8)),
    ("node.mig", "yes", WITH_LAYOUTS, MADE),
    ("node.mig", "no", WITH_LAYOUTS, replace(MADE, fixed={"H100": {"1g.10gb": 13}})),
    ("node.mig", "no", WITH_LAYOUTS, replace(MADE, fixed={}, on_demand=True)),
    ("node.mig", "no", WITH_LAYOUTS, labelled("typo")),
    ("node.mig", "unknown", WITH_LAYOUTS, labelled("by-model")),
    ("node.mig", "unknown", SEEN, MADE),
    ("node.mig", "unknown", replace(WITH_LAYOUTS, slices_seen=False), MADE),
]


def verdict(found: list[Verdict], code: str) -> Verdict:
    [one] = [each for each in found if each.code == code]
    assert evidence_of(one)
    assert bool(advice_of(one)) is (one.answer is not Answer.YES)
    return one


@pytest.mark.parametrize(("code", "answer", "facts"), CLUSTER)
def test_each_verdict_on_a_cluster(code, answer, facts):
    assert verdict(cluster_verdicts(facts), code).answer == answer


@pytest.mark.parametrize(("code", "answer", "facts", "node"), NODE)
def test_each_verdict_on_a_node(code, answer, facts, node):
    assert verdict(node_verdicts(facts, node), code).answer == answer


def test_the_table_has_each_answer_of_each_verdict():
    tried = {(code, answer) for code, answer, *_ in [*CLUSTER, *NODE]}
    assert tried == {(code, answer.value) for code in TITLES for answer in Answer}
    assert TITLES.keys() == ADVICE.keys() == {code for code, _ in EVIDENCE}


def test_what_differs_from_a_layout_is_named():
    node = replace(MADE, fixed={"H100": {"1g.10gb": 12, "3g.40gb": 1}})
    found = verdict(node_verdicts(WITH_LAYOUTS, node), "node.mig")
    assert found.values["lines"] == "1g.10gb: 12/14, 3g.40gb: 1/0"


def test_profiles_are_counted_by_layout_and_product_beside_what_is_published():
    short = replace(MADE, name="n2", fixed={"H100": {"1g.10gb": 12, "3g.40gb": 1}})
    other = replace(MADE, name="n3", fixed={"A100": {"1g.10gb": 14}})
    told = replace(WITH_LAYOUTS, nodes=(MADE, short, other, labelled("by-model")))
    found = [
        (each.product, each.profile, each.nodes, each.wanted, each.difference)
        for each in mig_sums(told)
    ]
    assert found == [
        ("A100", "1g.10gb", 1, 14, 0),
        ("H100", "1g.10gb", 2, 28, -2),
        ("H100", "3g.40gb", 1, 0, 1),
    ]
    assert mig_sums(replace(told, mig_configs=None)) == ()


def test_a_daemon_set_is_known_by_its_image_or_name():
    def body(name, image):
        pod = {"containers": [{"image": image}], "nodeSelector": {"a": "b"}}
        return {
            "metadata": {"name": name, "namespace": "x"},
            "spec": {"template": {"spec": pod}},
            "status": {"desiredNumberScheduled": 3, "numberReady": 2},
        }

    rule = {"key": "dra", "operator": "DoesNotExist"}
    required = {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}
    odd = body("nvidia-device-plugin", "nvcr.io/nvidia/k8s-device-plugin:v0.17")
    odd["spec"]["template"]["spec"]["affinity"] = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}
    }
    affine_plugin = read_daemon_set(odd)
    assert affine_plugin is not None
    assert affine_plugin.covers(NodeFacts("n", labels={"a": "b"}))
    assert not affine_plugin.covers(NodeFacts("n", labels={"a": "b", "dra": "yes"}))
    assert affine_plugin.looks_at("dra")
    assert not affine_plugin.looks_at("other")
    driver = read_daemon_set(
        body("kubelet-plugin", "nvcr.io:443/nvidia/k8s-dra-driver-gpu:v25.8.1@sha256:0")
    )
    assert driver is not None
    assert (driver.role, driver.tag, driver.desired, driver.ready) == (
        Role.DRA_DRIVER,
        "v25.8.1",
        3,
        2,
    )
    plugin = read_daemon_set(body("nvidia-device-plugin-daemonset", "mirror/x:1"))
    assert plugin is not None
    assert plugin.role is Role.DEVICE_PLUGIN
    assert read_daemon_set(body("fluent-bit", "fluent/fluent-bit:3")) is None
    assert read_daemon_set({"metadata": None, "spec": []}) is None


def test_an_operator_s_version_is_read_from_its_labels():
    chart = {"metadata": {"labels": {"helm.sh/chart": "gpu-operator-v25.10.1"}}}
    assert read_operator(chart).version == "25.10.1"
    assert read_operator({"metadata": {"labels": {"helm.sh/chart": "x"}}}).version == ""
    assert version_of("latest") is None

"""Is a cluster ready for DRA? Yes, no or unknown, each with what it is known from.

Source: the requirements of NVIDIA's DRA driver (Kubernetes 1.34.2, GPU driver
580, driver release 0.5.0), the GPU operator's releases 25.10.0 (CDI by default) and
26.7.1 (GPUCluster), containerd 1.7.18 and 2.0, and Kubernetes' AI conformance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from portal.adoption.domain.facts import (
    MAPPING,
    PARTITIONS,
    SHARES,
    ClusterFacts,
    NodeFacts,
    OperatorFacts,
    Role,
    version_of,
)
from portal.adoption.domain.mig import mig_layout

OLDEST_SERVER = (1, 34, 2)
STABLE_MAPPING = (1, 37, 0)
OPERATOR_WITH_CDI = (25, 10, 0)
OPERATOR_WITH_GPU_CLUSTER = (26, 7, 1)
DRA_DRIVER = (0, 5, 0)
# Releases were once numbered by year: 25.3 to 25.12 are older than 0.4.
NUMBERED_BY_YEAR = 25
GPU_DRIVER_MAJOR = 580
CONTAINERD = (1, 7, 18)


class Answer(StrEnum):
    """Whether something is as it should be."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One question and what is known of it.

    Attributes:
        code: which question; stable, part of the API.
        why: which sentence tells the evidence; with the code it names one.
        values: of that sentence.
        node: which it is about, "" for the cluster.
    """

    code: str
    answer: Answer
    why: str
    values: Mapping[str, Any] = field(default_factory=dict)
    node: str = ""


def cluster_verdicts(facts: ClusterFacts) -> list[Verdict]:
    """Return every verdict on the cluster as a whole, in the order of a page."""
    return [
        served(facts),
        _server(facts),
        _gate(facts, "mapping.on", MAPPING),
        _mapping_stable(facts),
        _gate(facts, "partitions.on", PARTITIONS),
        _gate(facts, "shares.on", SHARES),
        driver_ready(facts),
        _dra_driver_version(facts),
        _operator(facts, "operator.cdi", OPERATOR_WITH_CDI),
        _operator(facts, "operator.gpu_cluster", OPERATOR_WITH_GPU_CLUSTER),
        _one_operator(facts),
        plugin_limited(facts),
        _mig_strategy(facts),
    ]


def node_verdicts(facts: ClusterFacts, node: NodeFacts) -> list[Verdict]:
    """Return every verdict on one node with GPUs."""
    return [
        runtime_of(node),
        _cdi(facts, node),
        _gpu_driver(node),
        _registered(facts, node),
        _one_driver(facts, node),
        *_mig(facts, node),
    ]


def served(facts: ClusterFacts) -> Verdict:
    """Return whether resource.k8s.io/v1 is served."""
    code = "resource.v1"
    if facts.served is None:
        return Verdict(code, Answer.UNKNOWN, "unread")
    versions = {"versions": ", ".join(facts.served)}
    if "v1" in facts.served:
        return Verdict(code, Answer.YES, "served", versions)
    return Verdict(code, Answer.NO, "others" if facts.served else "none", versions)


def _server(facts: ClusterFacts) -> Verdict:
    code, found = "server.version", version_of(facts.version)
    if found is None:
        return Verdict(code, Answer.UNKNOWN, "unread")
    answer = Answer.YES if found >= OLDEST_SERVER else Answer.NO
    flagged = found[:2] == OLDEST_SERVER[:2] and answer is Answer.NO
    return Verdict(
        code, answer, "flagged" if flagged else "is", {"version": facts.version}
    )


def _gate(facts: ClusterFacts, code: str, gate: str) -> Verdict:
    """What a dry run kept is seen; the version only lets one infer it."""
    if (kept := facts.kept.get(gate)) is not None:
        return Verdict(code, _yes(kept), "kept" if kept else "dropped")
    if facts.gates is None:
        return Verdict(code, Answer.UNKNOWN, "unread")
    values = {"version": facts.version}
    return Verdict(code, _yes(gate in facts.gates), "inferred", values)


def _mapping_stable(facts: ClusterFacts) -> Verdict:
    code, found = "mapping.stable", version_of(facts.version)
    if found is None:
        return Verdict(code, Answer.UNKNOWN, "unread")
    return Verdict(
        code, _yes(found >= STABLE_MAPPING), "is", {"version": facts.version}
    )


def driver_ready(facts: ClusterFacts) -> Verdict:
    """Return whether the DRA driver's DaemonSet is ready."""
    code = "driver.ready"
    if facts.daemon_sets is None:
        return Verdict(code, Answer.UNKNOWN, "unread")
    found = facts.of_role(Role.DRA_DRIVER)
    if not found:
        return Verdict(code, Answer.NO, "none")
    values = {
        "names": ", ".join(each.key for each in found),
        "ready": sum(each.ready for each in found),
        "desired": sum(each.desired for each in found),
    }
    whole = all(each.ready >= each.desired for each in found) and values["desired"]
    return Verdict(code, _yes(bool(whole)), "is", values)


def _dra_driver_version(facts: ClusterFacts) -> Verdict:
    code, found = "driver.version", facts.of_role(Role.DRA_DRIVER)
    if not found:
        why = "unread" if facts.daemon_sets is None else "none"
        return Verdict(code, Answer.UNKNOWN, why)
    versions = [version_of(each.tag) for each in found]
    tags = {"versions": ", ".join(sorted({each.tag or "?" for each in found}))}
    if any(each is not None and not _new_driver(each) for each in versions):
        return Verdict(code, Answer.NO, "is", tags)
    if None in versions:
        return Verdict(code, Answer.UNKNOWN, "untagged", tags)
    return Verdict(code, Answer.YES, "is", tags)


def _new_driver(version: tuple[int, int, int]) -> bool:
    return DRA_DRIVER <= version < (NUMBERED_BY_YEAR, 0, 0)


def _operator(facts: ClusterFacts, code: str, oldest: tuple[int, int, int]) -> Verdict:
    found = _operators(facts)
    if facts.policies is None and facts.gpu_clusters is None:
        return Verdict(code, Answer.UNKNOWN, "unread")
    text = next((each.version for each in found if each.version), "")
    version = version_of(text)
    if version is None:
        return Verdict(code, Answer.UNKNOWN, "untold" if found else "none")
    return Verdict(code, _yes(version >= oldest), "is", {"version": text})


def _operators(facts: ClusterFacts) -> tuple[OperatorFacts, ...]:
    return (*(facts.gpu_clusters or ()), *(facts.policies or ()))


def _one_operator(facts: ClusterFacts) -> Verdict:
    code = "operator.one"
    if facts.policies and facts.gpu_clusters:
        return Verdict(code, Answer.NO, "both")
    if facts.policies is None or facts.gpu_clusters is None:
        # A kind that the server has not can have no objects.
        if facts.operator_kinds == 1 and _operators(facts):
            return Verdict(code, Answer.YES, "one", _names(facts))
        return Verdict(code, Answer.UNKNOWN, "unread")
    found = _operators(facts)
    return Verdict(code, Answer.YES, "one" if found else "none", _names(facts))


def _names(facts: ClusterFacts) -> dict[str, str]:
    return {
        "names": ", ".join(
            f"{kind} {each.name}"
            for kind, rows in (
                ("GPUCluster", facts.gpu_clusters),
                ("ClusterPolicy", facts.policies),
            )
            for each in rows or ()
        )
    }


def plugin_limited(facts: ClusterFacts) -> Verdict:
    """Return whether device plugins stay away from nodes that publish slices."""
    code = "plugin.limited"
    if facts.daemon_sets is None:
        return Verdict(code, Answer.UNKNOWN, "unread")
    plugins = facts.of_role(Role.DEVICE_PLUGIN)
    names = {"names": ", ".join(each.key for each in plugins)}
    if not plugins:
        return Verdict(code, Answer.YES, "none")
    if not (facts.slices_seen and facts.nodes_seen):
        return Verdict(code, Answer.UNKNOWN, "unread", names)
    published = [node for node in facts.nodes if node.published]
    if any(each.covers(node) for each in plugins for node in published):
        return Verdict(code, Answer.NO, "both", names)
    return Verdict(code, Answer.YES, "limited", names)


def _mig_strategy(facts: ClusterFacts) -> Verdict:
    """The DRA driver publishes profiles by name, which only `mixed` resources have."""
    code = "mig.strategy"
    found = [each for each in facts.policies or () if each.mig_strategy]
    if not found:
        why = "unread" if facts.policies is None else "untold"
        return Verdict(code, Answer.UNKNOWN, why)
    strategy = found[0].mig_strategy
    return Verdict(code, _yes(strategy != "single"), "is", {"strategy": strategy})


def runtime_of(node: NodeFacts) -> Verdict:
    """Return whether a node's container runtime knows CDI."""
    code, values = "node.runtime", {"runtime": node.runtime}
    name, _, text = node.runtime.partition("://")
    version = version_of(text)
    if name == "cri-o" and version:
        return Verdict(code, Answer.YES, "is", values, node.name)
    if name == "containerd" and version:
        return Verdict(code, _yes(version >= CONTAINERD), "is", values, node.name)
    if name == "docker":
        return Verdict(code, Answer.NO, "is", values, node.name)
    why = "other" if node.runtime else "unread"
    return Verdict(code, Answer.UNKNOWN, why, values, node.name)


def _cdi(facts: ClusterFacts, node: NodeFacts) -> Verdict:
    """The API does not show `enable_cdi`; a running pod with a claim proves it."""
    code = "node.cdi"
    if node.runs_claims:
        return Verdict(code, Answer.YES, "runs", {}, node.name)
    off = [each.name for each in facts.policies or () if each.cdi is False]
    if off:
        return Verdict(code, Answer.NO, "off", {"policy": off[0]}, node.name)
    return Verdict(code, Answer.UNKNOWN, "unread", {}, node.name)


def _gpu_driver(node: NodeFacts) -> Verdict:
    code = "node.gpu_driver"
    versions = [version_of(each) for each in node.driver_versions]
    values = {"versions": ", ".join(node.driver_versions)}
    if not versions or None in versions:
        return Verdict(code, Answer.UNKNOWN, "unread", values, node.name)
    new = all(each is not None and each[0] >= GPU_DRIVER_MAJOR for each in versions)
    return Verdict(code, _yes(new), "is", values, node.name)


def _registered(facts: ClusterFacts, node: NodeFacts) -> Verdict:
    code = "node.registered"
    if not facts.slices_seen:
        return Verdict(code, Answer.UNKNOWN, "unread", {}, node.name)
    values = {"drivers": ", ".join(node.drivers)}
    why = "pools" if node.published else "none"
    return Verdict(code, _yes(node.published), why, values, node.name)


def _one_driver(facts: ClusterFacts, node: NodeFacts) -> Verdict:
    code = "node.one_driver"
    values = {"count": node.plugin_devices}
    if not facts.slices_seen:
        return Verdict(code, Answer.UNKNOWN, "unread", {}, node.name)
    if node.published and node.plugin_devices:
        return Verdict(code, Answer.NO, "both", values, node.name)
    if node.published:
        return Verdict(code, Answer.YES, "slices", values, node.name)
    why = "plugin" if node.plugin_devices else "neither"
    return Verdict(code, Answer.YES, why, values, node.name)


def _mig(facts: ClusterFacts, node: NodeFacts) -> Iterator[Verdict]:
    """Say so only of nodes that the MIG manager is to lay out."""
    layout = mig_layout(node, facts.mig_configs, slices_seen=facts.slices_seen)
    if layout is None:
        return
    answer = Answer.UNKNOWN if layout.same is None else _yes(layout.same)
    yield Verdict("node.mig", answer, layout.why, layout.values, node.name)


def _yes(is_so: bool) -> Answer:  # noqa: FBT001  it is the one thing asked
    return Answer.YES if is_so else Answer.NO

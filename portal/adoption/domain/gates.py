"""What each phase must have reached before one goes on, judged from live state.

Every line of a gate is a verdict: yes, no, or unknown where the API cannot tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from portal.adoption.domain.facts import (
    CANARY_LABEL,
    COUNT_LABEL,
    RESOURCE,
    ClusterFacts,
    NodeFacts,
    OperatorFacts,
    Role,
)
from portal.adoption.domain.phases import Phase
from portal.adoption.domain.readiness import (
    Answer,
    Verdict,
    cluster_verdicts,
    driver_ready,
    plugin_limited,
    runtime_of,
    served,
)

RUNNING = "Running"
# Names told in one line of evidence; how many more there are is told.
MOST_NAMED = 8


@dataclass(frozen=True, slots=True)
class GpuPod:
    """A pod that has not ended and asks for GPUs, in whichever way.

    Attributes:
        node: it is bound to, "" where it waits.
        phase: as its status has it.
        asks: extended resource → how many.
        implicit: the claim that the scheduler made for those, "" where there is none.
        claims: names of its other claims.
        owner: kind and name of what made it, "" where it was made by itself.
    """

    namespace: str
    name: str
    node: str = ""
    phase: str = RUNNING
    asks: Mapping[str, int] = field(default_factory=dict)
    implicit: str = ""
    claims: tuple[str, ...] = ()
    owner: tuple[str, str] = ("", "")

    @property
    def key(self) -> str:
        """Return `namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def on_plugin(self) -> bool:
        """Whether a device plugin serves it, or would."""
        return bool(self.asks) and not self.implicit


@dataclass(frozen=True, slots=True)
class ClaimFacts:
    """A claim for GPUs: whether it has devices, and a pod that they are kept for."""

    namespace: str
    name: str
    allocated: bool
    reserved: bool


@dataclass(frozen=True, slots=True)
class MigrationFacts:
    """What the gates look at. None: it is not read.

    Attributes:
        cluster: as readiness sees it.
        pods: that ask for GPUs.
        claims: for GPUs, by namespace and name.
        mapped: classes that map nvidia.com/gpu.
    """

    cluster: ClusterFacts
    pods: tuple[GpuPod, ...] | None = None
    claims: Mapping[tuple[str, str], ClaimFacts] | None = None
    mapped: tuple[str, ...] | None = None

    @property
    def canary(self) -> tuple[NodeFacts, ...]:
        """The nodes of the canary pool."""
        return tuple(node for node in self.cluster.nodes if CANARY_LABEL in node.labels)


def gate(phase: Phase, facts: MigrationFacts) -> tuple[Verdict, ...]:
    """Return the lines of a phase's gate."""
    return tuple(line(facts) for line in _GATES[phase])


def blocks(phase: Phase, facts: MigrationFacts) -> tuple[Verdict, ...]:
    """Return what must be put right before a phase may begin, or be left."""
    known = {each.code: each for each in cluster_verdicts(facts.cluster)}
    return tuple(
        known[code] for code in _BLOCKS[phase] if known[code].answer is Answer.NO
    )


def may_switch(facts: MigrationFacts) -> bool:
    """Return whether nothing needs the device plugin, so that GPUCluster may come."""
    return all(line(facts).answer is Answer.YES for line in _DRAINED)


def _of_cluster(
    judge: Callable[[ClusterFacts], Verdict],
) -> Callable[[MigrationFacts], Verdict]:
    return lambda facts: judge(facts.cluster)


def _runtimes(facts: MigrationFacts) -> Verdict:
    code = "gate.runtimes"
    if not facts.cluster.nodes_seen:
        return Verdict(code, Answer.UNKNOWN, "unread")
    if not facts.cluster.nodes:
        return Verdict(code, Answer.UNKNOWN, "none")
    by_answer: dict[Answer, list[str]] = {}
    for node in facts.cluster.nodes:
        by_answer.setdefault(runtime_of(node).answer, []).append(
            f"{node.name} ({node.runtime or '?'})"
        )
    for answer, why in ((Answer.NO, "old"), (Answer.UNKNOWN, "untold")):
        if answer in by_answer:
            return Verdict(code, answer, why, _named(by_answer[answer]))
    return Verdict(code, Answer.YES, "new", {"count": len(facts.cluster.nodes)})


def _canary(facts: MigrationFacts) -> Verdict:
    code = "gate.canary"
    if not facts.cluster.nodes_seen:
        return Verdict(code, Answer.UNKNOWN, "unread")
    if not facts.canary:
        return Verdict(code, Answer.NO, "none")
    return Verdict(code, Answer.YES, "is", _named(map(_with_kinds, facts.canary)))


def _slices(facts: MigrationFacts) -> Verdict:
    code = "gate.slices"
    if not (facts.cluster.slices_seen and facts.cluster.nodes_seen):
        return Verdict(code, Answer.UNKNOWN, "unread")
    if not facts.canary:
        return Verdict(code, Answer.NO, "none")
    missing = [node.name for node in facts.canary if not node.published]
    if missing:
        return Verdict(code, Answer.NO, "missing", _named(missing))
    return Verdict(code, Answer.YES, "all", {"count": len(facts.canary)})


def _one_driver(facts: MigrationFacts) -> Verdict:
    """No node may have both: neither by what it offers, nor by what may run there."""
    code = "gate.one_driver"
    if not (facts.cluster.slices_seen and facts.cluster.nodes_seen):
        return Verdict(code, Answer.UNKNOWN, "unread")
    both = [n.name for n in facts.cluster.nodes if n.published and n.plugin_devices]
    if both:
        return Verdict(code, Answer.NO, "both", _named(both))
    limited = plugin_limited(facts.cluster)
    if limited.answer is Answer.YES:
        return Verdict(code, Answer.YES, "one")
    return Verdict(code, limited.answer, f"plugin_{limited.why}", limited.values)


def _mapped(facts: MigrationFacts) -> Verdict:
    code = "gate.mapped"
    if facts.mapped is None:
        return Verdict(code, Answer.UNKNOWN, "unread")
    if not facts.mapped:
        return Verdict(code, Answer.NO, "none")
    return Verdict(code, Answer.YES, "is", _named(facts.mapped))


def _implicit(facts: MigrationFacts) -> Verdict:
    code = "gate.implicit"
    if facts.pods is None or facts.claims is None or not facts.cluster.nodes_seen:
        return Verdict(code, Answer.UNKNOWN, "unread")
    canary = {node.name for node in facts.canary}
    made = [each for each in facts.pods if RESOURCE in each.asks and each.implicit]
    for pod in made:
        claim = facts.claims.get((pod.namespace, pod.implicit))
        if pod.node in canary and claim and claim.allocated:
            values = {"pod": pod.key, "claim": claim.name, "node": pod.node}
            return Verdict(code, Answer.YES, "got", values)
    if made:
        keys = _named(each.key for each in made)
        return Verdict(code, Answer.NO, "elsewhere", keys)
    return Verdict(code, Answer.NO, "none")


def _native(facts: MigrationFacts) -> list[GpuPod]:
    known = facts.claims or {}
    return [
        pod
        for pod in facts.pods or ()
        if any((pod.namespace, name) in known for name in pod.claims)
    ]


def _claims(facts: MigrationFacts) -> Verdict:
    """Of pods that run somewhere: one that waits for room is no fault of migration."""
    code = "gate.claims"
    if facts.pods is None or facts.claims is None:
        return Verdict(code, Answer.UNKNOWN, "unread")
    native = _native(facts)
    bound = [pod for pod in native if pod.node]
    if not bound:
        return Verdict(code, Answer.NO, "waiting" if native else "none")
    keys = {(pod.namespace, name) for pod in bound for name in pod.claims}
    used = [facts.claims[key] for key in sorted(keys & facts.claims.keys())]
    missing = [
        f"{each.namespace}/{each.name}"
        for each in used
        if not (each.allocated and each.reserved)
    ]
    if missing:
        return Verdict(code, Answer.NO, "missing", _named(missing))
    values = {"count": len(used), "waiting": len(native) - len(bound)}
    return Verdict(code, Answer.YES, "all", values)


def _prepared(facts: MigrationFacts) -> Verdict:
    """The kubelet starts a pod only after the driver has prepared its devices."""
    code = "gate.prepared"
    if facts.pods is None or facts.claims is None:
        return Verdict(code, Answer.UNKNOWN, "unread")
    bound = [pod for pod in _native(facts) if pod.node]
    if not bound:
        return Verdict(code, Answer.NO, "none")
    lost = [pod.key for pod in bound if pod.phase not in {RUNNING, "Pending"}]
    if lost:
        return Verdict(code, Answer.UNKNOWN, "lost", _named(lost))
    pending = [pod.key for pod in bound if pod.phase != RUNNING]
    if pending:
        return Verdict(code, Answer.NO, "pending", _named(pending))
    return Verdict(code, Answer.YES, "run", {"count": len(bound)})


def _plugin_gone(facts: MigrationFacts) -> Verdict:
    code = "gate.plugin_gone"
    if facts.cluster.daemon_sets is None:
        return Verdict(code, Answer.UNKNOWN, "unread")
    plugins = facts.cluster.of_role(Role.DEVICE_PLUGIN)
    left = [each for each in plugins if each.desired or each.ready]
    if left:
        count = sum(max(each.desired, each.ready) for each in left)
        names = {**_named(each.key for each in left), "count": count}
        return Verdict(code, Answer.NO, "left", names)
    return Verdict(code, Answer.YES, "gone")


def _plugin_pods(facts: MigrationFacts) -> Verdict:
    code = "gate.plugin_pods"
    if facts.pods is None:
        return Verdict(code, Answer.UNKNOWN, "unread")
    left = [pod.key for pod in facts.pods if pod.node and pod.on_plugin]
    if left:
        return Verdict(code, Answer.NO, "left", _named(left))
    return Verdict(code, Answer.YES, "none")


def _all_in_slices(facts: MigrationFacts) -> Verdict:  # noqa: PLR0911  one a case
    code, seen = "gate.all_in_slices", facts.cluster
    if not (seen.slices_seen and seen.nodes_seen):
        return Verdict(code, Answer.UNKNOWN, "unread")
    if not seen.nodes:
        return Verdict(code, Answer.UNKNOWN, "none")
    missing = [node.name for node in seen.nodes if not node.published]
    if missing:
        return Verdict(code, Answer.NO, "missing", _named(missing))
    offered = [node.name for node in seen.nodes if node.plugin_devices]
    if offered:
        return Verdict(code, Answer.NO, "offered", _named(offered))
    fewer = [
        f"{node.name} ({node.cards}/{node.labels[COUNT_LABEL]})"
        for node in seen.nodes
        if node.cards is not None and node.cards < _count(node)
    ]
    if fewer:
        return Verdict(code, Answer.NO, "fewer", _named(fewer))
    return Verdict(code, Answer.YES, "all", {"count": len(seen.nodes)})


def _switched(facts: MigrationFacts) -> Verdict:
    """One operator's object at the end: GPUCluster, or none where there is no operator."""
    code, seen = "gate.switched", facts.cluster
    if seen.policies and seen.gpu_clusters:
        return Verdict(code, Answer.NO, "both", _objects(seen))
    if seen.policies:
        return Verdict(code, Answer.NO, "policy", _objects(seen))
    if seen.operator_kinds == 0:
        return Verdict(code, Answer.YES, "none")
    if seen.policies is None or seen.gpu_clusters is None:
        return Verdict(code, Answer.UNKNOWN, "unread")
    why = "cluster" if seen.gpu_clusters else "none"
    return Verdict(code, Answer.YES, why, _objects(seen))


_DRAINED = (_plugin_gone, _plugin_pods, _all_in_slices)
_GATES: dict[Phase, tuple[Callable[[MigrationFacts], Verdict], ...]] = {
    Phase.CONTROL_PLANE: (_of_cluster(served), _runtimes),
    Phase.CANARY: (_canary, _of_cluster(driver_ready), _slices, _one_driver),
    Phase.MAPPING: (_mapped, _implicit),
    Phase.TEMPLATES: (_claims, _prepared),
    Phase.DRAIN: (*_DRAINED, _switched),
}
_BLOCKS: dict[Phase, tuple[str, ...]] = {
    Phase.CONTROL_PLANE: ("operator.one",),
    Phase.CANARY: ("operator.one", "resource.v1"),
    Phase.MAPPING: ("operator.one", "mapping.on"),
    Phase.TEMPLATES: ("operator.one",),
    Phase.DRAIN: ("operator.one", "operator.gpu_cluster"),
}


def _count(node: NodeFacts) -> int:
    text = node.labels.get(COUNT_LABEL, "")
    return int(text) if text.isascii() and text.isdecimal() else 0


def _with_kinds(node: NodeFacts) -> str:
    kinds = ", ".join(node.kinds)
    return f"{node.name} ({kinds})" if kinds else node.name


def _objects(seen: ClusterFacts) -> dict[str, str]:
    def names(rows: tuple[OperatorFacts, ...] | None) -> str:
        return ", ".join(each.name for each in rows or ())

    return {"policies": names(seen.policies), "clusters": names(seen.gpu_clusters)}


def _named(names: Iterable[str]) -> dict[str, object]:
    """Return the first of some names as a text, and how many there are."""
    every = list(names)
    text = ", ".join(every[:MOST_NAMED])
    more = len(every) - MOST_NAMED
    return {"names": f"{text} +{more}" if more > 0 else text, "count": len(every)}

"""What is done in each phase and how it is undone, as commands with a cluster's names."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from shlex import quote
from typing import Any

from portal.adoption.domain.facts import (
    CANARY_LABEL,
    GPU_LABEL,
    MIG_CONFIG_LABEL,
    RESOURCE,
    NodeFacts,
    Role,
)
from portal.adoption.domain.gates import GpuPod, MigrationFacts, may_switch
from portal.adoption.domain.phase_manifests import (
    GPU_CLUSTER,
    GUARD,
    POOL,
    PROBE,
    TEMPLATE,
    mapped_class,
)
from portal.adoption.domain.phases import Phase
from portal.adoption.domain.readiness import Answer, runtime_of

PLUGIN_LABEL = "nvidia.com/gpu.deploy.device-plugin"
SHARING_LABEL = "nvidia.com/gpu.sharing-strategy"
CHART = "oci://registry.k8s.io/dra-driver-nvidia/charts/dra-driver-nvidia-gpu"
RELEASE = "dra-driver-nvidia-gpu"
CHART_VERSION = "0.5.0"
# Nodes and workloads named by commands; of more, a selector speaks.
MOST = 20
OLD_NODES = f"{GPU_LABEL}=true,!{CANARY_LABEL}"
_DRAIN = "kubectl drain {} --ignore-daemonsets --delete-emptydir-data"


@dataclass(frozen=True, slots=True)
class Action:
    """One thing to do.

    Attributes:
        code: which; its words are elsewhere.
        commands: of a shell, one a line.
        manifest: the file's name that the commands speak of, or "".
        is_open: whether it may be done already.
    """

    code: str
    commands: tuple[str, ...]
    manifest: str = ""
    is_open: bool = True


def actions(phase: Phase, cluster: str, facts: MigrationFacts) -> tuple[Action, ...]:
    """Return what is done in a phase, in its order."""
    return tuple(_ACTIONS[phase](_backup(cluster), facts))


def rollback(phase: Phase, cluster: str, facts: MigrationFacts) -> tuple[Action, ...]:
    """Return how a phase is undone, in its order."""
    return tuple(_ROLLBACKS[phase](_backup(cluster), facts))


def _backup(cluster: str) -> str:
    return quote(f"{cluster}-before-dra.yaml")


def _control_plane(backup: str, facts: MigrationFacts) -> Iterator[Action]:
    kinds = [
        "daemonsets.apps",
        *(["clusterpolicies"] if facts.cluster.policies else []),
    ]
    yield Action("save", (f"kubectl get {','.join(kinds)} -A -o yaml > {backup}",))
    yield Action(
        "upgrade",
        ("kubectl version", "kubectl get --raw /apis/resource.k8s.io"),
    )
    yield Action("runtime", tuple(_rolled(_old_runtimes(facts))))
    yield Action("cdi", tuple(_cdi(facts)))


def _control_plane_back(backup: str, facts: MigrationFacts) -> Iterator[Action]:
    yield Action(
        "restore", (f"kubectl apply --server-side --force-conflicts -f {backup}",)
    )
    yield Action("roll", tuple(_rolled(facts.cluster.nodes)))


def _canary(_backup: str, facts: MigrationFacts) -> Iterator[Action]:
    yield Action("pool", ("kubectl apply -f nodepool.yaml",), "nodepool.yaml")
    yield Action("take", tuple(_taken(facts)))
    if limits := tuple(_limits(facts)):
        yield Action("limit", limits)
    yield Action(
        "chart",
        (
            f"helm upgrade --install {RELEASE} {CHART} --version {CHART_VERSION}"
            f" --namespace {RELEASE} --create-namespace -f dra-values.yaml",
            f"kubectl rollout status daemonset --namespace {RELEASE}"
            f" -l app.kubernetes.io/instance={RELEASE}",
        ),
        "dra-values.yaml",
    )


def _canary_back(_backup: str, facts: MigrationFacts) -> Iterator[Action]:
    nodes = [node.name for node in facts.canary][:MOST]
    each = [_DRAIN.format(quote(name)) for name in nodes]
    yield Action("leave", tuple(each) or (_DRAIN.format(f"-l {CANARY_LABEL}"),))
    yield Action(
        "scale",
        (
            f"kubectl patch nodepool {POOL} --type merge -p"
            f" {_json({'spec': {'limits': {RESOURCE: '0'}}})}",
            f"kubectl delete nodeclaims -l karpenter.sh/nodepool={POOL}",
        ),
    )
    yield Action("uninstall", (f"helm uninstall {RELEASE} --namespace {RELEASE}",))
    yield Action(
        "return",
        (
            f"kubectl taint nodes -l {CANARY_LABEL} {CANARY_LABEL}-",
            f"kubectl label nodes -l {CANARY_LABEL} {PLUGIN_LABEL}-",
            *(f"kubectl uncordon {quote(name)}" for name in nodes),
            f"kubectl label nodes -l {CANARY_LABEL} {CANARY_LABEL}-",
        ),
    )


def _mapping(_backup: str, facts: MigrationFacts) -> Iterator[Action]:
    patch = _json({"spec": {"extendedResourceName": RESOURCE}})
    name = quote(mapped_class(facts))
    yield Action("map", (f"kubectl patch deviceclass {name} --type merge -p {patch}",))
    yield Action(
        "probe",
        (
            "kubectl apply -f probe-pod.yaml",
            f"kubectl get pod {PROBE} -o"
            " jsonpath='{.status.extendedResourceClaimStatus}'",
        ),
        "probe-pod.yaml",
    )


def _mapping_back(_backup: str, facts: MigrationFacts) -> Iterator[Action]:
    patch = _json([{"op": "remove", "path": "/spec/extendedResourceName"}])
    names = facts.mapped or (mapped_class(facts),)
    yield Action("unprobe", (f"kubectl delete pod {PROBE} --ignore-not-found",))
    yield Action(
        "unmap",
        tuple(
            f"kubectl patch deviceclass {quote(name)} --type json -p {patch}"
            for name in names
        ),
    )


def _templates(_backup: str, facts: MigrationFacts) -> Iterator[Action]:
    yield Action(
        "native",
        (
            "kubectl apply -f native-pod.yaml",
            "kubectl get resourceclaims",
        ),
        "native-pod.yaml",
    )
    yield Action("convert", tuple(_exports(facts)))
    yield Action("watch", ("kubectl get resourceclaims -A -o wide",))


def _templates_back(_backup: str, facts: MigrationFacts) -> Iterator[Action]:
    undone = [
        f"kubectl --namespace {quote(space)} rollout undo {kind.lower()}/{quote(name)}"
        for space, kind, name in _owners(facts, _is_native)
        if kind in _ROLLED
    ]
    usual = "kubectl --namespace NAMESPACE rollout undo deployment/NAME"
    yield Action("undo", tuple(undone) or (usual,))
    yield Action(
        "unprobe_native",
        (
            f"kubectl delete pod {PROBE}-native --ignore-not-found",
            f"kubectl delete resourceclaimtemplate {TEMPLATE} --ignore-not-found",
        ),
    )


def _drain(backup: str, facts: MigrationFacts) -> Iterator[Action]:
    old = [node.name for node in facts.cluster.nodes if not node.published]
    yield Action("cordon", (f"kubectl cordon -l {quote(OLD_NODES)}",))
    shown = [_DRAIN.format(quote(name)) for name in old[:MOST]]
    if len(old) > MOST or not old:
        shown = [_DRAIN.format(f"-l {quote(OLD_NODES)}")]
    yield Action("drain", tuple(shown))
    yield Action(
        "move",
        (
            f"kubectl label nodes -l {quote(OLD_NODES)} {PLUGIN_LABEL}=false"
            f" {CANARY_LABEL}=true --overwrite",
            f"kubectl uncordon -l {CANARY_LABEL}",
        ),
    )
    if not _has_operator(facts):
        return
    yield Action("guard", ("kubectl apply -f guard.yaml",), "guard.yaml")
    names = [each.name for each in facts.cluster.policies or ()]
    yield Action(
        "switch",
        (
            f"kubectl get clusterpolicies -o yaml > {backup.replace('before-dra', 'clusterpolicy')}",
            *(f"kubectl delete clusterpolicy {quote(name)} --wait" for name in names),
            "kubectl apply -f gpucluster.yaml",
        ),
        "gpucluster.yaml",
        is_open=may_switch(facts),
    )


def _drain_back(backup: str, facts: MigrationFacts) -> Iterator[Action]:
    clusters = [each.name for each in facts.cluster.gpu_clusters or ()]
    if _has_operator(facts):
        saved = backup.replace("before-dra", "clusterpolicy")
        yield Action(
            "switch_back",
            (
                *(
                    f"kubectl delete gpucluster {quote(name)} --wait"
                    for name in clusters or [GPU_CLUSTER]
                ),
                f"kubectl apply -f {saved}",
                "kubectl delete validatingadmissionpolicybinding,"
                f"validatingadmissionpolicy {GUARD} --ignore-not-found",
            ),
        )
    yield Action("uncordon", (f"kubectl uncordon -l {quote(f'{GPU_LABEL}=true')}",))
    yield Action(
        "scale_out",
        (f"kubectl label nodes NODE {PLUGIN_LABEL}=true {CANARY_LABEL}- --overwrite",),
    )


Source = Callable[[str, MigrationFacts], Iterator[Action]]
_ACTIONS: dict[Phase, Source] = {
    Phase.CONTROL_PLANE: _control_plane,
    Phase.CANARY: _canary,
    Phase.MAPPING: _mapping,
    Phase.TEMPLATES: _templates,
    Phase.DRAIN: _drain,
}
_ROLLBACKS: dict[Phase, Source] = {
    Phase.CONTROL_PLANE: _control_plane_back,
    Phase.CANARY: _canary_back,
    Phase.MAPPING: _mapping_back,
    Phase.TEMPLATES: _templates_back,
    Phase.DRAIN: _drain_back,
}
_ROLLED = frozenset({"Deployment", "StatefulSet", "DaemonSet"})


def _old_runtimes(facts: MigrationFacts) -> list[NodeFacts]:
    nodes = facts.cluster.nodes
    return [node for node in nodes if runtime_of(node).answer is not Answer.YES]


def _rolled(nodes: Iterable[NodeFacts]) -> Iterator[str]:
    """Yield what takes nodes out one by one, and back; a selector where they are many."""
    names = [quote(node.name) for node in nodes]
    if not names or len(names) > MOST:
        names = ["NODE"]
    for name in names:
        yield _DRAIN.format(name)
        yield f"kubectl uncordon {name}"


def _cdi(facts: MigrationFacts) -> Iterator[str]:
    patch = _json({"spec": {"cdi": {"enabled": True}}})
    for each in facts.cluster.policies or ():
        yield f"kubectl patch clusterpolicy {quote(each.name)} --type merge -p {patch}"
    yield "containerd config dump | grep enable_cdi"
    yield "crio config | grep cdi_spec_dirs"


def _taken(facts: MigrationFacts) -> Iterator[str]:
    """Yield how nodes that are there become the pool: one of each kind."""
    nodes = facts.canary or tuple(_one_of_each(facts.cluster.nodes))
    for name in [quote(node.name) for node in nodes][:MOST] or ["NODE"]:
        yield _DRAIN.format(name)
        yield (
            f"kubectl label node {name} {PLUGIN_LABEL}=false {CANARY_LABEL}=true"
            " --overwrite"
        )
        yield f"kubectl taint node {name} {CANARY_LABEL}=true:NoSchedule --overwrite"
        yield f"kubectl uncordon {name}"


def _one_of_each(nodes: Iterable[NodeFacts]) -> Iterator[NodeFacts]:
    seen: set[str] = set()
    for node in nodes:
        kind = labelled_kind(node)
        if kind not in seen:
            seen.add(kind)
            yield node


def labelled_kind(node: NodeFacts) -> str:
    """Return whole, MIG or shared, by the labels that a device plugin's node has."""
    if node.labels.get(MIG_CONFIG_LABEL, "all-disabled") != "all-disabled":
        return "MIG"
    if node.labels.get(SHARING_LABEL, "none") not in {"none", ""}:
        return "shared"
    return "whole"


def _limits(facts: MigrationFacts) -> Iterator[str]:
    """Yield what keeps device plugins off the pool that do not look at the label."""
    plugins = [
        each
        for each in facts.cluster.of_role(Role.DEVICE_PLUGIN)
        if not each.looks_at(PLUGIN_LABEL)
    ]
    if not plugins:
        return
    selector = {"template": {"spec": {"nodeSelector": {PLUGIN_LABEL: "true"}}}}
    yield f"kubectl label nodes -l {quote(OLD_NODES)} {PLUGIN_LABEL}=true --overwrite"
    for each in plugins:
        yield (
            f"kubectl --namespace {quote(each.namespace)} patch daemonset"
            f" {quote(each.name)} --type merge -p {_json({'spec': selector})}"
        )


def _exports(facts: MigrationFacts) -> Iterator[str]:
    owners = list(_owners(facts, lambda pod: bool(pod.asks)))
    for space, kind, name in owners:
        file = quote(f"{space}-{name}.yaml")
        yield (
            f"kubectl --namespace {quote(space)} get {kind.lower()} {quote(name)}"
            f" -o yaml > {file}"
        )
    if not owners:
        yield "kubectl --namespace NAMESPACE get deployment NAME -o yaml > NAME.yaml"


def _owners(
    facts: MigrationFacts, wanted: Callable[[GpuPod], bool]
) -> Iterator[tuple[str, str, str]]:
    """Yield namespace, kind and name of the first workloads whose pods are wanted."""
    found = {
        (pod.namespace, *pod.owner)
        for pod in facts.pods or ()
        if pod.owner[0] and wanted(pod)
    }
    yield from sorted(found)[:MOST]


def _has_operator(facts: MigrationFacts) -> bool:
    """Whether there is an operator's object, or may be one that is not read."""
    seen = facts.cluster
    none = seen.policies == () and seen.gpu_clusters == ()
    return seen.operator_kinds != 0 and not none


def _is_native(pod: GpuPod) -> bool:
    return bool(pod.claims)


def _json(value: Any) -> str:
    return quote(json.dumps(value, separators=(",", ":")))

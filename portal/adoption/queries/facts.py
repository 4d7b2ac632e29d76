"""What is stored of a cluster's drivers, runtimes and operators."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any

from django.db.models import Count, F, Q, Value
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Coalesce

from inventory.domain.gates import BadVersion, enabled_gates
from inventory.models import Allocation, Cluster, Device, KubeObject, Pool
from portal.adoption.domain.facts import (
    CANARY_LABEL,
    GPU_DRIVER,
    GPU_LABEL,
    ClusterFacts,
    DaemonSetFacts,
    NodeFacts,
    OperatorFacts,
    drivers_in_labels,
    plugin_devices,
    read_daemon_set,
    read_operator,
)
from portal.adoption.domain.pods import read_pod

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portal.adoption.domain.gates import GpuPod

Json = dict[str, Any]
_OPERATORS = ("ClusterPolicy", "GPUCluster")
KINDS = ("whole", "MIG", "shared")


def stored_facts(cluster: Cluster) -> ClusterFacts:
    """Return what the stored objects tell; a dozen queries, however many nodes."""
    seen = partial(sees, cluster)
    return ClusterFacts(
        version=cluster.kubernetes_version,
        gates=_gates(cluster),
        slices_seen=seen("ResourceSlice"),
        nodes_seen=seen("Node"),
        daemon_sets=_daemon_sets(cluster) if seen("DaemonSet") else None,
        policies=_operators(cluster, "ClusterPolicy"),
        gpu_clusters=_operators(cluster, "GPUCluster"),
        operator_kinds=sum(
            cluster.state_of(kind) != "not-served" for kind in _OPERATORS
        ),
        nodes=tuple(_nodes(cluster)),
    )


def gpu_pods(cluster: Cluster) -> tuple[GpuPod, ...] | None:
    """Return the pods that GPUs matter to, by name; None where pods are not read."""
    if not sees(cluster, "Pod"):
        return None
    rows = KubeObject.objects.filter(cluster=cluster, kind="Pod", deleted_at=None)
    bodies = rows.order_by("namespace", "name").values_list("body", flat=True)
    return tuple(pod for body in bodies.iterator() if (pod := read_pod(body)))


def sees(cluster: Cluster, kind: str) -> bool:
    """Return whether what is stored of a kind is what the cluster has.

    Of an offline cluster, the kinds count of which its files had something.
    """
    if cluster.kind != Cluster.Kind.OFFLINE:
        return cluster.sees(kind)
    return KubeObject.objects.filter(
        cluster=cluster, kind=kind, deleted_at=None
    ).exists()


def _gates(cluster: Cluster) -> frozenset[str] | None:
    if not cluster.kubernetes_version:
        return None
    try:
        on = enabled_gates(cluster.kubernetes_version, cluster.feature_gates)
    except BadVersion:
        return None
    return frozenset(on)


def _bodies(cluster: Cluster, kind: str) -> Iterator[Json]:
    rows = KubeObject.objects.filter(cluster=cluster, kind=kind, deleted_at=None)
    found = rows.order_by("namespace", "name").values_list("body", flat=True)
    yield from found.iterator()


def _daemon_sets(cluster: Cluster) -> tuple[DaemonSetFacts, ...]:
    found = map(read_daemon_set, _bodies(cluster, "DaemonSet"))
    return tuple(each for each in found if each is not None)


def _operators(cluster: Cluster, kind: str) -> tuple[OperatorFacts, ...] | None:
    if not sees(cluster, kind):
        return None
    return tuple(map(read_operator, _bodies(cluster, kind)))


def _nodes(cluster: Cluster) -> Iterator[NodeFacts]:
    """Yield the nodes that have GPUs by what is published, offered or labelled."""
    pools: dict[str, set[str]] = defaultdict(set)
    named = Pool.objects.filter(cluster=cluster).exclude(node_name="")
    for node, driver in named.values_list("node_name", "driver").distinct():
        pools[node].add(driver)
    devices, cards = _devices(cluster), _cards(cluster)
    busy = _busy(cluster)
    nodes = KubeObject.objects.filter(cluster=cluster, kind="Node", deleted_at=None)
    # Of a node's body, only what is asked: a node's conditions are the most of it.
    fields = nodes.order_by("name").values_list(
        "name",
        KeyTransform("labels", KeyTransform("metadata", "body")),
        KeyTransform("allocatable", KeyTransform("status", "body")),
        KeyTextTransform(
            "containerRuntimeVersion",
            KeyTransform("nodeInfo", KeyTransform("status", "body")),
        ),
        KeyTransform("taints", KeyTransform("spec", "body")),
    )
    for name, labels, allocatable, runtime, taints in fields:
        labels = {str(k): str(v) for k, v in (labels or {}).items()}
        offered = plugin_devices({"allocatable": allocatable})
        seen = devices.get(name, {})
        told = labels.get(GPU_LABEL) or CANARY_LABEL in labels
        if not (GPU_DRIVER in pools[name] or offered or told):
            continue
        yield NodeFacts(
            name=name,
            runtime=runtime or "",
            labels=labels,
            driver_versions=tuple(sorted(seen.get("drivers", ())))
            or drivers_in_labels(labels),
            drivers=tuple(sorted(pools[name])),
            plugin_devices=offered,
            runs_claims=name in busy,
            fixed=seen.get("fixed", {}),
            on_demand=seen.get("on_demand", False),
            kinds=tuple(k for k in KINDS if k in seen.get("kinds", ())),
            cards=cards.get(name),
            taints=tuple(taints or ()),
        )


def _devices(cluster: Cluster) -> dict[str, Json]:
    """Return node → driver versions and MIG devices; the database counts them."""
    rows = (
        Device.objects.filter(cluster=cluster, driver=GPU_DRIVER)
        .annotate(
            kind=_attribute("type"),
            product=_attribute("productName"),
            profile=_attribute("profile"),
            version=_attribute("driverVersion", "version"),
            shared=F("allow_multiple_allocations"),
            made=Q(
                consumes_counters=Value([], Device._meta.get_field("consumes_counters"))
            ),
        )
        .values(
            "kind",
            "product",
            "profile",
            "version",
            "made",
            "shared",
            node=F("node_name"),
        )
        .annotate(count=Count("pk"))
        .order_by()
    )
    found: dict[str, Json] = defaultdict(
        lambda: {
            "drivers": set(),
            "fixed": defaultdict(dict),
            "on_demand": False,
            "kinds": set(),
        }
    )
    for row in rows:
        node = found[row["node"]]
        if row["version"]:
            node["drivers"].add(row["version"])
        node["kinds"].add(_kind(row))
        if row["kind"] == "mig" and row["made"]:
            profiles = node["fixed"][row["product"] or ""]
            profile = row["profile"] or ""
            profiles[profile] = profiles.get(profile, 0) + row["count"]
        elif row["kind"] == "mig":
            node["on_demand"] = True
    return found


def _kind(row: Any) -> str:
    if row["kind"] == "mig":
        return "MIG"
    return "shared" if row["shared"] else "whole"


def _attribute(name: str, kind: str = "string") -> KeyTextTransform:
    return KeyTextTransform(kind, KeyTransform(f"{GPU_DRIVER}/{name}", "attributes"))


def _cards(cluster: Cluster) -> dict[str, int | None]:
    """Return node → how many cards are published; None where a device tells none."""
    rows = (
        Device.objects.filter(cluster=cluster, driver=GPU_DRIVER)
        .annotate(card=Coalesce(_attribute("parentUUID"), _attribute("uuid")))
        .values("node_name")
        .annotate(
            cards=Count("card", distinct=True), untold=Count("pk", filter=Q(card=None))
        )
        .order_by()
    )
    return {row["node_name"]: None if row["untold"] else row["cards"] for row in rows}


def _busy(cluster: Cluster) -> set[str]:
    """Return the nodes where a running pod has devices of NVIDIA's driver."""
    claims = set(
        Allocation.objects.filter(cluster=cluster, driver=GPU_DRIVER)
        .values_list("claim_namespace", "claim_name")
        .distinct()
    )
    if not claims:
        return set()
    pods = KubeObject.objects.filter(
        cluster=cluster, kind="Pod", deleted_at=None, body__status__phase="Running"
    )
    return {
        body["spec"].get("nodeName", "")
        for body in pods.values_list("body", flat=True).iterator()
        if any((_namespace(body), name) in claims for name in _claims_of(body))
    }


def _namespace(pod: Json) -> str:
    return str((pod.get("metadata") or {}).get("namespace") or "")


def _claims_of(pod: Json) -> Iterator[str]:
    status, spec = pod.get("status") or {}, pod.get("spec") or {}
    for each in status.get("resourceClaimStatuses") or []:
        yield str(each.get("resourceClaimName") or "")
    for each in spec.get("resourceClaims") or []:
        yield str(each.get("resourceClaimName") or "")
    extended = status.get("extendedResourceClaimStatus") or {}
    yield str(extended.get("resourceClaimName") or "")

"""Pods that hold GPUs through a device plugin, beside the cards of their nodes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from django.db.models.fields.json import KeyTransform

from inventory.models import KubeObject
from portal.adoption.domain.facts import RESOURCE
from portal.adoption.domain.pods import read_pod
from portal.adoption.domain.savings import (
    PodUse,
    Pools,
    ProductSaving,
    need_of,
    node_labels_of,
    pools_of,
    savings_of,
    total_of,
)
from portal.adoption.queries.needs import told_needs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from inventory.models import Cluster
    from portal.adoption.domain.gates import GpuPod
    from portal.adoption.domain.savings import Source, Workload

Json = dict[str, Any]

PRODUCT = "nvidia.com/gpu.product"
MEMORY = "nvidia.com/gpu.memory"
AXES = (
    PRODUCT,
    MEMORY,
    "nvidia.com/gpu.count",
    "nvidia.com/mig.config",
    "nvidia.com/gpu.sharing-strategy",
)
_MIB = 2**20
_OVER = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True, slots=True)
class Savings:
    """What whole cards strand in a cluster, and the pools that labels make.

    Attributes:
        is_seen: whether all its pods and nodes are read; else there may be more.
    """

    uses: tuple[PodUse, ...]
    products: tuple[ProductSaving, ...]
    pools: Pools
    is_seen: bool

    @property
    def total(self) -> ProductSaving:
        """The sum over all products."""
        return total_of(self.products)


def savings_in(
    cluster: Cluster, measured: Mapping[tuple[str, str], int] | None = None
) -> Savings:
    """Return what a cluster would save if pods asked for the memory that they need.

    Makes three queries: nodes, pods, and what owners told.

    Args:
        cluster: which.
        measured: (namespace, pod) → the most bytes of a card that it had in use.
    """
    nodes = _node_labels(cluster)
    asking = list(_asking(cluster, None))
    gpu_nodes = [row for row in nodes.values() if PRODUCT in row]
    selectors = [node_labels_of(_spec(body)) for body, _pod in asking]
    uses = _uses(cluster, nodes, asking, measured or {})
    return Savings(
        uses,
        tuple(savings_of(uses)),
        pools_of(gpu_nodes, selectors, AXES),
        cluster.sees("Pod", "Node"),
    )


def uses_in(
    cluster: Cluster,
    namespaces: Iterable[str] | None,
    measured: Mapping[tuple[str, str], int],
) -> tuple[PodUse, ...]:
    """Return the pods that hold whole cards; of some namespaces, or None for all."""
    asking = _asking(cluster, namespaces)
    return _uses(cluster, _node_labels(cluster), asking, measured)


def _node_labels(cluster: Cluster) -> dict[str, Json]:
    rows = KubeObject.objects.filter(cluster=cluster, kind="Node", deleted_at=None)
    labels = KeyTransform("labels", KeyTransform("metadata", "body"))
    return {name: found or {} for name, found in rows.values_list("name", labels)}


def _asking(
    cluster: Cluster, namespaces: Iterable[str] | None
) -> Iterator[tuple[Json, GpuPod]]:
    """Yield the pods that ask for GPUs, in the order of their names."""
    rows = KubeObject.objects.filter(cluster=cluster, kind="Pod", deleted_at=None)
    if namespaces is not None:
        rows = rows.filter(namespace__in=list(namespaces))
    bodies = rows.order_by("namespace", "name").values_list("body", flat=True)
    for body in bodies.iterator():
        if (read := read_pod(body)) and read.asks:
            yield body, read


def _uses(
    cluster: Cluster,
    nodes: Mapping[str, Json],
    asking: Iterable[tuple[Json, GpuPod]],
    measured: Mapping[tuple[str, str], int],
) -> tuple[PodUse, ...]:
    told = told_needs(cluster)
    return tuple(
        _judged(_held(body, pod, nodes), body, told, measured)
        for body, pod in asking
        if _is_on_plugin(body)
    )


def _spec(body: Json) -> Json:
    found: Json = body.get("spec") or {}
    return found


def _is_on_plugin(body: Json) -> bool:
    """Return whether a pod runs somewhere and has GPUs that no claim gave it."""
    status = body.get("status") or {}
    return bool(
        _spec(body).get("nodeName")
        and status.get("phase") not in _OVER
        and not status.get("extendedResourceClaimStatus")
        and _cards(body)
    )


def _cards(body: Json) -> int:
    """Return the GPUs that a pod holds: init containers run before the others.

    Source: Kubernetes, effective requests of a pod.
    """
    first = [_asked(each) for each in _spec(body).get("initContainers") or ()]
    return max([sum(map(_asked, _spec(body).get("containers") or ())), *first])


def _asked(container: Json) -> int:
    limits = (container.get("resources") or {}).get("limits") or {}
    text = str(limits.get(RESOURCE, 0))
    return int(text) if text.isascii() and text.isdecimal() else 0


def _held(body: Json, pod: GpuPod, nodes: Mapping[str, Json]) -> PodUse:
    """Return what a pod holds; what it needs is not looked at yet."""
    labels = nodes.get(pod.node, {})
    memory = str(labels.get(MEMORY, ""))
    known = memory.isascii() and memory.isdecimal()
    return PodUse(
        namespace=pod.namespace,
        name=pod.name,
        product=labels.get(PRODUCT, ""),
        cards=_cards(body),
        card_memory=int(memory) * _MIB or None if known else None,
        need=None,
        node=pod.node,
        source="",
        owner=pod.owner,
    )


def _judged(
    use: PodUse,
    body: Json,
    told: Mapping[Workload, int],
    measured: Mapping[tuple[str, str], int],
) -> PodUse:
    """Return it with its need by who knows best: its manifest, its owner, a meter."""
    sources: tuple[tuple[Source, int | None], ...] = (
        ("annotation", need_of(body["metadata"].get("annotations") or {})),
        ("owner", told.get(use.workload)),
        ("measured", measured.get((use.namespace, use.name))),
    )
    for source, need in sources:
        if need is not None:
            return replace(use, need=need, source=source)
    return use

"""Pods that hold GPUs through a device plugin, beside the cards of their nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inventory.models import Cluster
    from portal.adoption.domain.savings import Source

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

    Makes two queries: nodes and pods.

    Args:
        cluster: which.
        measured: (namespace, pod) → the most bytes of a card that it had in use.
    """
    rows = KubeObject.objects.filter(cluster=cluster, deleted_at=None)
    nodes = {
        name: (body.get("metadata") or {}).get("labels") or {}
        for name, body in rows.filter(kind="Node").values_list("name", "body")
    }
    pods = rows.filter(kind="Pod").order_by("namespace", "name")
    asking = [
        body
        for body in pods.values_list("body", flat=True)
        if (read := read_pod(body)) and read.asks
    ]
    uses = tuple(
        _use(body, nodes, measured or {}) for body in asking if _is_on_plugin(body)
    )
    gpu_nodes = [row for row in nodes.values() if PRODUCT in row]
    selectors = [node_labels_of(_spec(body)) for body in asking]
    return Savings(
        uses,
        tuple(savings_of(uses)),
        pools_of(gpu_nodes, selectors, AXES),
        cluster.sees("Pod", "Node"),
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


def _use(
    body: Json, nodes: dict[str, Json], measured: Mapping[tuple[str, str], int]
) -> PodUse:
    metadata, node = body["metadata"], _spec(body)["nodeName"]
    namespace, name = metadata.get("namespace", ""), metadata["name"]
    labels = nodes.get(node, {})
    memory = str(labels.get(MEMORY, ""))
    known = memory.isascii() and memory.isdecimal()
    told = need_of(metadata.get("annotations") or {})
    need = measured.get((namespace, name)) if told is None else told
    source: Source = "annotation" if told is not None else "measured"
    return PodUse(
        namespace=namespace,
        name=name,
        product=labels.get(PRODUCT, ""),
        cards=_cards(body),
        card_memory=int(memory) * _MIB or None if known else None,
        need=need,
        node=node,
        source="" if need is None else source,
    )

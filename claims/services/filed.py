"""Manifests from a file, asked about a cluster: what is an item, what stands over it.

Each ResourceClaim, ResourceClaimTemplate and DeviceClass is an item, in the
file's order. Every other object overrides the cluster's of that name, or adds to
it, and so do DeviceClasses and claims that already hold devices.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from claims.domain.preview import claim_of, is_allocated
from claims.services.preview import budget_until, preview
from inventory.domain.convert import to_v1
from inventory.services.loading import CLUSTER_SCOPED, READ, named

if TYPE_CHECKING:
    from collections.abc import Iterable

    from claims.domain.preview import Preview
    from inventory.models import Cluster

Json = dict[str, Any]

# How long a file may take where nobody's request waits for it.
FILE_SECONDS = 600.0
ITEMS = frozenset({"ResourceClaim", "ResourceClaimTemplate", "DeviceClass"})


@dataclass(frozen=True, slots=True)
class Filed:
    """What a file says.

    Attributes:
        items: in v1 shape, in the file's order.
        overlay: what stands over the cluster's objects.
        left_out: how many objects of kinds that decide nothing.
    """

    items: list[Json]
    overlay: list[Json]
    left_out: int

    @property
    def asked(self) -> list[Json]:
        """The items that have a preview: claims without devices, and templates."""
        return [item for item in self.items if has_preview(item)]


def has_preview(item: Json) -> bool:
    """Return whether the scheduler could be asked about an item."""
    return item["kind"] != "DeviceClass" and not is_allocated(item)


def file_of(objects: Iterable[Json], *, namespace: str = "default") -> Filed:
    """Return what a file's objects say; `namespace` is that of objects without one.

    Raises:
        BadInput: An object has no name.
    """
    items, overlay, left_out = [], [], 0
    for original in objects:
        if str(original.get("kind")) not in READ:
            left_out += 1
            continue
        body = named(to_v1(original), namespace=namespace)
        if body["kind"] in ITEMS:
            items.append(body)
        if body["kind"] not in ITEMS or not has_preview(body):
            overlay.append(body)
    return Filed(items, overlay, left_out)


def item_previews(
    cluster: Cluster, filed: Filed, *, seconds: float = FILE_SECONDS
) -> list[Preview | None]:
    """Return each item's preview, each claim by itself; None where it has none.

    After so many seconds what is not easily decided is undecided.
    """
    ends = time.monotonic() + seconds
    return [
        preview(
            cluster,
            [claim_of(item)],
            overlay=filed.overlay,
            budget=budget_until(ends),
        )
        if has_preview(item)
        else None
        for item in filed.items
    ]


def together(cluster: Cluster, filed: Filed) -> Preview:
    """Return the preview of all claims of a file as one pod's, in its order."""
    claims = [claim_of(item) for item in filed.asked]
    return preview(cluster, claims, overlay=filed.overlay)


def identity_of(item: Json) -> Json:
    """Return kind, namespace and name as documents carry them."""
    metadata = item["metadata"]
    namespace = "" if item["kind"] in CLUSTER_SCOPED else metadata["namespace"]
    return {"kind": item["kind"], "namespace": namespace, "name": metadata["name"]}

"""A claim for one piece of a card and no other, to prove that it can be had.

CEL knows no device names: the devices of the piece are published with a mark, over
the snapshot alone, and a class selects the mark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claims.domain.checks.capacity import consumed, quantity_text
from claims.domain.why.suppose import republished
from inventory.domain.engine import Row
from inventory.domain.quantity import quantity_or_zero

if TYPE_CHECKING:
    from collections.abc import Iterable

    from claims.domain.checks.world import World
    from claims.domain.why.moves import Larger

Json = dict[str, Any]

DOMAIN, MARK = "slicewise.example", "piece"
CLASS = "slicewise-piece"
NAMESPACE, NAME = "slicewise-what-if", "piece"
SELECTOR = (
    f'"{DOMAIN}" in device.attributes && "{MARK}" in device.attributes["{DOMAIN}"]'
)


def marked(ids: Iterable[str], world: World) -> list[Row]:
    """Return the slices with the mark on some devices, and the class that selects it."""
    mark = {f"{DOMAIN}/{MARK}": {"bool": True}}
    rows = republished(
        ids,
        world,
        lambda each: {"attributes": {**(each.get("attributes") or {}), **mark}},
    )
    spec = {"selectors": [{"cel": {"expression": SELECTOR}}]}
    body = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": CLASS, "uid": CLASS},
        "spec": spec,
    }
    return [*rows, Row("DeviceClass", "", CLASS, body)]


def piece_claim(larger: Larger, world: World) -> Json:
    """Return the claim that asks for the piece: a device, or all that a share can be."""
    exactly: Json = {
        "deviceClassName": CLASS,
        "allocationMode": "ExactCount",
        "count": 1,
    }
    part = larger.parts[0]
    if part.shared:
        published = world.published.get("/".join(part.key), {})
        exactly["capacity"] = {"requests": dict(_requests(published, larger.size))}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"namespace": NAMESPACE, "name": NAME, "uid": NAME},
        "spec": {"devices": {"requests": [{"name": MARK, "exactly": exactly}]}},
    }


def _requests(published: Json, size: int) -> Iterable[tuple[str, str]]:
    """Yield all of the memory, and of everything else the least that may be asked."""
    for key, capacity in published.items():
        if not isinstance(capacity, dict):
            continue
        if key.rpartition("/")[2].lower() == "memory":
            yield key, str(size)
        elif (least := consumed(quantity_or_zero(0), capacity)) is not None:
            yield key, quantity_text(least)

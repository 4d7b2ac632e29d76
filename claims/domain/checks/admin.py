"""adminAccess: the namespace's label, and what keeps a monitor off its devices."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from claims.domain.checks.availability import counters_free
from claims.domain.checks.capacity import takes
from claims.domain.checks.findings import Finding
from claims.domain.checks.world import taints_text
from claims.domain.why.reach import reached
from inventory.domain.quantity import quantity_or_zero

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claims.domain.checks.asks import Ask, Asked
    from claims.domain.checks.facts import Facts
    from claims.domain.checks.world import World

Json = dict[str, Any]

LABEL = "resource.kubernetes.io/admin-access"


def admin_findings(asked: Asked, facts: Facts, world: World) -> Iterator[Finding]:
    """Yield why an adminAccess request is refused, or sees less than it should."""
    admins = [ask for ask in asked.asks if ask.is_admin]
    if "DRAAdminAccess" not in world.gates:
        return
    for ask in admins:
        yield from _label(asked, ask, world)
        candidates = sorted(facts.of(ask.name).candidates)
        yield from _blocked(ask, candidates, world)
    yield from _twice(admins, facts, world)


def _label(asked: Asked, ask: Ask, world: World) -> Iterator[Finding]:
    namespace = world.find("Namespace", "", asked.namespace) or {}
    labels = (namespace.get("metadata") or {}).get("labels") or {}
    path = f"{ask.path}.adminAccess"
    values = {"namespace": asked.namespace, "label": f'{LABEL}: "true"'}
    if labels.get(LABEL) == "true":
        return
    if LABEL in labels:
        values["found"] = f'{LABEL}: "{labels[LABEL]}"'
        yield Finding("admin.namespace_label_value", path, values)
    elif meant := sorted(key for key in labels if _is_meant(str(key))):
        values["found"] = ", ".join(meant)
        yield Finding("admin.namespace_label_value", path, values)
    else:
        yield Finding("admin.namespace_label", path, values)


def _is_meant(key: str) -> bool:
    """Return whether a label is the right one under another domain or spelling."""
    name = key.rpartition("/")[2].lower()
    return name.translate(str.maketrans("", "", "-_.")) == "adminaccess"


def _blocked(ask: Ask, candidates: list[str], world: World) -> Iterator[Finding]:
    """Yield taints, counters and capacity that keep the monitor off devices."""
    tainted = [c for c in candidates if world.untolerated(c, ask.tolerations)]
    if tainted:
        values = {
            "count": len(tainted),
            "example": tainted[0],
            "taint": taints_text(world, tainted, ask.tolerations),
        }
        yield Finding("admin.taint_blocks", ask.path, values)
    used_up = [c for c in candidates if not counters_free(c, world)]
    if used_up:
        values = {"count": len(used_up), "example": used_up[0]}
        yield Finding("admin.counters_exhausted", ask.path, values)
    full = [c for c in candidates if _is_full(ask, c, world)]
    if full:
        values = {"count": len(full), "example": full[0]}
        yield Finding("admin.capacity_exhausted", ask.path, values)


def _is_full(ask: Ask, device_id: str, world: World) -> bool:
    """Return whether shares leave too little of some capacity for what is asked.

    What other monitors have takes nothing away.
    """
    device = world.devices[device_id]
    holds = [h for h in world.holds.get(device_id, ()) if not h.value.admin_access]
    if not device.allow_multiple_allocations or not holds:
        return False
    for key, capacity in world.published[device_id].items():
        taken = sum(
            (
                quantity_or_zero(hold.value.consumed_capacity.get(key, 0))
                for hold in holds
            ),
            Fraction(0),
        )
        wanted = takes(ask, key, capacity)
        if wanted and taken + wanted > quantity_or_zero(capacity.get("value", 0)):
            return True
    return False


def _twice(admins: list[Ask], facts: Facts, world: World) -> Iterator[Finding]:
    """Yield admin requests that want a device which another of the claim takes.

    One claim holds a device once: where on every node both together want more
    devices than there are, they never fit.
    """
    if len(admins) < 2:
        return
    nodes = list(map(frozenset, reached(world).values()))
    for i, ask in enumerate(admins):
        mine = facts.of(ask.name).candidates
        for other in admins[:i]:
            theirs = facts.of(other.name).candidates
            if mine & theirs and _never((ask, mine), (other, theirs), nodes, world):
                values = {"one": other.name, "other": ask.name}
                yield Finding("admin.same_device_twice", ask.path, values)
                break


def _never(
    one: tuple[Ask, frozenset[str]],
    other: tuple[Ask, frozenset[str]],
    nodes: list[frozenset[str]],
    world: World,
) -> bool:
    """Return whether no node has enough devices for two asks at once."""
    tried = False
    for on in nodes:
        ours, others = one[1] & on, other[1] & on
        need = len(ours) if one[0].is_all else one[0].count
        need_other = len(others) if other[0].is_all else other[0].count
        if not ours or not others or need > len(ours) or need_other > len(others):
            continue
        tried = True
        # A shareable device is held once a share.
        twice = sum(
            world.devices[device].allow_multiple_allocations for device in ours & others
        )
        if len(ours | others) + twice >= need + need_other:
            return False
    return tried

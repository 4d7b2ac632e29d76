"""What a claim asks for, apart from selectors: counts, lists, constraints, config."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claims.domain.checks.capacity import Alike, can_give, can_share
from claims.domain.checks.findings import Finding
from claims.domain.why.reach import reached

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claims.domain.checks.asks import Ask, Asked
    from claims.domain.checks.facts import Facts
    from claims.domain.checks.world import World

Json = dict[str, Any]

MOST_DEVICES = 32
# Fields that are there, but dropped until their gate is on.
_LATER = (
    ("optionalNodeOperations", "DRAOptionalNodeOperations"),
    ("derivedAttributes", "DRADerivedAttributes"),
)
_LISTS = frozenset({"strings", "ints", "bools", "versions"})


def count_findings(asked: Asked) -> Iterator[Finding]:
    """Yield odd counts, more devices than one claim may have, and lists of `All`."""
    if not asked.requests:
        yield Finding("claim.odd", f"{asked.base}.requests", {}, "no_requests")
    least = 0
    for _name, path, asks in asked.requests:
        least += min((1 if ask.is_all else ask.count for ask in asks), default=0)
        for ask in asks:
            yield from _count(ask)
        if asks and asks[0].sub:
            yield Finding("first_available.per_node", f"{path}.firstAvailable")
    if least > MOST_DEVICES:
        values = {"count": least, "limit": MOST_DEVICES}
        yield Finding("claim.too_many_devices", f"{asked.base}.requests", values)


def _count(ask: Ask) -> Iterator[Finding]:
    if ask.body.get("count") == 0 and not ask.is_all:
        yield Finding("claim.odd", f"{ask.path}.count", {}, "count_zero")
    if ask.is_all:
        code = "first_available.all" if ask.sub else "all.per_node"
        yield Finding(code, f"{ask.path}.allocationMode")


def all_findings(asked: Asked, facts: Facts, world: World) -> Iterator[Finding]:
    """Yield each `All` that makes more devices of a node than a claim may have.

    Source: k8s.io/dynamic-resource-allocation: before anything is searched, all
    requests are summed for the node, of a list the alternative that takes fewest.
    """
    if not any(ask.is_all for ask in asked.asks):
        return
    counts = _counts_by_node(asked, facts, world)
    broken = False
    for _name, _path, asks in asked.requests:
        for finding in _all_of_request(asks, counts):
            broken = broken or not finding.is_passed_over
            yield finding
    if not broken:
        yield from _all_together(asked, counts)


def _counts_by_node(
    asked: Asked, facts: Facts, world: World
) -> dict[str, dict[str, int]]:
    """Return node → ask → how many devices it takes there, however many are free."""
    alike = Alike(world)
    taken = {
        ask.name: _giving(ask, facts.of(ask.name).candidates, world, alike)
        for ask in asked.asks
        if ask.is_all
    }
    return {
        node: {
            ask.name: len(taken[ask.name].intersection(on)) if ask.is_all else ask.count
            for ask in asked.asks
        }
        for node, on in sorted(reached(world).items())
    }


def _giving(
    ask: Ask, candidates: frozenset[str], world: World, alike: Alike
) -> frozenset[str]:
    """Return the candidates that have the capacity that is asked."""
    if not ask.capacity:
        return candidates
    some = alike.some(candidates)
    kinds = {alike.kind(each) for each in some if can_give(ask, each, world)}
    return frozenset(each for each in candidates if alike.kind(each) in kinds)


def _all_of_request(
    asks: tuple[Ask, ...], counts: dict[str, dict[str, int]]
) -> Iterator[Finding]:
    """Yield each `All` that alone is too much; a list passes over it for a smaller one."""
    for ask in asks:
        over = [node for node in counts if counts[node][ask.name] > MOST_DEVICES]
        if not ask.is_all or not over:
            continue
        bad = [
            node
            for node in over
            if min(counts[node][each.name] for each in asks) > MOST_DEVICES
        ]
        node = (bad or over)[0]
        values = {
            "count": counts[node][ask.name],
            "limit": MOST_DEVICES,
            "node": node,
        }
        yield Finding(
            "claim.too_many_devices",
            f"{ask.path}.allocationMode",
            values,
            "all" if bad else "all_passed",
            is_passed_over=not bad,
        )


def _all_together(asked: Asked, counts: dict[str, dict[str, int]]) -> Iterator[Finding]:
    for node, of_ask in counts.items():
        count = sum(
            min((of_ask[ask.name] for ask in asks), default=0)
            for _name, _path, asks in asked.requests
        )
        if count > MOST_DEVICES:
            values = {"count": count, "limit": MOST_DEVICES, "node": node}
            path = f"{asked.base}.requests"
            yield Finding("claim.too_many_devices", path, values, "all_together")
            return


def class_findings(asked: Asked, world: World) -> Iterator[Finding]:
    """Yield classes that do not exist, in any alternative."""
    known = world.classes()
    for ask in asked.asks:
        if ask.class_name not in known:
            values = {"name": ask.class_name, "known": ", ".join(sorted(known))}
            path = f"{ask.path}.deviceClassName"
            yield Finding("class.missing", path, values, "" if known else "none")


def config_findings(asked: Asked) -> Iterator[Finding]:
    """Yield opaque config bound to a request whose results carry another name."""
    listed = {
        name: [ask.name for ask in asks]
        for name, _path, asks in asked.requests
        if asks and asks[0].sub
    }
    for i, item in enumerate(asked.devices.get("config") or []):
        for j, name in enumerate(item.get("requests") or []):
            if name in listed:
                yield Finding(
                    "config.parent_request",
                    f"{asked.base}.config[{i}].requests[{j}]",
                    {
                        "name": name,
                        "driver": (item.get("opaque") or {}).get("driver", ""),
                        "instead": ", ".join(listed[name]),
                    },
                )


def constraint_findings(asked: Asked, facts: Facts, world: World) -> Iterator[Finding]:
    """Yield constraints that cannot work, or do not say what is meant."""
    for path, constraint in asked.constraints:
        key = constraint.get("matchAttribute") or constraint.get("distinctAttribute")
        if constraint.get("matchAttribute") and constraint.get("distinctAttribute"):
            yield Finding("claim.odd", path, {}, "both_constraints")
        elif (
            constraint.get("distinctAttribute")
            and "DRAConsumableCapacity" not in world.gates
        ):
            values = {"version": f"1.{world.minor}", "gate": "DRAConsumableCapacity"}
            yield Finding("constraint.unsupported", path, values)
        bound = asked.bound(constraint)
        if _most(asked, bound) < 2:
            yield Finding("constraint.no_effect", path, {"key": key})
        yield from _key_findings(path, constraint, asked, facts, world)


def _most(asked: Asked, bound: list[Ask]) -> int:
    """Return how many devices a constraint can bind at once, at most."""
    total = 0
    for name, _path, _asks in asked.requests:
        counts = [
            MOST_DEVICES if ask.is_all else ask.count
            for ask in bound
            if ask.request == name
        ]
        total += max(counts, default=0)
    return total


def _key_findings(
    path: str, constraint: Json, asked: Asked, facts: Facts, world: World
) -> Iterator[Finding]:
    key = str(constraint.get("matchAttribute") or constraint.get("distinctAttribute"))
    names = set(constraint.get("requests") or [])
    lists: set[bool] = set()
    for ask in asked.bound(constraint):
        candidates = facts.of(ask.name).candidates
        having = {
            device: value
            for device in candidates
            if (value := world.devices[device].attributes.get(key)) is not None
        }
        lists |= {bool(_LISTS & set(value)) for value in having.values()}
        if having and (without := candidates - having.keys()):
            yield _missing_on_some(path, key, ask, without, len(candidates))
        if not candidates or having:
            continue
        # Its devices lack the key: bound by the request's own name, or by its own.
        parent = ask.sub and (not names or ask.request in names)
        code = "constraint.parent_request" if parent else "constraint.key_missing"
        instead = _elsewhere(key, candidates, world)
        values = {"key": key, "name": ask.name, "instead": instead}
        variant = "" if instead or parent else "nowhere"
        yield Finding(code, path, values, variant)
    if True in lists and "DRAListTypeAttributes" not in world.gates:
        yield Finding("constraint.list_type", path, {"key": key})


def _missing_on_some(
    path: str, key: str, ask: Ask, without: frozenset[str], total: int
) -> Finding:
    values = {
        "key": key,
        "name": ask.name,
        "count": len(without),
        "total": total,
        "example": min(without),
    }
    return Finding("constraint.key_missing", path, values, "some")


def _elsewhere(key: str, candidates: frozenset[str], world: World) -> str:
    """Return a key of the same name, or of the shared domain, that candidates have."""
    last = key.rpartition("/")[2].lower()
    keys = {
        full
        for device_id in candidates
        for full in world.devices[device_id].attributes
        if full.rpartition("/")[2].lower()
        in {last, "pcieroot" if "pci" in last else last}
    }
    return ", ".join(sorted(keys))


def distinct_findings(asked: Asked, facts: Facts, world: World) -> Iterator[Finding]:
    """Yield requests whose shares may all land on one device.

    `count: N` takes N different devices; several requests of one claim may be
    given shares of the same one, unless a distinctAttribute says otherwise.
    """
    seen: list[tuple[Ask, frozenset[str]]] = []
    alike = Alike(world)
    for ask in asked.asks:
        if ask.is_admin:
            continue
        shared = frozenset(
            candidate
            for candidate in facts.of(ask.name).candidates
            if world.devices[candidate].allow_multiple_allocations
        )
        one_wanted = _wanting_one(asked, ask, shared, world)
        for earlier, theirs in seen:
            if (
                earlier.request != ask.request
                and earlier.name not in one_wanted
                and not _kept_apart(asked, earlier, ask)
                and any(
                    can_share(earlier, ask, each, world)
                    for each in alike.some(shared & theirs)
                )
            ):
                values = {"one": earlier.name, "other": ask.name}
                yield Finding("constraint.distinct", ask.path, values)
                break
        seen.append((ask, shared))


def _wanting_one(
    asked: Asked, ask: Ask, shared: frozenset[str], world: World
) -> set[str]:
    """Return the asks that a matchAttribute wants on the same device as another."""
    found: set[str] = set()
    for _path, constraint in asked.constraints:
        key = constraint.get("matchAttribute")
        bound = {each.name for each in asked.bound(constraint)}
        if key and ask.name in bound and _tells_apart(key, shared, world):
            found |= bound
    return found


def _tells_apart(key: str, devices: frozenset[str], world: World) -> bool:
    """Return whether an attribute is another one on each device."""
    seen: set[str] = set()
    for device in devices:
        value = world.devices[device].attributes.get(key)
        if value is None:
            continue
        text = repr(value)
        if text in seen:
            return False
        seen.add(text)
    return len(seen) > 1 or (bool(seen) and key.endswith("/uuid"))


def _kept_apart(asked: Asked, one: Ask, other: Ask) -> bool:
    return any(
        constraint.get("distinctAttribute")
        and not constraint.get("matchAttribute")
        and {one.name, other.name} <= {ask.name for ask in asked.bound(constraint)}
        for _path, constraint in asked.constraints
    )


def dropped_findings(asked: Asked, world: World) -> Iterator[Finding]:
    """Yield fields that the server drops without a word, since their gate is off."""
    for ask in asked.asks:
        fields = [
            ("capacity", "DRAConsumableCapacity", bool(ask.capacity)),
            ("adminAccess", "DRAAdminAccess", ask.is_admin),
            *((name, gate, name in ask.body) for name, gate in _LATER),
        ]
        for name, gate, is_set in fields:
            if is_set and gate not in world.gates:
                yield dropped(f"{ask.path}.{name}", gate, world)
    for _name, path, asks in asked.requests:
        if asks and asks[0].sub and "DRAPrioritizedList" not in world.gates:
            yield dropped(f"{path}.firstAvailable", "DRAPrioritizedList", world)


def dropped(path: str, gate: str, world: World) -> Finding:
    """Return the finding that a field is dropped."""
    values = {"path": path, "gate": gate, "version": f"1.{world.minor}"}
    return Finding("apply.field_dropped", path, values)

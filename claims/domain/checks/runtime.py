"""CEL that fails on devices: keys that they lack, and whatever else goes wrong."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from claims.domain.checks.findings import Finding
from claims.domain.checks.literals import is_of_literal, place, with_literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from claims.domain.checks.facts import SelectorFacts
    from claims.domain.checks.world import World
    from inventory.domain.cel_parts import Spot
    from inventory.domain.engine import RuntimeFault
    from inventory.domain.parse import DeviceValue

_MISSING = re.compile(r"no such key: (\S+)")
_NOTHING = "optional.none() dereference"


def runtime_findings(
    selector: SelectorFacts, among: frozenset[str], world: World
) -> Iterator[Finding]:
    """Yield the errors of a selector that come from no literal.

    Args:
        selector: with its errors.
        among: ids of the devices that it is asked about.
        world: the cluster.
    """
    for fault in selector.errors:
        if not is_of_literal(selector, fault):
            yield _fault(selector, fault, among, world)


def _fault(
    selector: SelectorFacts, fault: RuntimeFault, among: frozenset[str], world: World
) -> Finding:
    values = {
        "error": fault.message,
        "count": fault.count,
        "total": selector.total,
        "example": fault.example,
    }
    driver = fault.example.split("/", 1)[0]
    device = world.devices.get(fault.example)
    if missing := _MISSING.search(fault.message):
        key = missing[1]
        spot = _spot(selector, key, device)
        values["key"] = key
        read = next((r for r in selector.verdict.reads if r.key == key), None)
        space = spot.map if spot else read.map if read else "attributes"
        domain = spot.domain if spot else read.domain if read else "*"
        wanted = driver if domain == "*" else domain
        return _missing(selector, values, (space, wanted, key), spot, among, world)
    if _NOTHING in fault.message and (spot := _taken_out(selector, device, world)):
        values["key"] = spot.key
        at = (spot.map, spot.domain, spot.key)
        return _missing(selector, values, at, spot, among, world)
    is_certain = selector.always_fails
    return Finding("cel.runtime_error", selector.path, values, is_certain=is_certain)


def _missing(
    selector: SelectorFacts,
    values: dict[str, object],
    read: tuple[str, str, str],
    spot: Spot | None,
    among: frozenset[str],
    world: World,
) -> Finding:
    """Return what is said of a key, given as map, domain and name, that is not there."""
    (space, wanted, key), text, path = read, selector.expression, selector.path
    driver = str(values["example"]).split("/", 1)[0]
    at = place(text, spot.at[0]) if spot and spot.at else _place_of(text, key)
    domains = _domains_with(world, space, key, driver)
    if wanted in domains or _is_published(world, among, space, f"{wanted}/{key}"):
        return Finding(
            "cel.runtime_missing_key", path, values, "", *at, guarded(text, key)
        )
    values |= {"driver": driver, "domain": wanted}
    if domains:
        values["domains"] = ", ".join(sorted(domains))
        fixed = _under(selector, read, next(iter(domains))) if len(domains) == 1 else ""
        return Finding("cel.key_other_domain", path, values, "", *at, fixed or None)
    other = "capacity" if space == "attributes" else "attributes"
    if wanted in _domains_with(world, other, key, driver):
        values["there"] = f'device.{other}["{wanted}"].{key}'
        return Finding("cel.key_published_by_none", path, values, other, *at)
    values["known"] = ", ".join(known_keys(world, space, driver))
    variant = "" if values["known"] else "none"
    return Finding("cel.key_published_by_none", path, values, variant, *at)


def shadowed_keys(
    selector: SelectorFacts,
    before: Iterable[SelectorFacts],
    among: frozenset[str],
    world: World,
) -> Iterator[Finding]:
    """Yield keys that no device has, where none comes to them: something holds before.

    What is asked for in another way as well, such as by has(), is left.

    Args:
        selector: one that holds for no device, and fails on none.
        before: the selectors that a device passes first.
        among: ids of the devices of the class.
        world: the cluster.
    """
    parts = [each.verdict for each in (*before, selector)]
    safe = {(s.map, s.key) for v in parts for s in v.parts.spots if s.is_optional}
    open_maps = {read.map for v in parts for read in v.reads if read.key == "*"}
    drivers = {world.devices[device_id].driver for device_id in among}
    for spot in selector.verdict.parts.spots:
        driver = spot.domain
        if spot.at is None or (spot.map, spot.key) in safe or spot.map in open_maps:
            continue
        domains = _domains_with(world, spot.map, spot.key, driver)
        if driver not in drivers or driver in domains:
            continue
        values = {
            "key": spot.key,
            "driver": driver,
            "domain": driver,
            "domains": ", ".join(sorted(domains)),
            "known": ", ".join(known_keys(world, spot.map, driver)) or "–",
        }
        yield Finding(
            "cel.key_other_domain" if domains else "cel.key_published_by_none",
            selector.path,
            values,
            "shadowed",
            *place(selector.expression, spot.at[0]),
            is_shadowed=True,
        )


def _spot(selector: SelectorFacts, key: str, device: DeviceValue | None) -> Spot | None:
    """Return where the key is read that a device lacks."""
    named = [s for s in selector.verdict.parts.spots if s.key == key]
    lacked = [s for s in named if not s.is_optional and not _has(device, s)]
    return next(iter([*lacked, *named]), None)


def _has(device: DeviceValue | None, spot: Spot) -> bool:
    if device is None:
        return False
    table = device.attributes if spot.map == "attributes" else device.capacity
    return spot.full in table


def _taken_out(
    selector: SelectorFacts, device: DeviceValue | None, world: World
) -> Spot | None:
    """Return an optional read, taken out by value(), that no device of a driver has.

    None where a device lacks several: which of them it was is not known.
    """
    spots = [s for s in selector.verdict.parts.spots if s.is_optional and s.key != "*"]
    lacked = [s for s in spots if not _has(device, s)]
    if device is None or len({(s.map, s.full) for s in lacked}) != 1:
        return None
    spot = next((s for s in lacked if s.at), lacked[0])
    published = _domains_with(world, spot.map, spot.key, device.driver)
    return None if spot.domain in {*published, "*"} else spot


def _under(
    selector: SelectorFacts, read: tuple[str, str, str], domain: str
) -> str | None:
    """Return the expression with a key read under another domain; None where unplain."""
    text = selector.expression
    spans = {
        spot.domain_at
        for spot in selector.verdict.parts.spots
        if (spot.map, spot.domain, spot.key) == read and spot.domain_at
    }
    for span in sorted(spans, reverse=True):
        text = with_literal(text, span, read[1], domain) or text
    return text if spans else None


def _place_of(expression: str, key: str) -> tuple[int | None, int | None]:
    """Return where an expression first reads a key; None where that is not plain."""
    found = re.search(rf"""(?:\.\??|\[\??["']){re.escape(key)}\b""", expression)
    if found is None:
        return None, None
    return place(expression, found.end() - len(key))


def _domains_with(world: World, space: str, key: str, driver: str) -> set[str]:
    """Return the domains under which devices of a driver publish a key."""
    found: set[str] = set()
    for device in world.devices.values():
        if device.driver != driver:
            continue
        table = device.attributes if space == "attributes" else device.capacity
        found.update(
            domain
            for domain, _slash, name in (full.rpartition("/") for full in table)
            if name == key
        )
    return found


def _is_published(world: World, among: frozenset[str], space: str, full: str) -> bool:
    """Return whether one of some devices publishes a key, given with its domain."""
    devices = (world.devices[device_id] for device_id in among)
    return any(
        full in (device.attributes if space == "attributes" else device.capacity)
        for device in devices
    )


def known_keys(world: World, space: str, driver: str) -> list[str]:
    """Return the keys that devices of a driver publish, without their own domain."""
    keys: set[str] = set()
    for device in world.devices.values():
        if device.driver == driver:
            table = device.attributes if space == "attributes" else device.capacity
            keys.update(key.removeprefix(f"{driver}/") for key in table)
    return sorted(keys)


_COMPARED = (
    r"""device\.attributes\[(?P<quote>["'])(?P<domain>[^"']+)(?P=quote)\]\.%s"""
    r"""\s*==\s*(?P<literal>"[^"]*"|'[^']*'|\d+|true|false)"""
)


def guarded(expression: str, key: str) -> str | None:
    """Return the expression with `==` on a key made safe where the key is missing."""
    found = re.search(_COMPARED % re.escape(key), expression)
    if not found:
        return None
    literal = found["literal"]
    empty = {"true": "false", "false": "true"}.get(literal)
    if empty is None:
        empty = literal[0] * 2 if literal[0] in "\"'" else "-1"
    table = f"device.attributes[{found['quote']}{found['domain']}{found['quote']}]"
    safe = f"{table}.?{key}.orValue({empty}) == {literal}"
    return expression[: found.start()] + safe + expression[found.end() :]

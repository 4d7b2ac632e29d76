"""CEL selectors: what the server refuses, what fails later, what matches nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from claims.domain.checks.findings import Finding
from claims.domain.checks.syntax import flat_key
from inventory.domain.quantity import is_quantity, normal_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claims.domain.checks.asks import Ask, Asked
    from claims.domain.checks.facts import AskFacts, Facts, SelectorFacts
    from claims.domain.checks.world import World
    from inventory.domain.engine import RuntimeFault

MOST_BYTES = 10_240
# The value that names the class whose selector a finding speaks of.
OF_CLASS = "of_class"
# Above this many units of cost for one pod, what the scheduler pays is worth a word.
SLOW_COST = 20_000_000

_SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?"
)
_SEMVER_CALL = re.compile(r"""\bsemver\(\s*(["'])(.*?)\1\s*(,\s*true\s*)?\)""")
_QUANTITY_CALL = re.compile(r"""\bquantity\(\s*(["'])(.*?)\1\s*\)""")
_NO_QUANTITY = "quantit"
_SEMVER_OF_VERSION = "no such overload: semver("
_MISSING = re.compile(r"no such key: (\S+)")
_BROKEN = {
    "cel.compile",
    "cel.cost",
    "cel.too_long",
    "cel.bad_semver",
    "cel.key_published_by_none",
    "cel.key_other_domain",
}


def selector_findings(asked: Asked, facts: Facts, world: World) -> Iterator[Finding]:
    """Yield what is wrong with the selectors of each ask, list by list."""
    for _name, path, asks in asked.requests:
        broken = False
        for ask in asks:
            known = facts.of(ask.name)
            broken = broken or any(
                selector.always_fails
                for selector in (*known.class_selectors, *known.selectors)
            )
            for finding in (*_of_class(ask, known, world), *_own(known, world)):
                broken = broken or finding.code in _BROKEN
                yield finding
        if broken and asks and asks[0].sub:
            yield Finding("first_available.cel_error", f"{path}.firstAvailable")


def _own(known: AskFacts, world: World) -> Iterator[Finding]:
    for selector in known.selectors:
        yield from judge(selector, known.of_class, world)


def _of_class(ask: Ask, known: AskFacts, world: World) -> Iterator[Finding]:
    """Yield the faults of its class, which stop whoever uses it."""
    everything = frozenset(world.devices)
    for selector in known.class_selectors:
        for finding in judge(selector, everything, world):
            if finding.code != "cel.slow":
                yield replace(
                    finding,
                    path=f"{ask.path}.deviceClassName",
                    values={**finding.values, OF_CLASS: ask.class_name},
                    line=None,
                    column=None,
                    replacement=None,
                )


def judge(
    selector: SelectorFacts, among: frozenset[str], world: World
) -> Iterator[Finding]:
    """Yield what is wrong with one selector, asked about some devices."""
    verdict, path = selector.verdict, selector.path
    if verdict.length > MOST_BYTES:
        values = {"length": verdict.length, "limit": MOST_BYTES}
        yield Finding("cel.too_long", path, values)
        return
    if verdict.error:
        yield _refused(selector)
        return
    if verdict.cost is not None and verdict.cost > verdict.limit:
        yield Finding("cel.cost", path, {"cost": verdict.cost, "limit": verdict.limit})
        return
    yield from _semver(selector)
    yield from _quantity(selector)
    for fault in selector.errors:
        yield from _runtime(selector, fault, among, world)
    yield from _slow(selector)


def _refused(selector: SelectorFacts) -> Finding:
    """Return what does not compile: the first error, and the text without a slip."""
    verdict = selector.verdict
    values = {"error": verdict.error.partition("\n")[0]}
    flat = flat_key(selector.expression)
    variant = "flat_key" if flat else "mended" if selector.mended else ""
    if flat:
        values |= {"key": flat[0], "fixed": flat[1]}
    elif selector.mended:
        values["fixed"] = selector.mended
    # An error at the end of an empty line has column 0.
    column = None if verdict.column is None else max(1, verdict.column)
    return Finding(
        "cel.compile",
        selector.path,
        values,
        variant,
        verdict.line,
        column,
        selector.mended,
    )


def _place(expression: str, index: int) -> tuple[int, int]:
    """Return line and column of an index, 1-based."""
    before = expression[:index]
    return before.count("\n") + 1, index - (before.rfind("\n") + 1) + 1


def _place_of(expression: str, key: str) -> tuple[int | None, int | None]:
    """Return where an expression first reads a key; None where that is not plain."""
    found = re.search(rf"""(?:\.\??|\[\??["']){re.escape(key)}\b""", expression)
    if found is None:
        return None, None
    return _place(expression, found.end() - len(key))


def _semver(selector: SelectorFacts) -> Iterator[Finding]:
    for call in _SEMVER_CALL.finditer(selector.expression):
        literal = call[2]
        if call[3] or _SEMVER.fullmatch(literal):
            continue
        fixed = normal_semver(literal)
        line, column = _place(selector.expression, call.start(2))
        yield Finding(
            "cel.bad_semver",
            selector.path,
            {"literal": literal, "fixed": fixed or ""},
            "literal" if fixed else "literal_unclear",
            line,
            column,
            selector.expression.replace(call[2], fixed) if fixed else None,
        )
    if any(_SEMVER_OF_VERSION in fault.message for fault in selector.errors):
        at = selector.expression.find("semver(device")
        line, column = _place(selector.expression, max(at, 0))
        fixed = re.sub(
            r"""semver\((device\.attributes\[[^\]]+\]\.\w+)\)""",
            r"\1",
            selector.expression,
        )
        yield Finding(
            "cel.bad_semver",
            selector.path,
            {},
            "of_version",
            line,
            column,
            fixed if fixed != selector.expression else None,
        )


def _quantity(selector: SelectorFacts) -> Iterator[Finding]:
    for call in _QUANTITY_CALL.finditer(selector.expression):
        literal = call[2]
        if is_quantity(literal):
            continue
        fixed = normal_quantity(literal)
        line, column = _place(selector.expression, call.start(2))
        start, end = call.span(2)
        text = selector.expression
        yield Finding(
            "cel.runtime_error",
            selector.path,
            {"literal": literal, "fixed": fixed or ""},
            "quantity" if fixed else "quantity_unclear",
            line,
            column,
            text[:start] + fixed + text[end:] if fixed else None,
        )


def normal_semver(literal: str) -> str | None:
    """Return a version such as `v580.95.05` or `12.4` as a semantic version, or None."""
    found = re.fullmatch(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?((?:[-+].*)?)", literal)
    if not found:
        return None
    numbers = ".".join(str(int(part or 0)) for part in found.groups()[:3])
    fixed = numbers + found[4]
    return fixed if _SEMVER.fullmatch(fixed) else None


def _runtime(
    selector: SelectorFacts, fault: RuntimeFault, among: frozenset[str], world: World
) -> Iterator[Finding]:
    if _SEMVER_OF_VERSION in fault.message or _bad_literal(selector, fault):
        return
    missing = _MISSING.search(fault.message)
    values = {
        "error": fault.message,
        "count": fault.count,
        "total": selector.total,
        "example": fault.example,
    }
    if not missing:
        yield Finding("cel.runtime_error", selector.path, values)
        return
    values["key"] = key = missing[1]
    at = _place_of(selector.expression, key)
    driver = fault.example.split("/", 1)[0]
    read = next((r for r in selector.verdict.reads if r.key == key), None)
    space = read.map if read else "attributes"
    domains = _domains_with(world, space, key, driver)
    wanted = read.domain if read and read.domain != "*" else driver
    if wanted in domains or _is_published(world, among, space, f"{wanted}/{key}"):
        replacement = guarded(selector.expression, key)
        yield Finding(
            "cel.runtime_missing_key", selector.path, values, "", *at, replacement
        )
        return
    values["driver"] = driver
    values["domain"] = wanted
    if domains:
        values["domains"] = ", ".join(sorted(domains))
        fixed = None
        if len(domains) == 1:
            fixed = selector.expression.replace(wanted, next(iter(domains)))
        yield Finding("cel.key_other_domain", selector.path, values, "", *at, fixed)
        return
    other = "capacity" if space == "attributes" else "attributes"
    if wanted in _domains_with(world, other, key, driver):
        values["there"] = f'device.{other}["{wanted}"].{key}'
        yield Finding("cel.key_published_by_none", selector.path, values, other, *at)
        return
    values["known"] = ", ".join(_known_keys(world, space, driver))
    variant = "" if values["known"] else "none"
    yield Finding("cel.key_published_by_none", selector.path, values, variant, *at)


def _bad_literal(selector: SelectorFacts, fault: RuntimeFault) -> bool:
    """Return whether an error comes from a literal that was already found."""
    if _NO_QUANTITY in fault.message and any(_quantity(selector)):
        return True
    return "semver" in selector.expression and any(
        word in fault.message.lower()
        for word in (
            "leading zero",
            "major.minor.patch",
            "semantic version",
            "invalid character",
        )
    )


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


def _known_keys(world: World, space: str, driver: str) -> list[str]:
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


def _slow(selector: SelectorFacts) -> Iterator[Finding]:
    if not selector.total:
        return
    cost = selector.verdict.cost or 0
    values = {"cost": cost, "devices": selector.total, "product": cost * selector.total}
    if ".matches(" in selector.expression:
        yield Finding("cel.slow", selector.path, values, "regex")
    elif _nested(selector.expression):
        yield Finding("cel.slow", selector.path, values, "nested")
    elif cost * selector.total >= SLOW_COST:
        yield Finding("cel.slow", selector.path, values)


_MACRO = re.compile(r"\.(all|exists|exists_one|map|filter)\(")


def _nested(expression: str) -> bool:
    """Return whether one comprehension stands inside another."""
    depth_of: list[int] = []
    depth = 0
    for index, letter in enumerate(expression):
        if letter == "(":
            depth += 1
            if _MACRO.search(expression, 0, index + 1) and _MACRO.match(
                expression, expression.rfind(".", 0, index), index + 1
            ):
                if depth_of:
                    return True
                depth_of.append(depth)
        elif letter == ")":
            if depth_of and depth_of[-1] == depth:
                depth_of.pop()
            depth -= 1
    return False

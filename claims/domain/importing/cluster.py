"""What a claim, template or class gets wrong about this cluster: names, keys, amounts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from claims.domain.importing.asking import Asking, askings, devices_path, listed
from claims.domain.importing.edits import (
    Append,
    Edit,
    Path,
    Put,
    Repair,
    at,
    text_of,
)
from claims.domain.importing.expressions import Rewrite, label_sizes, rewrites
from claims.domain.importing.published import (
    ATTRIBUTES,
    Place,
    Published,
    driver_in,
    expressions_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from claims.domain.checks.findings import Finding
    from claims.domain.checks.world import World

Json = dict[str, Any]

DEVICE_CLASS = "DeviceClass"
_TYPES = {"gpu", "mig", "vfio"}


def class_repairs(
    body: Json, known: Published, renamed: Mapping[str, str]
) -> Iterator[Repair]:
    """Yield classes that a claim names and the cluster does not have.

    Args:
        body: a claim or template.
        known: what the cluster has, with the classes that come with this import.
        renamed: classes of this import that were given another name.
    """
    for ask in askings(body):
        name = ask.class_name
        if not name or name in known.classes:
            continue
        path = (*ask.path, "deviceClassName")
        right = renamed.get(name) or known.class_like(name)
        if right:
            values = {"old": name[:253], "name": right}
            yield Repair("class.missing", path, "like", values, (Put(path, right),))
        elif near := known.classes_near(name):
            values = {"old": name[:253], "near": ", ".join(near)}
            yield Repair("class.missing", path, "near", values)


def selector_repairs(body: Json, known: Published) -> Iterator[Repair]:
    """Yield what is wrong with the selectors of a claim, template or class."""
    for path, text, driver in _selectors(body, known):
        for found in rewrites(text, driver, known):
            yield _rewritten(path, found)


def size_repairs(
    body: Json, known: Published, findings: list[Finding]
) -> Iterator[Repair]:
    """Yield amounts that no card has, of selectors that match nothing."""
    empty = {found.path for found in findings if found.code == "preview.zero_match"}
    for path, text, driver in _selectors(body, known):
        holders = {text_of(path), text_of(path[:-2])}
        if holders & empty or any(e.startswith(text_of(path[:-4])) for e in empty):
            for found in label_sizes(text, driver, known):
                yield _rewritten(path, found)


def _selectors(body: Json, known: Published) -> Iterator[tuple[Path, str, str]]:
    """Yield path, text and driver of each selector."""
    if body.get("kind") == DEVICE_CLASS:
        driver = driver_in(expressions_of(body)) or known.only_driver()
        for i, row in enumerate(listed(body.get("spec"), "selectors")):
            text = at(row, ("cel", "expression"))
            if isinstance(text, str):
                yield ("spec", "selectors", i, "cel", "expression"), text, driver
        return
    for ask in askings(body):
        driver = known.driver_of(ask.class_name)
        for path, text in ask.selectors:
            yield path, text, driver


def _rewritten(path: Path, found: Rewrite) -> Repair:
    edits = (Put(path, found.text),) if found.text is not None else ()
    values = found.values
    about = next(
        (
            str(values[key])
            for key in ("old", "asked", "amount", "key")
            if key in values
        ),
        "",
    )
    return Repair(
        found.code,
        path,
        found.variant,
        values,
        edits,
        optional=found.optional and bool(edits),
        about=about,
    )


def device_class_repairs(body: Json, known: Published) -> Iterator[Repair]:
    """Yield a class with a wrong name, or that takes devices of several types."""
    name = at(body, ("metadata", "name"))
    path: Path = ("metadata", "name")
    if isinstance(name, str) and "/" in name:
        right = known.class_like(name) or ".".join(reversed(name.lower().split("/")))
        values = {"old": name[:253], "name": right}
        yield Repair("claim.invalid", path, "class_name", values, (Put(path, right),))
    selectors = listed(body.get("spec"), "selectors")
    texts = expressions_of(body)
    driver = driver_in(texts)
    place = Place(ATTRIBUTES, driver, "type")
    types = known.values(driver, place).get("string", set()) or (
        _TYPES if driver == "gpu.nvidia.com" else set()
    )
    if not types & _TYPES or any(re.search(r"\.\??type\b", text) for text in texts):
        return
    wanted = next((t for t in ("mig", "vfio") if t in str(name)), "gpu")
    for i, row in enumerate(selectors):
        text = at(row, ("cel", "expression"))
        if not isinstance(text, str) or not driver_in([text]):
            continue
        where: Path = ("spec", "selectors", i, "cel", "expression")
        condition = f'{place.text} == "{wanted}"'
        values = {"type": wanted, "condition": condition}
        edits = (Put(where, _behind_driver(text, condition)),)
        is_meant = "gpu" in str(name).lower() or at(
            body, ("spec", "extendedResourceName")
        )
        yield Repair(
            "class.mixed_types",
            where,
            "added" if is_meant else "may_add",
            values,
            edits,
            optional=not is_meant,
        )
        return


def _behind_driver(text: str, condition: str) -> str:
    """Return an expression with a condition after the one on the driver."""
    found = re.search(r"""device\.driver\s*==\s*["'][^"']+["']""", text)
    if not found or "||" in text:
        return f"{condition} && ({text})" if "||" in text else f"{condition} && {text}"
    return f"{text[: found.end()]} && {condition}{text[found.end() :]}"


def constraint_key_repairs(body: Json, known: Published) -> Iterator[Repair]:
    """Yield constraints whose attribute has no domain, or another name."""
    base = (*devices_path(body), "constraints")
    for i, row in enumerate(listed(at(body, base[:-1]), "constraints")):
        for field in ("matchAttribute", "distinctAttribute"):
            key = row.get(field) if isinstance(row, dict) else None
            if not isinstance(key, str) or not key:
                continue
            right = _full_key(key, [a for a in askings(body) if binds(row, a)], known)
            if right and right != key:
                path = (*base, i, field)
                values = {"old": key[:128], "name": right}
                edits = (Put(path, right),)
                yield Repair("constraint.key_missing", path, "renamed", values, edits)


def _full_key(key: str, asks: list[Asking], known: Published) -> str:
    """Return the full name of the key that every ask's driver publishes, or ""."""
    domain, _slash, last = key.rpartition("/")
    found = set()
    for ask in asks:
        driver = known.driver_of(ask.class_name)
        if driver not in known.keys:
            return ""
        place = known.resolve(driver, Place(ATTRIBUTES, domain or driver, last))
        if place is None or place.space != ATTRIBUTES:
            return ""
        found.add(f"{place.domain}/{place.key}")
    return next(iter(found)) if len(found) == 1 else ""


def binds(constraint: Json, ask: Asking) -> bool:
    """Return whether a constraint or config is about an ask."""
    names = set(map(str, listed(constraint, "requests")))
    return not names or ask.request in names or ask.name in names


def parent_repairs(
    body: Json, world: World, candidates: Callable[[Asking], frozenset[str]]
) -> Iterator[Repair]:
    """Yield constraints over a list whose alternatives tell cards apart differently.

    Each is split: what an alternative's devices publish decides its own key.
    """
    base = (*devices_path(body), "constraints")
    for i, row in enumerate(listed(at(body, base[:-1]), "constraints")):
        key = row.get("distinctAttribute") if isinstance(row, dict) else None
        if not isinstance(key, str) or row.get("matchAttribute"):
            continue
        bound = [ask for ask in askings(body) if binds(row, ask)]
        if not any(ask.sub for ask in bound):
            continue
        keys = {ask.name: _card_key(key, candidates(ask), world) for ask in bound}
        if None in keys.values() or set(keys.values()) == {key}:
            continue
        parts: dict[str, list[str]] = {}
        for name, own in keys.items():
            parts.setdefault(str(own), []).append(name)
        rows = [
            {"requests": names, "distinctAttribute": own}
            for own, names in parts.items()
        ]
        path = (*base, i)
        edits: tuple[Edit, ...] = (
            Put((*path, "requests"), rows[0]["requests"], "^"),
            Put((*path, "distinctAttribute"), rows[0]["distinctAttribute"]),
            *(Append(base, more) for more in rows[1:]),
        )
        shown = "; ".join(f"{', '.join(names)}: {own}" for own, names in parts.items())
        values = {"key": key, "parts": shown}
        yield Repair("constraint.parent_request", path, "split", values, edits)


def _card_key(key: str, devices: frozenset[str], world: World) -> str | None:
    """Return the attribute that tells the cards of these devices apart; or None.

    A partition's `uuid` is its own or not there at all; its card's is `parentUUID`.
    """
    if not devices:
        return None
    domain, _slash, last = key.rpartition("/")
    parent = f"{domain}/parentUUID"
    tables = [world.devices[device].attributes for device in devices]
    if last == "uuid" and all(parent in table for table in tables):
        return parent
    return key if any(key in table for table in tables) else None

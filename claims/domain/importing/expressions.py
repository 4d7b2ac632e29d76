"""CEL selectors rewritten: what does not compile, or cannot match what is meant."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from claims.domain.checks.literals import normal_semver
from claims.domain.checks.syntax import LEFT, STRINGS
from claims.domain.importing.published import (
    ATTRIBUTES,
    CAPACITY,
    Place,
    Published,
    amounts,
    plain,
)
from claims.domain.why.conjuncts import conjuncts
from inventory.domain.quantity import GIB, BadQuantity, is_quantity, parse_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

# Where a published amount is this near below what is asked, the label is meant.
_LABEL_SIZE = Fraction(90, 100)
SHARED_DOMAIN = "resource.kubernetes.io"
_OWN = {"driver", "attributes", "capacity", "allowMultipleAllocations"}
_READ = re.compile(
    r"""device\.(?P<space>attributes|capacity)"""
    r"""(?:\[\s*(?P<q>["'])(?P<domain>[^"']+)(?P=q)\s*\]|\.(?P<member>[A-Za-z_]\w*)(?!\w|\())"""
    r"""(?:\.(?P<key>[A-Za-z_]\w*)(?!\w|\s*\()"""
    r"""|\[\s*(?P<q2>["'])(?P<key2>[^"']+)(?P=q2)\s*\])?"""
)
_MEMBER = re.compile(
    r"""device\.(?P<driver>driver\.)?(?P<key>[A-Za-z_]\w*)(?!\w|\s*\()"""
)
_GREATER = re.compile(
    LEFT + r"""\.isGreaterThan\(\s*quantity\(\s*["'](?P<amount>[^"']+)["']\s*\)\s*\)"""
)
_OPERATOR = re.compile(
    LEFT
    + r"""\s*(?P<op>>=|<=|==|>|<)\s*"""
    + r"""(?:(?P<call>quantity|semver)\(\s*["'](?P<inner>[^"']+)["']\s*\)|["'](?P<text>[^"']+)["'])"""
)
_SEMVER_OF = re.compile(rf"semver\(\s*(?P<inner>{LEFT})\s*\)")
_AT_LEAST = re.compile(
    LEFT
    + r"""\.compareTo\(\s*quantity\(\s*["'](?P<amount>[^"']+)["']\s*\)\s*\)\s*>=\s*0"""
)
_EQUALS = re.compile(LEFT + r"""\s*==\s*(?P<q>["'])(?P<text>[^"']*)(?P=q)""")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A better text for an expression; None where there is only something to say."""

    code: str
    variant: str
    values: dict[str, Any] = field(default_factory=dict)
    text: str | None = None
    optional: bool = False


def rewrites(text: str, driver: str, known: Published) -> Iterator[Rewrite]:
    """Yield what is wrong with an expression; each is about the text as it stands.

    Args:
        text: a selector.
        driver: of the class that is asked for; "" where it is not known.
        known: what the cluster publishes.
    """
    if '"""' in text or "'''" in text:
        return
    yield from _places(text, driver, known)
    yield from _members(text, driver, known)
    yield from _operators(text, driver, known)
    yield from _versions(text, driver, known)
    yield from _greater(text)
    yield from _literals(text, driver, known)


def _outside(text: str, start: int) -> bool:
    """Return whether an index stands outside of the expression's strings."""
    return not any(m.start() < start < m.end() for m in STRINGS.finditer(text))


def _replaced(text: str, found: re.Match[str], new: str) -> str:
    return text[: found.start()] + new + text[found.end() :]


def _places(text: str, driver: str, known: Published) -> Iterator[Rewrite]:
    """Yield reads of keys without a domain, of the wrong map, or under another name."""
    for found in _READ.finditer(text):
        wanted = _wanted(found, driver, known)
        if wanted is None or not _outside(text, found.start()):
            continue
        owner = driver or _owner(wanted.domain, known)
        if owner not in known.keys:
            continue
        written = found[0]
        place = known.resolve(owner, wanted)
        is_flat = found["key"] is None and found["key2"] is None
        if place is not None and (is_flat or place != wanted):
            values = {"old": written, "new": place.text}
            code = "cel.compile" if is_flat else "cel.key_published_by_none"
            if place.key == wanted.key and not is_flat:
                code = "cel.key_other_domain"
            variant = "flat" if is_flat else "renamed"
            yield Rewrite(code, variant, values, _replaced(text, found, place.text))
        elif place is None:
            yield from _unpublished(text, found, wanted, owner, known, is_flat=is_flat)


def _owner(domain: str, known: Published) -> str:
    """Return the driver that publishes a domain, or the one driver there is; or ""."""
    if domain in known.keys:
        return domain
    return "" if domain and domain != SHARED_DOMAIN else known.only_driver()


def _wanted(found: re.Match[str], driver: str, known: Published) -> Place | None:
    """Return what a read means; None for a map that is passed on as a whole."""
    space, key = found["space"], found["key"] or found["key2"]
    name = found["domain"] or found["member"]
    if key is not None:
        if found["member"] is not None:
            return None
        return Place(space, name, key)
    domain, slash, last = name.rpartition("/")
    if slash:
        return Place(space, domain, last)
    domains = {p.domain for d in known.keys for p in known.places(d, space)}
    if name in domains | set(known.keys) or "." in name:
        return None
    return Place(space, driver, name)


def _unpublished(
    text: str,
    found: re.Match[str],
    wanted: Place,
    owner: str,
    known: Published,
    *,
    is_flat: bool,
) -> Iterator[Rewrite]:
    """Yield a key that no device has: its part of the expression can never hold."""
    near = known.nearest(owner, wanted) or [
        place.key for place in known.places(owner, wanted.space)
    ]
    values = {"key": wanted.key, "driver": owner, "near": ", ".join(near[:4])}
    parts = conjuncts(text)
    left = [part for part in parts if found[0] not in part]
    without = " && ".join(left) if left and len(left) < len(parts) else None
    impossible = not _IDENTIFIER.fullmatch(wanted.key)
    code = "cel.compile" if is_flat else "cel.key_published_by_none"
    variant = "dropped" if without else "unknown"
    if without and not impossible:
        variant = "may_drop"
    if re.search("nvlink|mesh|clique|fabric", wanted.key, re.IGNORECASE) and without:
        variant = "nvlink"
        values["near"] = _same_root(owner, known)
    yield Rewrite(code, variant, values, without, optional=not impossible)


def _same_root(driver: str, known: Published) -> str:
    """Return the attribute by which devices under one PCIe root are found; or "–"."""
    place = Place(ATTRIBUTES, SHARED_DOMAIN, "pcieRoot")
    is_there = known.has(driver, place)
    return f"matchAttribute {SHARED_DOMAIN}/pcieRoot" if is_there else "–"


def _members(text: str, driver: str, known: Published) -> Iterator[Rewrite]:
    """Yield `device.driver.key` and `device.key`."""
    for found in _MEMBER.finditer(text):
        if not _outside(text, found.start()) or not driver:
            continue
        if not found["driver"] and found["key"] in _OWN:
            continue
        place = known.resolve(driver, Place(ATTRIBUTES, driver, found["key"]))
        if place:
            values = {"old": found[0], "new": place.text}
            yield Rewrite(
                "cel.compile", "flat", values, _replaced(text, found, place.text)
            )


def _operators(text: str, driver: str, known: Published) -> Iterator[Rewrite]:
    """Yield quantities and versions that are compared with signs."""
    for found in _OPERATOR.finditer(text):
        place = Place(found["space"], found["domain"], found["key"])
        owner = driver or _owner(place.domain, known)
        kinds = known.values(owner, place)
        literal = found["inner"] or found["text"]
        if found["op"] == "==" and found["call"]:
            continue
        if found["call"] == "semver" or "version" in kinds:
            wanted = normal_semver(literal)
            call = f'semver("{wanted}")' if wanted else ""
        elif found["call"] == "quantity" or place.space == CAPACITY:
            call = f'quantity("{literal}")' if is_quantity(literal) else ""
        else:
            continue
        if not call or not _outside(text, found.start()):
            continue
        new = f"{found['left']}.compareTo({call}) {found['op']} 0"
        values = {"old": found[0], "new": new}
        yield Rewrite("cel.compile", "operator", values, _replaced(text, found, new))


def _versions(text: str, driver: str, known: Published) -> Iterator[Rewrite]:
    """Yield `semver()` of what is a version already."""
    for found in _SEMVER_OF.finditer(text):
        place = Place(found["space"], found["domain"], found["key"])
        kinds = known.values(driver or _owner(place.domain, known), place)
        if "version" in kinds or (not kinds and place.key.lower().endswith("version")):
            values = {"key": place.key}
            new = _replaced(text, found, found["inner"])
            yield Rewrite("cel.bad_semver", "of_version", values, new)


def _greater(text: str) -> Iterator[Rewrite]:
    """Yield `isGreaterThan` of an amount, where at least that much is meant."""
    for found in _GREATER.finditer(text):
        if not _outside(text, found.start()):
            continue
        amount = found["amount"]
        new = f'{found["left"]}.compareTo(quantity("{amount}")) >= 0'
        yield Rewrite(
            "import.at_least",
            "",
            {"amount": amount, "new": new},
            _replaced(text, found, new),
        )


def _literals(text: str, driver: str, known: Published) -> Iterator[Rewrite]:
    """Yield a value that no device has, where one has it written another way."""
    for found in _EQUALS.finditer(text):
        place = Place(found["space"], found["domain"], found["key"])
        values = known.values(driver or _owner(place.domain, known), place)
        strings = values.get("string", set())
        if not strings or found["text"] in strings:
            continue
        same = sorted(v for v in strings if plain(v) == plain(found["text"]))
        shown = {"value": found["text"], "key": place.key}
        if len(same) == 1:
            new = f'{found["left"]} == "{same[0]}"'
            shown["new"] = same[0]
            yield Rewrite(
                "preview.zero_match", "value", shown, _replaced(text, found, new)
            )
        else:
            shown["near"] = ", ".join(sorted(strings)[:6])
            yield Rewrite("preview.zero_match", "value_unknown", shown)


def label_sizes(text: str, driver: str, known: Published) -> Iterator[Rewrite]:
    """Yield amounts as printed on a card's box, which the card does not quite have.

    To be asked of an expression that matches nothing: an H100 of 80 GB publishes
    81559Mi, which is less than 80Gi.
    """
    for found in _AT_LEAST.finditer(text):
        place = Place(found["space"], found["domain"], found["key"])
        values = known.values(driver or _owner(place.domain, known), place)
        try:
            asked = parse_quantity(found["amount"])
        except BadQuantity:
            continue
        below = [
            each for each in amounts(values) if asked * _LABEL_SIZE <= each < asked
        ]
        whole = below[-1] // GIB if below else 0
        if not whole:
            continue
        new = f"{whole}Gi"
        start, end = found.span("amount")
        shown = {
            "asked": found["amount"],
            "new": new,
            "published": _text_of(values, below[-1]),
            "key": place.key,
        }
        yield Rewrite(
            "preview.zero_match", "size", shown, text[:start] + new + text[end:]
        )


def _text_of(values: dict[str, set[str]], amount: Fraction) -> str:
    found = (t for t in values.get("quantity", ()) if is_quantity(t))
    return next(text for text in found if parse_quantity(text) == amount)

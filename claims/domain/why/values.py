"""What devices publish under the key that a selector's part compares.

A comparison is read from the text: `….memory.isGreaterThan(quantity("80Gi"))`,
`….memory.compareTo(quantity("79Gi")) >= 0`, `….profile == "3g.40gb"`. What is
written otherwise is not understood, and nothing is said of it.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from inventory.domain.quantity import BadQuantity, parse_quantity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from claims.domain.why.ground import Ground

Json = dict[str, Any]
Sortable = Fraction | tuple[int, ...]

MOST_NEAR = 3
_REF = (
    r"(?P<ref>device\.(?P<space>capacity|attributes)"
    r"""\[\s*(?P<q>["'])(?P<domain>[^"']+)(?P=q)\s*\]\.(?P<key>[A-Za-z_]\w*))"""
)
_CALL = re.compile(
    _REF
    + r"\.(?P<call>isGreaterThan|isLessThan|compareTo)\(\s*(?P<kind>quantity|semver)"
    r"""\(\s*(?P<lq>["'])(?P<literal>[^"']*)(?P=lq)\s*\)\s*\)"""
    r"(?:\s*(?P<op>>=|<=|==|!=|>|<)\s*(?P<zero>0))?"
)
_PLAIN = re.compile(
    _REF
    + r"""\s*(?P<op>>=|<=|==|>|<)\s*(?P<literal>"[^"\\]*"|'[^'\\]*'|-?\d+(?![.\w])|true\b|false\b)"""
)


@dataclass(frozen=True, slots=True)
class Near:
    """A value that devices have which fail a selector, and how many have it."""

    key: str
    value: str
    count: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """One comparison of a published value with a literal.

    Attributes:
        domain, key: of the attribute or capacity; `space` says which.
        kind: quantity, semver, int, string or bool.
        direction: ">" where more is wanted, "<" where less, "=" where that value.
        strict: whether the literal itself does not do.
        start, end: the place of the comparison in the text.
    """

    ref: str
    space: str
    domain: str
    key: str
    kind: str
    literal: str
    direction: str
    strict: bool
    start: int
    end: int

    def with_value(self, value: str) -> str:
        """Return the comparison that this value passes."""
        sign = {"=": "==", ">": ">=", "<": "<="}[self.direction]
        if self.kind in {"quantity", "semver"}:
            return f'{self.ref}.compareTo({self.kind}("{value}")) {sign} 0'
        text = f'"{value}"' if self.kind == "string" else value
        return f"{self.ref} {sign} {text}"


def comparison_in(text: str) -> Comparison | None:
    """Return the comparison that a selector's part is, brackets aside; or None."""
    bare = text.strip().lstrip("(").rstrip(") \n")
    found = _CALL.search(text) or _PLAIN.search(text)
    if not found or len(found[0].rstrip(") \n")) != len(bare.strip()):
        return None
    if found := _CALL.search(text):
        call, op = found["call"], found["op"]
        direction = {"isGreaterThan": ">", "isLessThan": "<"}.get(call) or (op or "")[
            :1
        ]
        if direction not in {"<", ">", "="} or (call == "compareTo") != bool(op):
            return None
        strict = call != "compareTo" or op in {">", "<"}
        return _comparison(found, found["kind"], found["literal"], direction, strict)
    if found := _PLAIN.search(text):
        literal, op = found["literal"], found["op"]
        kind = "string" if literal[0] in "\"'" else "int"
        kind = "bool" if literal in {"true", "false"} else kind
        text = literal[1:-1] if kind == "string" else literal
        return _comparison(found, kind, text, op[0], op in {">", "<"})
    return None


def _comparison(
    found: re.Match[str], kind: str, literal: str, direction: str, strict: Any
) -> Comparison:
    return Comparison(
        ref=found["ref"],
        space=found["space"],
        domain=found["domain"],
        key=found["key"],
        kind=kind,
        literal=literal,
        direction=direction,
        strict=bool(strict),
        start=found.start(),
        end=found.end(),
    )


def published(ground: Ground, device_id: str, compared: Comparison) -> str | None:
    """Return what a device publishes under a comparison's key, as text; or None."""
    device = ground.world.devices[device_id]
    table = device.capacity if compared.space == "capacity" else device.attributes
    value = table.get(f"{compared.domain}/{compared.key}")
    if not isinstance(value, dict):
        return None
    kind = {"quantity": "value", "semver": "version"}.get(compared.kind, compared.kind)
    found = value.get(kind)
    if found is None:
        return None
    return str(found).lower() if isinstance(found, bool) else str(found)


def size_of(kind: str, text: str) -> Sortable | None:
    """Return what a value is sorted by; None for what has no order."""
    try:
        if kind in {"quantity", "int"}:
            return parse_quantity(text)
        if kind == "semver":
            return tuple(int(part) for part in re.split(r"[-+]", text)[0].split("."))
    except (BadQuantity, ValueError):
        return None
    return None


def by_distance(compared: Comparison, values: Iterable[str]) -> list[str]:
    """Return the values that the comparison refuses, nearest to its literal first."""
    literal = size_of(compared.kind, compared.literal)
    sized = {value: size_of(compared.kind, value) for value in values}
    if literal is None or any(size is None for size in sized.values()):
        others = sorted((v for v in sized if v != compared.literal), reverse=True)
        return sorted(others, key=lambda value: -_alike(value, compared.literal))
    if isinstance(literal, Fraction):
        near = {
            v: abs(s - literal) for v, s in sized.items() if isinstance(s, Fraction)
        }
        return sorted(near, key=lambda value: (near[value], value))
    pairs = [(size, v) for v, size in sized.items() if isinstance(size, tuple)]
    down = compared.direction != "<"
    return [value for _size, value in sorted(pairs, reverse=down)]


def _alike(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other, autojunk=False).ratio()


def nearest(
    ground: Ground, failing: Iterable[str], compared: Comparison | None
) -> tuple[Near, ...]:
    """Return the values of devices that fail a comparison, nearest first, counted."""
    if compared is None:
        return ()
    counts = Counter(
        value
        for device in failing
        if (value := published(ground, device, compared)) is not None
    )
    ordered = by_distance(compared, counts)
    if compared.kind == "string":
        ordered = [value for value, _count in counts.most_common()]
    return tuple(
        Near(compared.key, shown(compared.kind, value), counts[value])
        for value in ordered[:MOST_NEAR]
    )


def shown(kind: str, value: str) -> str:
    """Return a value as people read it: `81559Mi` as `79.6Gi`."""
    size = size_of(kind, value)
    gib = 1024**3
    if kind != "quantity" or not isinstance(size, Fraction) or size < gib:
        return value
    whole = size / gib
    return f"{whole}Gi" if whole.denominator == 1 else f"{float(whole):.1f}Gi"

"""A filter of devices as a CEL selector that a claim can carry.

Source: the environment of CEL selectors, k8s.io/dynamic-resource-allocation/cel.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
# What binds less than `&&`.
_LOOSE = ("||", "?")


def selector_of(
    driver: str, attributes: Iterable[tuple[str, Any]], expression: str
) -> str:
    """Return what must all hold of a device, as one expression; "" for nothing.

    Args:
        driver: the only driver, or "".
        attributes: full key → the published entry, such as {"string": "gpu"}.
        expression: a CEL expression, or "".
    """
    parts = [f"device.driver == {_text(driver)}"] if driver else []
    parts += [part for key, entry in attributes if (part := _equals(key, entry))]
    if expression.strip():
        parts.append(expression.strip())
    if len(parts) == 1:
        return parts[0]
    return " &&\n".join(_bound(part) for part in parts)


def _bound(part: str) -> str:
    return f"({part})" if any(sign in part for sign in _LOOSE) else part


def _equals(key: str, entry: Any) -> str:
    """Return that an attribute has its published value; "" where CEL has no way."""
    domain, _slash, name = key.rpartition("/")
    if not isinstance(entry, dict) or not domain or not _NAME.match(name):
        return ""
    attribute = f"device.attributes[{_text(domain)}].{name}"
    kind, value = next(iter(entry.items()), ("", None))
    if kind == "string":
        return f"{attribute} == {_text(str(value))}"
    if kind == "version":
        return f"{attribute}.compareTo(semver({_text(str(value))})) == 0"
    if kind in ("int", "bool"):
        return f"{attribute} == {json.dumps(value)}"
    return ""


def _text(value: str) -> str:
    """Return a CEL string literal; CEL's escapes hold JSON's."""
    return json.dumps(value, ensure_ascii=False)

"""A CEL condition put together from what devices publish, guarded where some lack it.

Source: the environment of CEL selectors, k8s.io/dynamic-resource-allocation/cel:
capacities are quantities, versions semver values, and neither has `<` or `>=`.
"""

from __future__ import annotations

import json
import re

SIGNS = {
    "is": "==",
    "is-not": "!=",
    "at-least": ">=",
    "at-most": "<=",
}
OPERATORS = {
    "string": ("is", "is-not", "starts", "holds"),
    "int": ("is", "is-not", "at-least", "at-most"),
    "bool": ("is",),
    "version": ("at-least", "at-most", "is"),
    "quantity": ("at-least", "at-most", "is"),
}
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_CALLS = {"version": "semver", "quantity": "quantity"}
_METHODS = {"starts": "startsWith", "holds": "contains"}


class BadValue(ValueError):
    """A value that this kind of attribute cannot have."""


def condition(
    reference: str, kind: str, operator: str, value: str, *, guarded: bool
) -> str:
    """Return the condition as CEL.

    Args:
        reference: as in `device.attributes["gpu.nvidia.com"].profile`.
        kind: string, int, bool, version or quantity.
        operator: one of `OPERATORS` of that kind.
        value: what it is compared with, as typed.
        guarded: whether some devices lack the key.

    Raises:
        BadValue: The value or operator is none of that kind.
    """
    if operator not in OPERATORS.get(kind, ()):
        raise BadValue(operator)
    if kind == "bool":
        return _of_bool(reference, value, guarded=guarded)
    text = _compared(reference, kind, operator, value)
    return f"has({reference}) && {text}" if guarded else text


def _of_bool(reference: str, value: str, *, guarded: bool) -> str:
    if value not in ("true", "false"):
        raise BadValue(value)
    if guarded:
        head, _dot, name = reference.rpartition(".")
        default = "false" if value == "true" else "true"
        reference = f"{head}.?{name}.orValue({default})"
    return reference if value == "true" else f"!{reference}"


def _compared(reference: str, kind: str, operator: str, value: str) -> str:
    if kind == "int":
        if not _WHOLE.fullmatch(value):
            raise BadValue(value)
        return f"{reference} {SIGNS[operator]} {int(value)}"
    if not value:
        raise BadValue(value)
    literal = json.dumps(value, ensure_ascii=False)
    if kind in _CALLS:
        call = f"compareTo({_CALLS[kind]}({literal}))"
        return f"{reference}.{call} {SIGNS[operator]} 0"
    if operator in _METHODS:
        return f"{reference}.{_METHODS[operator]}({literal})"
    return f"{reference} {SIGNS[operator]} {literal}"

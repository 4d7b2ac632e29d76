"""Kubernetes quantities, exactly.

Source: k8s.io/apimachinery/pkg/api/resource Quantity: a signed decimal with a
binary suffix (Ki … Ei), a decimal one (n, u, m, k … E) or an exponent.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

GIB = 1024**3
# No amount of anything is written longer; sums of such still have a text.
LONGEST = 256

_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL = {
    "n": -9,
    "u": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
_SHAPE = re.compile(
    r"(?P<sign>[+-]?)(?P<digits>\d+(?:\.\d*)?|\.\d+)"
    r"(?:(?P<suffix>[KMGTPE]i|[numkMGTPE])|[eE](?P<exponent>[+-]?\d{1,3}))?\Z",
    re.ASCII,
)


class BadQuantity(ValueError):
    """A text that is no Kubernetes quantity."""


def parse_quantity(text: str | int) -> Fraction:
    """Return the exact value of a quantity such as `81559Mi`, `500m` or `3.35T`.

    Raises:
        BadQuantity: The text is no quantity.
    """
    if isinstance(text, int) and text.bit_length() > LONGEST:
        raise BadQuantity(f"a number of more than {LONGEST} bits is no quantity")
    shown = str(text)
    if len(shown) > LONGEST:
        raise BadQuantity(f"a text of more than {LONGEST} characters is no quantity")
    return _parsed(shown)


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Fraction:
    """Return a quantity; the devices of a cluster repeat a few of them."""
    found = _SHAPE.match(text)
    if not found:
        raise BadQuantity(f"{text!r} is no quantity; write for example 16Gi")
    value = Fraction(
        found["digits"] if found["digits"][-1] != "." else found["digits"] + "0"
    )
    if found["exponent"]:
        value *= Fraction(10) ** int(found["exponent"])
    elif found["suffix"] in _BINARY:
        value *= Fraction(1024) ** _BINARY[found["suffix"]]
    else:
        value *= Fraction(10) ** _DECIMAL[found["suffix"] or ""]
    return -value if found["sign"] == "-" else value


def quantity_or_zero(value: object) -> Fraction:
    """Return a quantity's value, and 0 for what is none; for sums, never for show."""
    try:
        return parse_quantity(value if isinstance(value, int) else str(value))
    except BadQuantity:
        return Fraction(0)


def is_quantity(text: str | int) -> bool:
    """Return whether a text or number is a quantity."""
    try:
        parse_quantity(text)
    except BadQuantity:
        return False
    return True


_LOOSE = re.compile(
    r"(?P<number>\d+(?:\.\d+)?)\s*(?P<prefix>[kmgtpe])(?P<binary>i?)b?", re.IGNORECASE
)


def normal_quantity(text: str) -> str | None:
    """Return a size such as `16GB`, `16 gib` or `16gi` as a quantity, or None.

    A lone `m` is left, since it means a thousandth.
    """
    found = _LOOSE.fullmatch(text.strip())
    if not found or text.strip().endswith("m") or len(text) > LONGEST:
        return None
    prefix = found["prefix"].upper()
    if found["binary"]:
        return f"{found['number']}{prefix}i"
    return found["number"] + (prefix.lower() if prefix == "K" else prefix)


def parse_bytes(text: str | int) -> int:
    """Return a quantity as whole bytes, rounded up as Kubernetes' Value() does.

    Raises:
        BadQuantity: The text is no quantity.
    """
    value = parse_quantity(text)
    return -(-value.numerator // value.denominator)


def format_gib(count: int | None) -> str:
    """Return bytes as GiB with one decimal and without a unit; "unknown" for None."""
    return "unknown" if count is None else f"{count / GIB:,.1f}"

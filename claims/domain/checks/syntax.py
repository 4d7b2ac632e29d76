"""Slips in CEL that another language lets through, put right.

What is put right is only offered where the compiler takes it.
"""

from __future__ import annotations

import re

# A value that a device publishes, as it is read with its domain.
LEFT = r"""(?P<left>device\.(?P<space>attributes|capacity)\[["'](?P<domain>[^"']+)["']\]\.(?P<key>[A-Za-z_]\w*))"""
STRINGS = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'""")
_FLAT = re.compile(
    r"""device\.(attributes|capacity)\[(["'])([^"'/]+)/([A-Za-z_]\w*)\2\]"""
)
_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'"})
# Between strings, in this order.
_SLIPS = [
    (re.compile(r"\band\b", re.IGNORECASE), "&&"),
    (re.compile(r"\bor\b", re.IGNORECASE), "||"),
    (re.compile(r"\bnot\b\s*", re.IGNORECASE), "!"),
    (re.compile(r"\bTrue\b"), "true"),
    (re.compile(r"\bFalse\b"), "false"),
    (re.compile(r"<>"), "!="),
    (re.compile(r"={3}"), "=="),
    (re.compile(r"(?<![=!<>])=(?!=)"), "=="),
    (re.compile(r"(?<!&)&(?!&)"), "&&"),
    (re.compile(r"(?<!\|)\|(?!\|)"), "||"),
]
_COMPARED = re.compile(
    LEFT
    + r"""\s*(?P<op>>=|<=|>|<)\s*"""
    + r"""(?P<call>(?:quantity|semver)\(\s*(?:"[^"]+"|'[^']+')\s*\))"""
)


def flat_key(expression: str) -> tuple[str, str] | None:
    """Return a key written as one string, and how it is written by domain."""
    found = _FLAT.search(expression)
    if not found:
        return None
    space, quote, domain, key = found.groups()
    return f"{domain}/{key}", f"device.{space}[{quote}{domain}{quote}].{key}"


def mended(expression: str) -> str | None:
    """Return the expression without its slips; None where there is none."""
    text = expression.translate(_QUOTES)
    text = _between_strings(text)
    text = _FLAT.sub(r"device.\1[\2\3\2].\4", text)
    text = _COMPARED.sub(r"\g<left>.compareTo(\g<call>) \g<op> 0", text)
    return text if text != expression else None


def _between_strings(text: str) -> str:
    pieces, at = [], 0
    for found in STRINGS.finditer(text):
        pieces += [_slips(text[at : found.start()]), found[0]]
        at = found.end()
    return "".join([*pieces, _slips(text[at:])])


def _slips(text: str) -> str:
    for slip, right in _SLIPS:
        text = slip.sub(right, text)
    return text

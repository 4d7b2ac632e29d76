"""A CEL expression taken apart at its top-level `&&`, so that one part can be blamed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_PARTS = 8
_OPEN, _CLOSE = "([{", ")]}"


def conjuncts(expression: str) -> list[str]:
    """Return the parts that must all hold; the whole where it cannot be taken apart.

    An expression with `||` or `?:` outside of brackets, a comment, or a string in
    three quotes stays whole.
    """
    whole = expression.strip()
    if '"""' in whole or "'''" in whole:
        return [whole]
    parts: list[str] = []
    start = 0
    for at, token in _outside(whole):
        if token in {"||", "?", "//"}:
            return [whole]
        if token == "&&":  # noqa: S105 - an operator
            parts.append(whole[start:at].strip())
            start = at + 2
    parts.append(whole[start:].strip())
    return parts if all(parts) and len(parts) <= MOST_PARTS else [whole]


def without_part(parts: list[str], at: int) -> str:
    """Return the expression without one part; empty where it was the only one."""
    return " && ".join(part for i, part in enumerate(parts) if i != at)


def with_part(parts: list[str], at: int, text: str) -> str:
    """Return the expression with one part replaced."""
    return " && ".join(text if i == at else part for i, part in enumerate(parts))


def _outside(text: str) -> Iterator[tuple[int, str]]:
    """Yield the operators that stand outside of strings and brackets."""
    depth, quote, at = 0, "", 0
    while at < len(text):
        letter = text[at]
        if quote:
            at += 1 if letter == "\\" else 0
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in _OPEN:
            depth += 1
        elif letter in _CLOSE:
            depth -= 1
        elif depth == 0 and (token := _operator(text, at)):
            yield at, token
            at += len(token) - 1
        at += 1


def _operator(text: str, at: int) -> str:
    if text[at : at + 2] in {"&&", "||", "//"}:
        return text[at : at + 2]
    # `.?key` and `[?key]` are optional lookups, not a choice.
    is_choice = text[at] == "?" and not text[:at].rstrip().endswith((".", "["))
    return "?" if is_choice else ""

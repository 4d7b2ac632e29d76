"""Documents as JSON, YAML or a table."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

Json = dict[str, Any]
Column = tuple[str, Callable[[Json], Any]]

GIB = 2**30
_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*\Z")
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def gib(number: float | None, *, at_least: bool = False) -> str:
    """Return bytes in GiB; unknown is a question mark, never zero."""
    if number is None:
        return "?"
    return f"{'≥' if at_least else ''}{number / GIB:.1f}Gi"


def table(rows: Iterable[Json], columns: Sequence[Column]) -> str:
    """Return rows in aligned columns under upper-case heads."""
    lines = [[head.upper() for head, _cell in columns]]
    lines += [[_text(cell(row)) for _head, cell in columns] for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) for cell, width in zip(line, widths, strict=True)
        ).rstrip()
        for line in lines
    )


def _text(value: Any) -> str:
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def to_json(document: Any) -> str:
    """Return JSON for people and programs."""
    return json.dumps(document, indent=2, ensure_ascii=False)


def to_yaml(document: Any) -> str:
    """Return block-style YAML; texts that could be read as something else are quoted."""
    return "\n".join(_yaml(document, 0))


def _yaml(value: Any, depth: int) -> Iterable[str]:
    pad = "  " * depth
    if isinstance(value, dict) and value:
        for key, each in value.items():
            yield from _entry(f"{pad}{_scalar(key)}:", each, depth)
    elif isinstance(value, list) and value:
        for each in value:
            first, *rest = list(_yaml(each, depth + 1))
            yield f"{pad}- {first.lstrip()}"
            yield from rest
    else:
        yield pad + _scalar(value)


def _entry(head: str, value: Any, depth: int) -> Iterable[str]:
    if isinstance(value, dict | list) and value:
        yield head
        yield from _yaml(value, depth + 1 if isinstance(value, dict) else depth)
    else:
        yield f"{head} {_scalar(value)}"


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.match(value) and value.lower() not in _WORDS:
        return value
    # YAML takes no control characters as they are, JSON takes some.
    shown = not isinstance(value, str) or value.replace("\n", "").isprintable()
    return json.dumps(value, ensure_ascii=not shown)

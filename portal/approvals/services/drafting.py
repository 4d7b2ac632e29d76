"""A policy as a form: one row a rule, texts as they were typed, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Json = dict[str, Any]

LISTS = ("device_classes", "namespaces", "tenants", "clusters", "days")
WHOLE = (
    *("min_devices", "from_hour", "to_hour"),
    *("approvals", "max_hours", "decide_within_hours", "idle_hours"),
)
NUMBERS = ("min_gib", "min_hours")
TEXTS = ("name", "effect", "role", "group", "admin_access")
COLUMNS = (*TEXTS, *LISTS, *WHOLE, *NUMBERS)
PREFIX = "rules"
MOST_RULES = 100


@dataclass(frozen=True, slots=True)
class RuleRow:
    """A rule as the form shows it; every value is the text in its field."""

    at: int
    values: Mapping[str, str]

    @property
    def number(self) -> int:
        """Its place, from 1."""
        return self.at + 1


def rows_of(documents: Iterable[Mapping[str, Any]]) -> list[RuleRow]:
    """Return rules as the rows of the form; what is at its default is left empty."""
    return [
        RuleRow(at, {name: _text(name, document.get(name)) for name in COLUMNS})
        for at, document in enumerate(documents)
    ]


def _text(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name in LISTS and isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if name == "admin_access":
        return {True: "true", False: "false"}.get(value, str(value))
    return str(value)


def documents_of(posted: Mapping[str, str]) -> list[Json]:
    """Return the rules that a form holds, as JSON; a text that is no number stays one."""
    found: list[Json] = []
    for at in range(MOST_RULES):
        key = f"{PREFIX}-{at}-"
        if f"{key}name" not in posted:
            break
        typed = {name: posted.get(f"{key}{name}", "").strip() for name in COLUMNS}
        found.append(
            {
                name: _value(name, text)
                for name, text in typed.items()
                if text or name in ("name", "effect")
            }
        )
    return found


def _value(name: str, text: str) -> Any:
    if name in LISTS:
        return [part.strip() for part in text.split(",") if part.strip()]
    if name == "admin_access":
        return {"true": True, "false": False}.get(text, text)
    try:
        if name in WHOLE:
            return int(text)
        return float(text) if name in NUMBERS else text
    except ValueError:
        return text


def edited(documents: Sequence[Json], action: str) -> list[Json]:
    """Return the rules after a button of the form: add, remove:N, up:N or down:N."""
    found = list(documents)
    verb, _colon, place = action.partition(":")
    if verb == "add":
        return [*found, {"name": "", "effect": "approve"}]
    at = int(place) if place.isdecimal() else -1
    if not 0 <= at < len(found):
        return found
    if verb == "remove":
        del found[at]
    other = at + {"up": -1, "down": 1}.get(verb, 0)
    if verb in ("up", "down") and 0 <= other < len(found):
        found[at], found[other] = found[other], found[at]
    return found

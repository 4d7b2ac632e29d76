"""What a preset lets change: each field of its form is locked, bounded or free.

Whatever a browser or a script sends, a draft is compared field by field with the
preset's own: a locked field that differs, or that is missing or added, is a breach.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from claims.domain.draft_fields import to_fields
from inventory.domain.quantity import parse_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from claims.domain.draft import Draft

# Where it goes, what it is called and why it is needed is always the person's own.
ALWAYS_FREE = ("name", "namespace", "justification", "hours")
NAMES = ("kind", "base", *ALWAYS_FREE)


@dataclass(frozen=True, slots=True)
class Rule:
    """What a field may be; without least and most it is free."""

    least: str = ""
    most: str = ""

    @property
    def is_bounded(self) -> bool:
        """Whether it has a least or a most."""
        return bool(self.least or self.most)


@dataclass(frozen=True, slots=True)
class Breach:
    """A field that a preset does not let be so: `preset.locked`, `.low`, `.high`, `.number`."""

    field: str
    code: str
    rule: Rule = Rule()


def rules_of(stored: Mapping[str, Any]) -> dict[str, Rule]:
    """Return the rules of fields from their stored shape: `{"min", "max"}` by field."""
    return {
        name: Rule(str(body.get("min", "")), str(body.get("max", "")))
        for name, body in stored.items()
    }


def breaches(preset: Draft, sent: Draft, rules: Mapping[str, Rule]) -> list[Breach]:
    """Return what of a draft its preset does not allow, in the form's order."""
    before, after = to_fields(preset), to_fields(sent)
    return [
        breach
        for name in dict.fromkeys([*before, *after])
        if name not in ALWAYS_FREE
        for breach in _breach(name, before.get(name), after.get(name), rules.get(name))
    ]


def _breach(
    name: str, before: list[str] | None, after: list[str] | None, rule: Rule | None
) -> Iterator[Breach]:
    if rule is None or after is None or before is None:
        if before != after:
            yield Breach(name, "preset.locked")
    elif rule.is_bounded and (code := _outside(after[-1], rule)):
        yield Breach(name, code, rule)


def _outside(text: str, rule: Rule) -> str:
    """Return why a number or quantity lies outside a rule, or ""."""
    try:
        value = parse_quantity(text)
    except ValueError:
        return "preset.number"
    if rule.least and value < parse_quantity(rule.least):
        return "preset.low"
    if rule.most and value > parse_quantity(rule.most):
        return "preset.high"
    return ""


def rule_problem(fields: Mapping[str, list[str]], name: str, rule: Rule) -> str:
    """Return what is wrong with a rule of a preset, as a code, or ""."""
    if name not in fields or name in NAMES:
        return "preset.field"
    if not rule.is_bounded:
        return ""
    try:
        least = parse_quantity(rule.least) if rule.least else None
        most = parse_quantity(rule.most) if rule.most else None
    except ValueError:
        return "preset.bound"
    if least is not None and most is not None and least > most:
        return "preset.bounds"
    return "preset.default" if _outside(fields[name][-1], rule) else ""

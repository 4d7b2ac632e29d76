"""The invariants, in plain code: what a rule finds in a review, from facts.

A rule is data: a kind, what it does with what it finds, and its parameters.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from claims.domain.manifest import asks_admin_access, class_names, device_requests
from portal.admission.domain.review import CLAIM, DEVICE_CLASS, POD, TEMPLATE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from portal.admission.domain.review import Review

Json = dict[str, Any]


class GuardKind(StrEnum):
    """What a rule looks at; the spelling is stored and part of the API."""

    ADMIN_ACCESS = "admin-access"
    LIMITS = "limits"
    FORBIDDEN = "forbidden"
    DIAGNOSTICS = "diagnostics"
    BUDGETS = "budgets"


# What these let through counts against what comes after it.
COUNTED = frozenset({GuardKind.ADMIN_ACCESS, GuardKind.LIMITS, GuardKind.BUDGETS})


class GuardMode(StrEnum):
    """What becomes of what a rule finds."""

    OFF = "off"
    WARN = "warn"
    DENY = "deny"


class FailurePolicy(StrEnum):
    """What the API server does with a review when nobody answers it."""

    FAIL = "Fail"
    IGNORE = "Ignore"


class BadRule(ValueError):
    """A rule's parameters cannot be used; the text says which and why."""


_LISTS = {
    GuardKind.ADMIN_ACCESS: frozenset[str](),
    GuardKind.LIMITS: frozenset({"namespaces"}),
    GuardKind.FORBIDDEN: frozenset({"namespaces", "classes", "selectors"}),
    GuardKind.DIAGNOSTICS: frozenset({"namespaces", "codes"}),
    GuardKind.BUDGETS: frozenset({"namespaces"}),
}
_NUMBERS = {
    GuardKind.ADMIN_ACCESS: frozenset({"maxClaims"}),
    GuardKind.LIMITS: frozenset({"vramGib", "devices", "claims"}),
    GuardKind.FORBIDDEN: frozenset[str](),
    GuardKind.DIAGNOSTICS: frozenset[str](),
    GuardKind.BUDGETS: frozenset[str](),
}
LARGEST = 10_000_000
MOST_ENTRIES = 200
DEFAULT_MAX_CLAIMS = 32


@dataclass(frozen=True, slots=True)
class GuardRule:
    """A rule in force.

    Attributes:
        id: its stable name, which messages carry.
        params: as `check_params` lets through.
    """

    id: str
    kind: GuardKind
    mode: GuardMode
    params: Json = field(default_factory=dict)
    failure_policy: FailurePolicy = FailurePolicy.IGNORE

    def covers(self, namespace: str) -> bool:
        """Return whether it speaks of a namespace; all where it names none."""
        patterns = self.params.get("namespaces") or ["*"]
        return any(fnmatchcase(namespace, pattern) for pattern in patterns)


def check_params(kind: GuardKind, params: Any) -> Json:
    """Return a rule's parameters as they are stored.

    Raises:
        BadRule: One is unknown, or not of its type.
    """
    if not isinstance(params, dict):
        raise BadRule("params must be an object.")
    lists, numbers = _LISTS[kind], _NUMBERS[kind]
    for key, value in params.items():
        if key in lists:
            _check_list(key, value)
        elif key in numbers:
            _check_number(key, value)
        else:
            known = ", ".join(sorted(lists | numbers))
            raise BadRule(f"{key} is no parameter of {kind}: use {known}.")
    if kind is GuardKind.LIMITS and not numbers & set(params):
        raise BadRule("A limit needs one of vramGib, devices and claims.")
    if kind is GuardKind.FORBIDDEN and not (
        params.get("classes") or params.get("selectors")
    ):
        raise BadRule("Name what is forbidden in classes or selectors.")
    return dict(params)


def _check_list(key: str, value: Any) -> None:
    is_texts = isinstance(value, list) and all(
        isinstance(each, str) and 0 < len(each) <= 1024 for each in value
    )
    if not is_texts or len(value) > MOST_ENTRIES:
        raise BadRule(f"{key} must be a list of at most {MOST_ENTRIES} texts.")


def _check_number(key: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadRule(f"{key} must be a whole number.")
    if not 0 <= value <= LARGEST:
        raise BadRule(f"{key} must be between 0 and {LARGEST}.")


@dataclass(frozen=True, slots=True)
class Breach:
    """What one rule found.

    Attributes:
        code: stable, dotted.
        values: what its sentence speaks of.
    """

    rule: str
    mode: GuardMode
    code: str
    values: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Amounts:
    """What claims ask for, or hold; `vram` in bytes, None where it is not known."""

    devices: int = 0
    vram: int | None = 0
    claims: int = 0


def forbidden_breaches(rule: GuardRule, review: Review) -> Iterator[Breach]:
    """Yield forbidden classes and selectors that a claim or template asks for."""
    if review.kind == DEVICE_CLASS or not rule.covers(review.namespace):
        return
    for name in class_names(review.body):
        if any(fnmatchcase(name, each) for each in rule.params.get("classes") or ()):
            yield Breach(rule.id, rule.mode, "forbidden.class", {"name": name})
    for text in expressions(review.body):
        squeezed = "".join(text.split())
        for each in rule.params.get("selectors") or ():
            if "".join(each.split()) in squeezed:
                values = {"text": each}
                yield Breach(rule.id, rule.mode, "forbidden.selector", values)


def expressions(body: Json) -> Iterator[str]:
    """Yield every CEL expression of a claim or template."""
    for asked in device_requests(body):
        for selector in asked.get("selectors") or []:
            yield str((selector.get("cel") or {}).get("expression") or "")


def limit_breaches(
    rule: GuardRule, namespace: str, held: Amounts, asked: Amounts
) -> Iterator[Breach]:
    """Yield which limits of a namespace a claim would break."""
    values: Json = {"namespace": namespace}
    pairs: Sequence[tuple[str, int | None, int | None, int]] = (
        ("devices", held.devices, asked.devices, 1),
        ("claims", held.claims, asked.claims, 1),
        ("vramGib", held.vram, asked.vram, 1024**3),
    )
    for key, has, wants, unit in pairs:
        limit = rule.params.get(key)
        if limit is None:
            continue
        if has is None or wants is None:
            code = "limits.vram_unknown"
            yield Breach(rule.id, rule.mode, code, {**values, "limit": limit})
        elif wants and has + wants > limit * unit:
            found = {"limit": limit, "held": _in(has, unit), "asked": _in(wants, unit)}
            code = f"limits.{key.lower().removesuffix('gib')}"
            yield Breach(rule.id, rule.mode, code, {**values, **found})


def _in(amount: int, unit: int) -> int | float:
    return amount if unit == 1 else round(amount / unit, 1)


def diagnostic_breaches(
    rule: GuardRule, findings: Sequence[tuple[str, str, str]]
) -> Iterator[Breach]:
    """Yield findings as breaches of the rule that asks for them.

    Args:
        rule: names codes, or none for all.
        findings: (code, path, sentence) each.
    """
    codes = rule.params.get("codes")
    for code, path, sentence in findings:
        if not codes or code in codes:
            values = {"code": code, "path": path, "sentence": sentence}
            yield Breach(rule.id, rule.mode, "diagnostics.found", values)


def concerns(rule: GuardRule, review: Review) -> bool:
    """Return whether a rule has anything to look at in a review."""
    if rule.mode is GuardMode.OFF:
        return False
    if rule.kind is GuardKind.ADMIN_ACCESS:
        return review.kind in {CLAIM, TEMPLATE} and asks_admin_access(review.body)
    if rule.kind is GuardKind.DIAGNOSTICS:
        return review.kind == DEVICE_CLASS or (
            review.kind in {CLAIM, TEMPLATE} and rule.covers(review.namespace)
        )
    if rule.kind in {GuardKind.LIMITS, GuardKind.BUDGETS}:
        return review.kind in {CLAIM, POD} and rule.covers(review.namespace)
    return review.kind in {CLAIM, TEMPLATE, POD} and rule.covers(review.namespace)

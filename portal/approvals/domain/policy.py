"""Policy as data: which requests pass, which need whose approval, which are denied.

Rules are tried in order and the first that applies decides. Each condition says
why it does or does not apply, so that a ruling can be explained. Administrative
access is never waved through: rules that would let it pass are skipped for it,
and where nothing else applies, the built-in rule does. What is not known (the
VRAM of devices that publish none) counts as too much, never as zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any, Self

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
DECIDERS = ("approver", "admin")


class Effect(StrEnum):
    """What a rule does to a request that it applies to."""

    AUTO = "auto"
    APPROVE = "approve"
    DENY = "deny"


class BadPolicy(ValueError):
    """A rule that cannot be used; its text says which, and what to do."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What policy looks at.

    Attributes:
        device_classes: of any alternative.
        devices: the largest number over the alternatives; All counts as 32.
        gib: VRAM asked for, or None where it is not known.
        hours: how long; None for without end.
        at: when it is asked, in the portal's time zone.
    """

    cluster: str
    namespace: str
    tenant: str
    device_classes: frozenset[str]
    devices: int
    gib: float | None
    hours: float | None
    admin_access: bool
    at: datetime


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule; a condition left at its default applies to everything.

    Attributes:
        admin_access: only requests that ask for it, or that do not; None for both.
        device_classes, namespaces, tenants, clusters: patterns with * and ?.
        min_devices, min_gib, min_hours: only requests of at least so much.
        days, from_hour, to_hour: only requests made then; an end before the
            beginning goes over midnight.
        approvals: how many people must agree.
        role: whose role they must have; "" for whoever may decide.
        group: the tenant whose members they must be, too; "" for no matter which.
        max_hours: the longest that may be granted.
        decide_within_hours: after which an undecided request expires.
        idle_hours: after which devices that no pod uses are released, once their
            owner was told; None for never.
    """

    name: str
    effect: Effect
    admin_access: bool | None = None
    device_classes: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    tenants: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    min_devices: int = 0
    min_gib: float = 0
    min_hours: float = 0
    days: tuple[str, ...] = ()
    from_hour: int = 0
    to_hour: int = 24
    approvals: int = 1
    role: str = ""
    group: str = ""
    max_hours: int | None = None
    decide_within_hours: int = 72
    idle_hours: int | None = None

    def document(self) -> dict[str, Any]:
        """Return the rule as JSON, without what is at its default."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        kept = {
            each.name: found[each.name]
            for each in fields(self)
            if found[each.name] != each.default
        }
        return {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in kept.items()
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Return the rule that a JSON object says.

        Raises:
            BadPolicy: It is none.
        """
        name = document.get("name")
        if not isinstance(name, str) or not name:
            raise BadPolicy("A rule has no name: give each one, such as “large”.")
        known = {each.name: each for each in fields(cls)}
        if unknown := sorted(set(document) - set(known)):
            raise BadPolicy(
                f"Rule {name}: {', '.join(unknown)} is not known; known are:"
                f" {', '.join(known)}."
            )
        values = dict(document)
        for key, value in values.items():
            values[key] = _typed(name, key, value)
        rule = cls(**values)
        rule._check()
        return rule

    def _check(self) -> None:
        if self.effect is Effect.APPROVE and self.approvals < 1:
            raise BadPolicy(f"Rule {self.name}: approvals must be 1 or more.")
        if self.role and self.role not in DECIDERS:
            raise BadPolicy(
                f"Rule {self.name}: role must be one of {', '.join(DECIDERS)}, or empty."
            )
        if set(self.days) - set(DAYS):
            raise BadPolicy(f"Rule {self.name}: days are {', '.join(DAYS)}.")
        if not (0 <= self.from_hour <= 24 and 0 <= self.to_hour <= 24):
            raise BadPolicy(f"Rule {self.name}: hours of the day go from 0 to 24.")
        lasting = 1 if self.max_hours is None else self.max_hours
        idle = 1 if self.idle_hours is None else self.idle_hours
        if self.decide_within_hours < 1 or lasting < 1 or idle < 1:
            raise BadPolicy(f"Rule {self.name}: lengths of time are 1 hour or more.")


_TUPLES = frozenset({"device_classes", "namespaces", "tenants", "clusters", "days"})
_NUMBERS = frozenset({"min_gib", "min_hours"})
_WHOLE = frozenset(
    {
        *("min_devices", "from_hour", "to_hour"),
        *("approvals", "max_hours", "decide_within_hours", "idle_hours"),
    }
)


def _typed(rule: str, key: str, value: Any) -> Any:
    """Return a value of a document as the rule wants it."""
    if key in _TUPLES:
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            raise BadPolicy(f"Rule {rule}: {key} must be a list of texts.")
        return tuple(value)
    if key == "effect":
        if value not in tuple(Effect):
            raise BadPolicy(f"Rule {rule}: effect must be one of {', '.join(Effect)}.")
        return Effect(value)
    _check_type(rule, key, value)
    return value


def _check_type(rule: str, key: str, value: Any) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if key in _WHOLE and not (is_number and value == int(value)):
        raise BadPolicy(f"Rule {rule}: {key} must be a whole number.")
    if key in _NUMBERS and not is_number:
        raise BadPolicy(f"Rule {rule}: {key} must be a number.")
    if key == "admin_access" and not isinstance(value, bool):
        raise BadPolicy(f"Rule {rule}: admin_access must be true or false.")
    if key in ("role", "group") and not isinstance(value, str):
        raise BadPolicy(f"Rule {rule}: {key} must be a text.")


@dataclass(frozen=True)
class Policy:
    """An ordered list of rules; version 0 is the built-in one."""

    version: int
    rules: tuple[Rule, ...]


@dataclass(frozen=True)
class Reason:
    """One condition of a rule that decided: its code, and the values in it.

    The codes are `admin_access`, `device_classes`, `namespaces`, `tenants`,
    `clusters`, `min_devices`, `min_gib`, `gib_unknown`, `min_hours`, `endless`,
    `time`, and `always` for a rule without conditions.
    """

    code: str
    wanted: str = ""
    found: str = ""


@dataclass(frozen=True)
class Judgement:
    """The rule that decided, and why it applies."""

    rule: Rule
    reasons: tuple[Reason, ...]


ADMIN_ACCESS = Rule(
    name="admin-access",
    effect=Effect.APPROVE,
    admin_access=True,
    approvals=2,
    max_hours=24 * 7,
    decide_within_hours=24,
)
ALL_ELSE = Rule(name="all-else", effect=Effect.AUTO)
BUILT_IN = Policy(0, (ADMIN_ACCESS, ALL_ELSE))


def judge(policy: Policy, asked: Asked) -> Judgement:
    """Return the first rule that applies to a request, and why."""
    for rule in policy.rules:
        if asked.admin_access and rule.effect is Effect.AUTO:
            continue
        reasons = _reasons(rule, asked)
        if reasons is not None:
            return Judgement(rule, reasons)
    last = ADMIN_ACCESS if asked.admin_access else ALL_ELSE
    return Judgement(last, _reasons(last, asked) or ())


def _reasons(rule: Rule, asked: Asked) -> tuple[Reason, ...] | None:
    """Return why a rule applies, or None where a condition of it does not hold."""
    reasons: list[Reason] = []
    for reason in _conditions(rule, asked):
        if reason is None:
            return None
        reasons.append(reason)
    return tuple(reasons) or (Reason("always"),)


def _conditions(rule: Rule, asked: Asked) -> Iterator[Reason | None]:
    """Yield each condition that a rule has: a reason where it holds, else None."""
    if rule.admin_access is not None:
        holds = rule.admin_access == asked.admin_access
        yield Reason("admin_access") if holds else None
    yield from _pattern_conditions(rule, asked)
    if rule.min_devices:
        holds = asked.devices >= rule.min_devices
        yield _least("min_devices", rule.min_devices, asked.devices) if holds else None
    yield from _size_conditions(rule, asked)
    if rule.days or (rule.from_hour, rule.to_hour) != (0, 24):
        yield Reason("time", _hours_text(rule)) if _is_then(rule, asked.at) else None


def _pattern_conditions(rule: Rule, asked: Asked) -> Iterator[Reason | None]:
    for code, patterns, values in (
        ("device_classes", rule.device_classes, asked.device_classes),
        ("namespaces", rule.namespaces, {asked.namespace}),
        ("tenants", rule.tenants, {asked.tenant}),
        ("clusters", rule.clusters, {asked.cluster}),
    ):
        if patterns:
            hits = [
                v for v in sorted(values) if any(fnmatchcase(v, p) for p in patterns)
            ]
            yield Reason(code, ", ".join(patterns), ", ".join(hits)) if hits else None


def _size_conditions(rule: Rule, asked: Asked) -> Iterator[Reason | None]:
    if rule.min_gib:
        if asked.gib is None:
            yield Reason("gib_unknown", _short(rule.min_gib))
        else:
            holds = asked.gib >= rule.min_gib
            yield _least("min_gib", rule.min_gib, asked.gib) if holds else None
    if rule.min_hours:
        if asked.hours is None:
            yield Reason("endless", _short(rule.min_hours))
        else:
            holds = asked.hours >= rule.min_hours
            yield _least("min_hours", rule.min_hours, asked.hours) if holds else None


def _least(code: str, wanted: float, found: float) -> Reason:
    return Reason(code, _short(wanted), _short(found))


def _short(number: float) -> str:
    return f"{number:.4g}" if number != int(number) else str(int(number))


def _is_then(rule: Rule, at: datetime) -> bool:
    if rule.days and DAYS[at.weekday()] not in rule.days:
        return False
    if rule.from_hour <= rule.to_hour:
        return rule.from_hour <= at.hour < rule.to_hour
    return at.hour >= rule.from_hour or at.hour < rule.to_hour


def _hours_text(rule: Rule) -> str:
    days = ", ".join(rule.days)
    hours = f"{rule.from_hour:02}:00–{rule.to_hour:02}:00"
    return f"{days} {hours}".strip()

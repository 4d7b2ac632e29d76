"""A draft read as a claim: every reason why it is none yet.

The rules are those of the API server's own validation (resource.k8s.io/v1),
found before it is asked; a finding names the field of the form that it is about.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from claims.domain import opaque
from claims.domain.draft import (
    DISTINCT,
    EXACTLY,
    FIRST_AVAILABLE,
    MATCH,
    PAIRS,
    alternative_field,
    config_field,
    constraint_field,
    pair_field,
    places,
    request_field,
)
from claims.domain.spec import (
    MAX_ALTERNATIVES,
    MAX_CONFIGS,
    MAX_CONSTRAINTS,
    MAX_DERIVED,
    MAX_DEVICES,
    MAX_EXPRESSION_BYTES,
    MAX_PAIRS,
    MAX_REQUESTS,
    MAX_SELECTORS,
    MAX_TOLERATIONS,
    AllocationMode,
    Kind,
)
from inventory.domain.quantity import BadQuantity, parse_quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from claims.domain.draft import (
        AlternativeDraft,
        ConfigDraft,
        ConstraintDraft,
        Draft,
        Pairs,
        RequestDraft,
        TolerationDraft,
    )


_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
)
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}")
MAX_JUSTIFICATION = 2000
MAX_HOURS = 24 * 90
_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_OPERATORS = ("Exists", "Equal")
_EFFECTS = ("", "NoSchedule", "NoExecute", "None")


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason why a draft is no claim yet: a code with its values, and a field."""

    field: str
    code: str
    values: dict[str, str | int] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reading:
    """Every reason why a draft is no claim yet; none where it is one."""

    findings: tuple[Finding, ...]

    @property
    def is_claim(self) -> bool:
        """Whether it may be sent as it stands."""
        return not self.findings


def read(
    draft: Draft, *, namespaces: Collection[str], classes: Collection[str]
) -> Reading:
    """Read a draft.

    Args:
        draft: what was typed.
        namespaces: those in which this person may ask.
        classes: the DeviceClasses that the cluster has.
    """
    return _Reader(frozenset(namespaces), frozenset(classes)).read(draft)


def hours_of(text: str) -> int | None:
    """Return a number of hours as typed, 1 to 90 days, or None where it is none."""
    if not (text.isascii() and text.isdecimal() and len(text) < 6):
        return None
    return int(text) if 1 <= int(text) <= MAX_HOURS else None


class _Reader:
    """Collects findings; every field is looked at, once."""

    def __init__(self, namespaces: frozenset[str], classes: frozenset[str]) -> None:
        self.namespaces = namespaces
        self.classes = classes
        self.findings: list[Finding] = []

    def read(self, draft: Draft) -> Reading:
        self._choice("kind", draft.kind, tuple(Kind))
        if draft.name:
            self._name("name", draft.name, _SUBDOMAIN, 253)
        else:
            self._find("name", "claim.no_name")
        if draft.namespace not in self.namespaces:
            code = "namespace.not_yours" if draft.namespace else "namespace.empty"
            self._find("namespace", code, value=draft.namespace)
        if not draft.requests:
            self._find("requests", "requests.none")
        self._most(request_field(0, "name"), draft.requests, MAX_REQUESTS)
        self._most(constraint_field(0, "attribute"), draft.constraints, MAX_CONSTRAINTS)
        self._most(config_field(0, "driver"), draft.configs, MAX_CONFIGS)
        for i, row in enumerate(draft.requests):
            self._request(i, row)
        self._unique(
            [row.name for row in draft.requests], lambda i: request_field(i, "name")
        )
        self._lasting(draft)
        names = places(draft)
        for i, constraint in enumerate(draft.constraints):
            self._constraint(i, constraint, names)
        for i, config in enumerate(draft.configs):
            self._config(i, config, names)
        for attribute, group in PAIRS.items():
            self._pairs(group, getattr(draft, attribute))
        return Reading(tuple(self.findings))

    def _pairs(self, group: str, pairs: Pairs) -> None:
        """Find keys and, of labels, values that the API server refuses."""
        self._most(pair_field(group, 0, "key"), pairs, MAX_PAIRS)
        keys = [key for key, _value in pairs]
        self._unique(keys, lambda k: pair_field(group, k, "key"))
        for k, (key, value) in enumerate(pairs):
            where = pair_field(group, k, "key")
            if key and not _qualified(key, domain_needed=False, longest=63):
                self._find(where, "pair.key", value=key[:80])
            elif value and not key:
                self._find(where, "pair.no_key", value=value[:80])
            is_label = group.endswith("labels")
            if is_label and value and not _LABEL_VALUE.fullmatch(value):
                self._find(
                    pair_field(group, k, "value"), "pair.value", value=value[:80]
                )

    def _config(self, i: int, row: ConfigDraft, names: dict[str, str]) -> None:
        where = config_field(i, "driver")
        if not row.driver:
            self._find(where, "config.driver")
        elif len(row.driver) > 63 or not _SUBDOMAIN.fullmatch(row.driver):
            self._find(where, "config.driver_shape", value=row.driver[:80])
        self._choice(config_field(i, "form"), row.form, ("", *opaque.FORMS))
        for part, code, values in opaque.faults(row):
            self._find(config_field(i, part), code, **values)
        self._bound(config_field(i, "binds"), row.binds, names)

    def _lasting(self, draft: Draft) -> None:
        """Find what administrative access lacks: a reason, and an end."""
        if draft.is_privileged and not draft.justification:
            self._find("justification", "admin.justification")
        if len(draft.justification) > MAX_JUSTIFICATION:
            self._find("justification", "admin.long", limit=MAX_JUSTIFICATION)
        text = draft.lasting
        if hours_of(text) is None and (text or draft.is_privileged):
            self._find("hours", "admin.hours", value=text[:20], limit=MAX_HOURS)

    def _find(self, where: str, code: str, **values: str | int) -> None:
        self.findings.append(Finding(where, code, values))

    def _choice(self, where: str, value: str, known: tuple[str, ...]) -> str:
        if value in known:
            return value
        self._find(where, "choice.unknown", value=value[:80], known=", ".join(known))
        return known[0]

    def _most(self, where: str, rows: Sequence[object], limit: int) -> None:
        if len(rows) > limit:
            self._find(where, "paste.too_many", count=len(rows), limit=limit)

    def _name(
        self, where: str, name: str, shape: re.Pattern[str], longest: int
    ) -> None:
        if not name:
            self._find(where, "name.empty")
        elif "/" in name:
            self._find(where, "name.slash", value=name[:80])
        elif len(name) > longest:
            self._find(where, "name.too_long", length=len(name), limit=longest)
        elif not shape.fullmatch(name):
            dots = "name.shape_dots" if shape is _SUBDOMAIN else "name.shape"
            self._find(where, dots, value=name[:80])

    def _unique(self, names: list[str], where: Callable[[int], str]) -> None:
        for at, name in enumerate(names):
            if name and name in names[:at]:
                self._find(where(at), "name.twice", value=name[:80])

    def _request(self, i: int, row: RequestDraft) -> None:
        self._name(request_field(i, "name"), row.name, _LABEL, 63)
        where = request_field(i, "mode")
        mode = self._choice(where, row.mode, (EXACTLY, FIRST_AVAILABLE))
        if not row.alternatives:
            self._find(where, "alternatives.none")
        if len(row.alternatives) > MAX_ALTERNATIVES:
            self._find(where, "alternatives.many", limit=MAX_ALTERNATIVES)
        if mode == EXACTLY and len(row.alternatives) > 1:
            self._find(where, "alternatives.exactly")
        if mode == FIRST_AVAILABLE:
            self._unique(
                [alternative.name for alternative in row.alternatives],
                lambda j: alternative_field(i, j, "name"),
            )
        for j, alternative in enumerate(row.alternatives):
            if mode == FIRST_AVAILABLE:
                self._listed(i, j, alternative)
            self._asked(i, j, alternative)

    def _listed(self, i: int, j: int, row: AlternativeDraft) -> None:
        self._name(alternative_field(i, j, "name"), row.name, _LABEL, 63)
        if row.admin_access:
            self._find(alternative_field(i, j, "admin"), "admin.alternative")

    def _asked(self, i: int, j: int, row: AlternativeDraft) -> None:
        where = alternative_field(i, j, "class")
        if not row.device_class:
            self._find(where, "class.empty")
        elif row.device_class not in self.classes:
            self._find(where, "class.missing", value=row.device_class[:80])
        selectors = alternative_field(i, j, "selectors-0")
        self._most(selectors, row.selectors, MAX_SELECTORS)
        tolerations = alternative_field(i, j, "tolerations-0-key")
        self._most(tolerations, row.tolerations, MAX_TOLERATIONS)
        mode = self._choice(
            alternative_field(i, j, "mode"), row.allocation_mode, tuple(AllocationMode)
        )
        if mode == AllocationMode.EXACT_COUNT:
            self._count(i, j, row.count)
        self._selectors(i, j, row.selectors)
        for k, each in enumerate(row.tolerations):
            self._toleration(i, j, k, each)
        self._capacity(i, j, row.capacity)
        self._derived(i, j, row.derived)

    def _count(self, i: int, j: int, text: str) -> None:
        if re.fullmatch(r"[0-9]{1,6}", text) and 1 <= int(text) <= MAX_DEVICES:
            return
        where = alternative_field(i, j, "count")
        self._find(where, "count.range", value=text[:20], limit=MAX_DEVICES)

    def _selectors(self, i: int, j: int, texts: tuple[str, ...]) -> None:
        for k, text in enumerate(texts):
            size = len(text.encode())
            where = alternative_field(i, j, f"selectors-{k}")
            if size > MAX_EXPRESSION_BYTES:
                self._find(where, "cel.too_long", size=size, limit=MAX_EXPRESSION_BYTES)
            elif unprintable := _UNPRINTABLE.search(text):
                self._find(
                    where, "cel.unprintable", value=f"U+{ord(unprintable[0]):04X}"
                )

    def _toleration(self, i: int, j: int, k: int, row: TolerationDraft) -> None:
        prefix = f"tolerations-{k}"
        operator = self._choice(
            alternative_field(i, j, f"{prefix}-operator"), row.operator, _OPERATORS
        )
        self._choice(alternative_field(i, j, f"{prefix}-effect"), row.effect, _EFFECTS)
        key = alternative_field(i, j, f"{prefix}-key")
        if row.key and not _qualified(row.key, domain_needed=False, longest=63):
            self._find(key, "toleration.key", value=row.key[:80])
        if operator == "Equal" and not row.key:
            self._find(key, "toleration.key_needed")
        if operator == "Exists" and row.value:
            self._find(alternative_field(i, j, f"{prefix}-value"), "toleration.value")
        if row.seconds:
            self._seconds(alternative_field(i, j, f"{prefix}-seconds"), row)

    def _derived(self, i: int, j: int, rows: Pairs) -> None:
        self._most(alternative_field(i, j, "derived-0-name"), rows, MAX_DERIVED)
        for k, (name, expression) in enumerate(rows):
            where = alternative_field(i, j, f"derived-{k}-name")
            if not name:
                self._find(where, "derived.name")
            if not expression:
                self._find(
                    alternative_field(i, j, f"derived-{k}-expression"), "derived.empty"
                )

    def _seconds(self, where: str, row: TolerationDraft) -> None:
        if not re.fullmatch(r"-?[0-9]{1,18}", row.seconds):
            self._find(where, "toleration.seconds", value=row.seconds[:20])
        elif row.effect not in ("NoExecute", ""):
            self._find(where, "toleration.seconds_effect")

    def _capacity(self, i: int, j: int, rows: Pairs) -> None:
        for k, (key, text) in enumerate(rows):
            where = alternative_field(i, j, f"capacity-{key}")
            if key in [earlier for earlier, _ in rows[:k]]:
                self._find(where, "capacity.twice", value=key[:80])
            try:
                if parse_quantity(text) < 0:
                    self._find(where, "capacity.negative", value=text[:40])
            except BadQuantity:
                self._find(where, "capacity.quantity", value=text[:40])

    def _constraint(self, i: int, row: ConstraintDraft, names: dict[str, str]) -> None:
        self._choice(constraint_field(i, "kind"), row.kind, (MATCH, DISTINCT))
        where = constraint_field(i, "attribute")
        if not row.attribute:
            self._find(where, "attribute.empty")
        elif not _qualified(row.attribute, domain_needed=True, longest=32):
            self._find(where, "attribute.shape", value=row.attribute[:80])
        self._bound(constraint_field(i, "binds"), row.binds, names)

    def _bound(self, where: str, binds: tuple[str, ...], names: dict[str, str]) -> None:
        if any(place not in names for place in binds):
            self._find(where, "binds.unknown")


_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def _qualified(name: str, *, domain_needed: bool, longest: int) -> bool:
    """Return whether `name` is an identifier with, or possibly without, a domain."""
    domain, slash, identifier = name.rpartition("/")
    if not slash:
        domain_fits = not domain_needed
    else:
        domain_fits = len(domain) <= 63 and _SUBDOMAIN.fullmatch(domain) is not None
    if longest == 32:
        return domain_fits and _IDENTIFIER.fullmatch(identifier) is not None
    return (
        domain_fits
        and re.fullmatch(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", identifier)
        is not None
    )

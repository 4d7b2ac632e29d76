"""What a check finds, and the catalogue of codes with their levels.

Codes and levels are stable and part of the API. **error**: the API server
refuses it, or it breaks scheduling whatever is free. **warning**: it cannot be
had now, or is hardly meant. **info**: good to know. Only errors stop submission.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


class Level(StrEnum):
    """How bad a finding is."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


_E, _W, _I = Level.ERROR, Level.WARNING, Level.INFO

CATALOGUE: dict[str, Level] = {
    "claim.invalid": _E,
    "cel.compile": _E,
    "cel.cost": _E,
    "cel.too_long": _E,
    "cel.bad_semver": _E,
    "cel.key_published_by_none": _E,
    "cel.key_other_domain": _E,
    "cel.runtime_missing_key": _W,
    "cel.runtime_error": _W,
    "cel.slow": _I,
    "first_available.cel_error": _E,
    "first_available.all": _W,
    "first_available.per_node": _I,
    "class.missing": _E,
    "class.extended_clash": _W,
    "class.mixed_types": _W,
    "claim.too_many_devices": _E,
    "claim.reserved_for_limit": _E,
    "claim.odd": _W,
    "constraint.unsupported": _E,
    "constraint.no_effect": _W,
    "constraint.key_missing": _W,
    "constraint.parent_request": _W,
    "constraint.list_type": _W,
    "constraint.distinct": _W,
    "constraint.unmet": _W,
    "capacity.key_mismatch": _E,
    "capacity.range": _E,
    "capacity.default_is_all": _W,
    "capacity.whole_device": _W,
    "capacity.rounded": _I,
    "counters.shared_once": _I,
    "all.per_node": _I,
    "admin.namespace_label": _E,
    "admin.namespace_label_value": _E,
    "admin.same_device_twice": _E,
    "admin.taint_blocks": _W,
    "admin.counters_exhausted": _W,
    "admin.capacity_exhausted": _W,
    "admin.label_appeared": _W,
    "preview.zero_match": _W,
    "preview.counters_exhausted": _W,
    "preview.no_slices": _I,
    "preview.budget": _W,
    "scheduler.crash": _E,
    "pool.incomplete": _W,
    "pool.invalid_counterset": _W,
    "pool.inconsistent_count": _W,
    "pool.duplicate_device": _W,
    "pool.combined_slice": _W,
    "mig.double_advertised": _W,
    "device.sibling_in_use": _W,
    "device.memory_unknown": _W,
    "device.unpublished": _W,
    "taint.selects_all": _E,
    "taint.blocks": _W,
    "config.parent_request": _W,
    "kueue.unsupported": _W,
    "quota.exceeded": _E,
    "name.too_long": _E,
    "template.immutable": _E,
    "apply.field_dropped": _E,
    "claim.extended": _I,
    "claim.deleting": _W,
    "claim.idle": _W,
    "domain.invalid": _E,
    "domain.not_served": _E,
    "domain.template_taken": _E,
    "domain.too_few_nodes": _W,
    "domain.clique_unknown": _W,
    "domain.nodes_deprecated": _I,
}

# At one path only the first of these is kept.
_SPECIFIC = (
    "cel.too_long",
    "cel.compile",
    "cel.cost",
    "cel.bad_semver",
    "cel.key_published_by_none",
    "cel.key_other_domain",
    "cel.runtime_missing_key",
    "cel.runtime_error",
    "preview.zero_match",
)

# Several of these at one path speak of different things, and all are kept.
_EACH = frozenset(
    {
        "quota.exceeded",
        "constraint.key_missing",
        "constraint.parent_request",
        "claim.odd",
    }
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found.

    Attributes:
        code: an entry of CATALOGUE.
        path: as in `spec.spec.devices.requests[0].exactly.count`; empty where it
            is about the whole object.
        values: what its sentence speaks of.
        variant: which of the code's sentences it is.
        line, column: 1-based, in code points, inside a CEL expression.
        replacement: what the value at `path` should be instead, where that is sure.
        is_passed_over: it only means that this alternative of a list is never taken.
        is_certain: it fails whatever is free: an error whatever its code, and said
            whatever else is at its path.
        is_shadowed: no device comes to it now: a warning whatever its code, that
            hides nothing at its path and is not hidden.
    """

    code: str
    path: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    variant: str = ""
    line: int | None = None
    column: int | None = None
    replacement: str | None = None
    is_passed_over: bool = False
    is_certain: bool = False
    is_shadowed: bool = False

    @property
    def level(self) -> Level:
        """The level of its code; error where certain, no error where nothing meets it."""
        level = Level.ERROR if self.is_certain else CATALOGUE[self.code]
        passed = (self.is_passed_over or self.is_shadowed) and level is Level.ERROR
        return Level.WARNING if passed else level


@dataclass(frozen=True, slots=True)
class ObjectFinding:
    """A finding about an object that is not itself being checked."""

    kind: str
    namespace: str
    name: str
    finding: Finding


def most_specific(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings in their order, with only the most specific of each path.

    compile > key_published_by_none > key_other_domain > runtime_missing_key >
    zero_match; codes outside that chain are all kept, and so is what is certain or
    shadowed, each once per path, as an error where it is one; those of `_EACH` once
    for each thing that they speak of.
    """
    kept: dict[tuple[str, str, str], Finding] = {}
    best: dict[str, int] = {}
    for finding in findings:
        if finding.code in _SPECIFIC and not finding.is_shadowed:
            rank = _SPECIFIC.index(finding.code)
            best[finding.path] = min(rank, best.get(finding.path, rank))
        about = repr(finding.values) if finding.code in _EACH else ""
        key = (finding.path, finding.code, about)
        known = kept.setdefault(key, finding)
        if finding.is_certain and not known.is_certain:
            kept[key] = finding
    return [
        finding
        for finding in kept.values()
        if finding.is_certain
        or finding.is_shadowed
        or finding.code not in _SPECIFIC
        or _SPECIFIC.index(finding.code) == best[finding.path]
    ]

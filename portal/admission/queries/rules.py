"""The rules and fallbacks in force, kept for a moment in each process."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

from portal.admission.domain.fallback import Fallback
from portal.admission.domain.guards import (
    FailurePolicy,
    GuardKind,
    GuardMode,
    GuardRule,
)
from portal.admission.models import AdvisorSetting
from portal.admission.models import Fallback as FallbackRow
from portal.admission.models import GuardRule as GuardRuleRow

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.db.models import QuerySet

    from inventory.models import Cluster

# A change counts everywhere after at most this long.
KEPT_SECONDS = 2.0

_T = TypeVar("_T")
_kept: dict[str, tuple[float, object, Callable[[], object]]] = {}


def rule_rows() -> QuerySet[GuardRuleRow]:
    """Return the rules with their counters, by name."""
    return GuardRuleRow.objects.select_related("count").order_by("name")


def rule_of(row: GuardRuleRow) -> GuardRule:
    """Return a stored rule as a value."""
    return GuardRule(
        row.name,
        GuardKind(row.kind),
        GuardMode(row.mode),
        row.params,
        FailurePolicy(row.failure_policy),
    )


def rules_in_force() -> tuple[GuardRule, ...]:
    """Return the rules, by name, as they were at most two seconds ago."""
    return lately("rules", lambda: tuple(map(rule_of, rule_rows())))


def fallbacks_in_force(cluster: Cluster) -> tuple[Fallback, ...]:
    """Return the fallbacks that are on in a cluster, by name; as old as that."""

    def read() -> tuple[tuple[int | None, Fallback], ...]:
        rows = FallbackRow.objects.filter(is_enabled=True).order_by("name")
        return tuple((row.cluster_id, fallback_of(row)) for row in rows)

    return tuple(
        each for of, each in lately("fallbacks", read) if of is None or of == cluster.pk
    )


def fallback_of(row: FallbackRow) -> Fallback:
    """Return a stored fallback as a value."""
    return Fallback(
        row.name,
        row.device_class,
        tuple(row.alternatives),
        tuple(row.namespaces),
        needs_advice=row.needs_advice,
    )


def advisor_setting() -> AdvisorSetting:
    """Return how far the advisor is trusted; off where nobody ever said; as old."""
    return lately("advisor", lambda: stored_setting() or AdvisorSetting(id=1))


def stored_setting() -> AdvisorSetting | None:
    """Return the stored row, now, or None."""
    return AdvisorSetting.objects.select_related("calibration").filter(id=1).first()


def forget() -> None:
    """Read everything anew the next time, in this process."""
    _kept.clear()


def refresh() -> None:
    """Read anew whatever was asked for, so that nobody waits for it."""
    for key, (_at, _found, read) in list(_kept.items()):
        _kept[key] = (time.monotonic(), read(), read)


def lately(key: str, read: Callable[[], _T]) -> _T:
    """Return what `read` says, or said at most two seconds ago under this key."""
    kept = _kept.get(key)
    now = time.monotonic()
    if kept and now - kept[0] < KEPT_SECONDS:
        return kept[1]  # type: ignore[return-value]
    found = read()
    _kept[key] = (now, found, read)
    return found

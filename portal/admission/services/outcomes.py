"""What became of claims that the advisor was asked about, from what the inventory saw."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from claims.domain.binding import moment_of
from inventory.models import KubeObject
from portal.admission.domain.calibration import Sample
from portal.admission.domain.fallback import ASKED_NAME
from portal.admission.models import AdmissionDecision

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

Json = dict[str, Any]
Result = AdmissionDecision.Result

# A claim that has no devices after so long had to wait.
IN_TIME = timedelta(minutes=10)
# What is not known after this long stays unknown.
LOOKED_FOR = timedelta(days=2)
MOST = 1_000


def look(*, now: datetime) -> int:
    """Give each piece of advice whose time has come its outcome; return how many.

    Each is written once, where nobody else has: two sweeps do no harm.
    """
    rows = AdmissionDecision.objects.filter(
        result=Result.UNKNOWN, advice__isnull=False, at__gt=now - LOOKED_FOR
    ).exclude(uid="")
    done = 0
    for row in rows.order_by("at")[:MOST]:
        result = _result(row, now)
        if result is not None:
            done += AdmissionDecision.objects.filter(
                pk=row.pk, result=Result.UNKNOWN
            ).update(result=result, result_at=now)
    return done


def _result(row: AdmissionDecision, now: datetime) -> str | None:
    """Return what became of a claim, or None where that is not known yet."""
    seen = KubeObject.objects.filter(cluster=row.cluster_id, uid=row.uid).first()
    is_late = now > row.at + IN_TIME
    if seen is None:
        return Result.GONE if is_late else None
    allocation = (seen.body.get("status") or {}).get("allocation") or {}
    if not allocation:
        ended = seen.deleted_at
        if ended is not None and ended <= row.at + IN_TIME:
            return Result.GONE
        return Result.WAITED if is_late else None
    at = moment_of(allocation.get("allocationTimestamp")) or seen.seen_at
    if at > row.at + IN_TIME:
        return Result.WAITED
    return Result.FELL_BACK if _fell_back(allocation) else Result.ALLOCATED


def _fell_back(allocation: Json) -> bool:
    results = (allocation.get("devices") or {}).get("results") or []
    names = [str(each.get("request") or "") for each in results]
    return any("/" in n and n.rpartition("/")[2] != ASKED_NAME for n in names)


def samples() -> Iterator[Sample]:
    """Yield advice whose outcome is known, of claims that were let through unchanged.

    What was denied, or changed on the advisor's own word, says nothing about what
    would have come of it.
    """
    known = (Result.ALLOCATED, Result.FELL_BACK, Result.WAITED)
    rows = AdmissionDecision.objects.filter(
        advice__isnull=False, result__in=known, outcome="admit"
    ).order_by("at", "pk")
    for row in rows.iterator():
        advice = row.advice or {}
        yield Sample(
            at=row.at,
            safe=float(advice["safe"]),
            action=str(advice["action"]),
            confidence=float(advice["confidence"]),
            severity=float(advice["severity"]),
            exact=row.exact_severity,
            waited=row.result != Result.ALLOCATED,
        )

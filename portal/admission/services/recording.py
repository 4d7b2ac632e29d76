"""What was decided, kept: a row where there was something to say, counters for all.

Nothing here is called for a dry run.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING

from django.db.models import F

from claims.domain.manifest import digest_of
from portal.admission.domain.advice import Outcome
from portal.admission.domain.guards import GuardMode
from portal.admission.models import AdmissionDecision, GuardCount
from portal.admission.models import GuardRule as GuardRuleRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from inventory.models import Cluster
    from portal.admission.domain.guards import Breach
    from portal.admission.domain.review import Review

FLUSH_SECONDS = 1.0
LINK_SECONDS = 60


class Tally:
    """Counts by rule in this process, written at most once a second."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()
        self._written = time.monotonic()

    def add(self, rules: Iterable[str], breaches: Sequence[Breach]) -> None:
        """Count a review: which rules looked at it, and what they found."""
        with self._lock:
            for rule in rules:
                self._counts[rule, "seen"] += 1
            for rule, mode in {(each.rule, each.mode) for each in breaches}:
                field = "denied" if mode is GuardMode.DENY else "warned"
                self._counts[rule, field] += 1

    def is_due(self) -> bool:
        """Return whether it is time to write."""
        return time.monotonic() - self._written >= FLUSH_SECONDS

    def flush(self) -> None:
        """Write what was counted; two queries and one a rule."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
            self._written = time.monotonic()
        if not counts:
            return
        names = {name for name, _field in counts}
        for row in GuardRuleRow.objects.filter(name__in=names):
            GuardCount.objects.get_or_create(rule=row)
            fields = {
                field: F(field) + counts[row.name, field]
                for field in ("seen", "warned", "denied")
                if counts[row.name, field]
            }
            GuardCount.objects.filter(rule=row).update(**fields)


tally = Tally()


def record_breaches(
    cluster: Cluster,
    review: Review,
    breaches: Sequence[Breach],
    *,
    outcome: Outcome,
    now: datetime,
) -> None:
    """Keep what the guards found in a review."""
    row = decision_of(cluster, review, now=now)
    row.outcome = outcome
    row.breaches = breach_documents(breaches)
    row.save()


def decision_of(
    cluster: Cluster, review: Review, *, now: datetime
) -> AdmissionDecision:
    """Return an unsaved decision about a review."""
    has_spec = review.kind in {"ResourceClaim", "ResourceClaimTemplate"}
    return AdmissionDecision(
        at=now,
        cluster=cluster,
        kind=review.kind,
        namespace=review.namespace,
        name=review.name,
        uid=review.object_uid,
        username=review.username[:253],
        outcome=Outcome.ADMIT,
        asked_digest=digest_of(review.body) if has_spec else "",
    )


def breach_documents(breaches: Sequence[Breach]) -> list[dict[str, object]]:
    """Return breaches as they are stored."""
    return [
        {
            "rule": each.rule,
            "mode": each.mode.value,
            "code": each.code,
            "values": each.values,
        }
        for each in breaches
    ]


def link(cluster: Cluster, review: Review, *, now: datetime) -> None:
    """Give what was decided before a claim had its name and uid both of them.

    The mutating webhook sees a claim before the API server has named it; the same
    claim comes to the validating one a moment later, with the digest that it left
    with.
    """
    digest = digest_of(review.body)
    waiting = AdmissionDecision.objects.filter(
        cluster=cluster,
        kind=review.kind,
        namespace=review.namespace,
        uid="",
        username=review.username,
        at__gt=now - _link_window(),
    ).order_by("at")
    for row in waiting[:20]:
        if (row.mutated_digest or row.asked_digest) == digest:
            AdmissionDecision.objects.filter(pk=row.pk, uid="").update(
                uid=review.object_uid, name=review.name
            )
            return


def _link_window() -> timedelta:
    return timedelta(seconds=LINK_SECONDS)

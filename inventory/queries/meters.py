"""What cards really use, as a page needs it."""

from __future__ import annotations

import datetime as dt
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from inventory.domain.meters import STALE_AFTER, Reading, card_name, reading_of
from inventory.models import Meters

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inventory.models import Cluster

KEPT = 8
_readings: OrderedDict[tuple[int, dt.datetime], dict[str, Any]] = OrderedDict()


@dataclass(frozen=True, slots=True)
class MeterPage:
    """A cluster's readings, as far as they are of now.

    Attributes:
        read_at: when Prometheus answered last; None where it never did.
        problem: one sentence on what it could not say, or "".
        fresh: the readings are of now; else none is handed out.
    """

    read_at: dt.datetime | None
    problem: str
    fresh: bool
    now: dt.datetime
    readings: Mapping[str, Any] = field(default_factory=dict)

    def of(self, key: tuple[str, str, str]) -> Reading | None:
        """Return a card's reading, or None where there is none of now."""
        stored = self.readings.get(card_name(key)) if self.fresh else None
        return reading_of(stored) if stored else None

    def idle_since(self, key: tuple[str, str, str]) -> dt.datetime | None:
        """Return since when a card is held and computes nothing, if it is idle."""
        reading = self.of(key)
        idle = reading is not None and reading.is_idle(self.now)
        return reading.quiet_since if reading and idle else None


def meters_of(cluster: Cluster, now: dt.datetime) -> MeterPage | None:
    """Return what a cluster's cards use; None where no Prometheus is set.

    Makes no query without an address, one with it, two where there is a new answer.
    """
    if not cluster.prometheus_url:
        return None
    row = Meters.objects.filter(cluster=cluster).defer("readings").first()
    if row is None:
        return MeterPage(None, "", fresh=False, now=now)
    fresh = row.read_at is not None and now - row.read_at <= STALE_AFTER
    readings = _read(cluster.pk, row.read_at) if fresh and row.read_at else {}
    return MeterPage(row.read_at, row.problem, fresh, now, readings)


def _read(cluster: int, read_at: dt.datetime) -> dict[str, Any]:
    """Return the readings of a moment, kept in this process until there are newer."""
    known = _readings.get((cluster, read_at))
    if known is None:
        found = Meters.objects.filter(cluster_id=cluster, read_at=read_at)
        known = found.values_list("readings", flat=True).first()
        if known is None:  # replaced a moment ago: the next look finds the new ones
            return {}
        _readings[cluster, read_at] = known
        while len(_readings) > KEPT:
            _readings.popitem(last=False)
    return known

"""How old the picture of a cluster is, in words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from django.utils.translation import gettext as _

STALE_AFTER = timedelta(seconds=90)
# From then on what is free says little, and whoever asks is told.
OLD_AFTER = timedelta(days=1)


class Heard(Protocol):
    """What is known of a cluster's watcher; `inventory.models.Cluster` has it."""

    kind: str
    heard_at: datetime | None
    failed_at: datetime | None
    failure: str


@dataclass(frozen=True)
class Freshness:
    """A badge: its kind, its words, and the moment that it speaks of."""

    kind: str
    text: str
    at: datetime | None = None
    reason: str = ""


def freshness_of(cluster: Heard, *, now: datetime) -> Freshness:
    """Return how much the picture of a cluster can be trusted at `now`."""
    heard, failed = cluster.heard_at, cluster.failed_at
    if cluster.kind == "offline":
        return Freshness("info", _("loaded from files"), heard)
    if failed and (heard is None or failed > heard):
        text = _("cannot be reached; last read") if heard else _("cannot be reached")
        return Freshness("bad", text, heard, cluster.failure)
    if heard is None:
        return Freshness("warn", _("not read yet"))
    if now - heard > STALE_AFTER:
        return Freshness("warn", _("no news; last read"), heard)
    return Freshness("good", _("live"), heard)


def stale_sentence(cluster: Heard, *, now: datetime) -> str:
    """Return a warning where the picture of a cluster is older than a day, else ""."""
    heard = cluster.heard_at
    if heard is None or now - heard <= OLD_AFTER:
        return ""
    return _(
        "What is known of the cluster was read %(age)s: what is free, and which nodes"
        " there are, may have changed. Load or sync it again."
    ) % {"age": age(heard, now=now)}


def age_patterns() -> list[tuple[int, str]]:
    """Return (seconds in the unit, pattern with `{}`), from seconds up to days."""
    return [
        (1, _("{} s ago")),
        (60, _("{} min ago")),
        (3600, _("{} h ago")),
        (86400, _("{} d ago")),
    ]


def age(at: datetime, *, now: datetime) -> str:
    """Return how long ago `at` was, in its largest whole unit; the future is now."""
    seconds = max(0, int((now - at).total_seconds()))
    size, pattern = next(
        (size, pattern)
        for size, pattern in reversed(age_patterns())
        if seconds >= size or size == 1
    )
    return pattern.format(seconds // size)

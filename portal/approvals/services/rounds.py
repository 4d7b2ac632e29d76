"""What is looked after once a minute, by whichever process is first."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import structlog
from django.db import connection, transaction

from claims.services.ending import release_missing
from portal.approvals.services.extending import lapse_extensions
from portal.approvals.services.idling import note_idle, release_what_is_idle, tell_idle
from portal.approvals.services.reminding import remind_undecided, tell_ending
from portal.approvals.services.watching_labels import note_labels

logger = structlog.get_logger(__name__)

EVERY = timedelta(minutes=1)
LOCK = 0x51CE_A551
ROUNDS: tuple[Callable[..., int], ...] = (
    lapse_extensions,
    remind_undecided,
    tell_ending,
    note_labels,
    note_idle,
    tell_idle,
    release_what_is_idle,
    release_missing,
)

_last: list[datetime] = []


def make_rounds(*, now: datetime) -> None:
    """Make every round, unless this process did within the minute or another is at it.

    A round that meets a defect is logged, and keeps no other from being made.
    """
    if _last and now - _last[0] < EVERY:
        return
    _last[:] = [now]
    for each in ROUNDS:
        try:
            with transaction.atomic():
                if _is_ours():
                    each(now=now)
        except Exception:
            logger.exception("a round met a defect", round=each.__name__)


def _is_ours() -> bool:
    """Return whether no other process makes rounds; until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [LOCK])
        return bool(cursor.fetchone()[0])

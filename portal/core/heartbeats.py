"""Signs of life: a file for the probe on this host, a row for whoever looks from afar."""

from __future__ import annotations

import datetime as dt
import socket
import threading
import time

import structlog
from django.db import Error
from django.utils import timezone

from portal import alive
from portal.core.live import release_connections

logger = structlog.get_logger(__name__)

ROW_SECONDS = 15.0
KEPT = dt.timedelta(days=1)
# Of which processes rows are kept, and after how many seconds one is taken for dead.
ADMISSION = "admission"
LIMITS = {**alive.LIMITS, ADMISSION: 60}
_written: dict[str, float] = {}


def beat(process: str) -> None:
    """Say that a process has gone round once more; never waits for the database."""
    try:
        alive.touch(process)
    except OSError as error:
        logger.warning("no sign of life can be left", process=process, why=str(error))
    if time.monotonic() - _written.get(process, -ROW_SECONDS) >= ROW_SECONDS:
        _written[process] = time.monotonic()
        threading.Thread(target=_write, args=(process,), daemon=True).start()


def _write(process: str) -> None:
    try:
        record(process, socket.gethostname(), timezone.now())
    except Error as error:
        logger.warning("a sign of life is not recorded", why=str(error))
    finally:
        release_connections()


def record(process: str, host: str, at: dt.datetime) -> None:
    """Keep the last sign of one process of one host; forget those of yesterday."""
    from portal.core.models import Heartbeat

    Heartbeat.objects.update_or_create(process=process, host=host, defaults={"at": at})
    Heartbeat.objects.filter(process__in=LIMITS, at__lt=at - KEPT).delete()

"""Count what happens in this process, and add it to the sums of all.

Counting costs a lock and a dictionary; every ten seconds a thread adds what was
counted to the table. Labels come from closed sets: names of views, tasks and kinds.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections import defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING

import orjson
import structlog
from django.db import Error, connection
from django.db.models import F

from portal.core.live import release_connections

if TYPE_CHECKING:
    from collections.abc import Iterator

logger = structlog.get_logger(__name__)

FLUSH_SECONDS = 10.0
# Upper bounds of a histogram's buckets, in seconds.
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
LABELS_LIMIT = 255

_Key = tuple[str, str]
_waiting: defaultdict[_Key, float] = defaultdict(float)
_lock = threading.Lock()
_started_in = 0


def count(name: str, amount: float = 1, **labels: str) -> None:
    """Add to a counter; its name ends with `_total`, as Prometheus has it."""
    key = (name, _text(labels))
    with _lock:
        _waiting[key] += amount


def observe(name: str, seconds: float, **labels: str) -> None:
    """Add one duration to a histogram; its name ends with `_seconds`."""
    bound = next((str(each) for each in BUCKETS if seconds <= each), "+Inf")
    bucket, plain = (f"{name}_bucket", _text({**labels, "le": bound})), _text(labels)
    with _lock:
        _waiting[bucket] += 1
        _waiting[f"{name}_sum", plain] += seconds


@contextmanager
def timed(name: str, **labels: str) -> Iterator[None]:
    """Observe how long the block takes, also where it fails."""
    began = time.perf_counter()
    try:
        yield
    finally:
        observe(name, time.perf_counter() - began, **labels)


def _text(labels: dict[str, str]) -> str:
    text = orjson.dumps(labels, option=orjson.OPT_SORT_KEYS).decode()
    return text if len(text) <= LABELS_LIMIT else "{}"


def start() -> None:
    """Have what is counted in this process added every ten seconds, and at its end."""
    global _started_in
    if _started_in == os.getpid():
        return
    if _started_in:
        _waiting.clear()  # what the parent counted, the parent adds
    _started_in = os.getpid()
    threading.Thread(target=_run, name="counting", daemon=True).start()
    atexit.register(_flush_quietly)


def _run() -> None:
    while True:
        time.sleep(FLUSH_SECONDS)
        _flush_quietly()


def _flush_quietly() -> None:
    try:
        flush()
    except Error as error:
        logger.warning("what was counted is added later", error=str(error))
    finally:
        release_connections()


def flush() -> None:
    """Add what was counted; where the database is away it is kept."""
    with _lock:
        taken = dict(_waiting)
        _waiting.clear()
    if not taken:
        return
    try:
        _add(taken)
    except Error:
        with _lock:
            for key, amount in taken.items():
                _waiting[key] += amount
        raise


def _add(taken: dict[_Key, float]) -> None:
    """Add amounts in the order of their keys, so that two processes never lock."""
    # Models are there only where Django is set up; who counts need not be.
    from portal.core.models import Counter

    keys = sorted(taken)
    table = Counter._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} AS old (name, labels, value)"  # noqa: S608  our own
            " SELECT * FROM unnest(%s::text[], %s::text[], %s::float8[])"
            " ON CONFLICT (name, labels) DO UPDATE SET value = old.value + excluded.value",
            [
                [name for name, _labels in keys],
                [labels for _name, labels in keys],
                [taken[key] for key in keys],
            ],
        )


def counted() -> list[tuple[str, dict[str, str], float]]:
    """Return (name, labels, value) of all that was counted, by name; one query."""
    from portal.core.models import Counter

    rows = Counter.objects.order_by(F("name"), F("labels"))
    found = rows.values_list("name", "labels", "value")
    return [(name, orjson.loads(labels), value) for name, labels, value in found]

"""One leader per cluster: a Postgres advisory lock on the writer's own connection.

The lock lives exactly as long as the connection that all of the leader's writes
go through. When it dies, the lock goes and nothing can be written by mistake.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from django.db import connection

from portal.core.errors import PortalError

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator

# "SLWW": the class of our locks, so that others' numbers do not meet ours.
LOCK_CLASS = 0x534C5757
STANDBY_SECONDS = 0.5


class LeaseLost(PortalError):
    """The connection that held the lock is gone; another may lead by now."""

    code = "inventory.lease_lost"
    permanent = False


class Lease:
    """The right to write a cluster's record, bound to one connection."""

    def __init__(self, session: Any) -> None:
        """Take the database session that holds the lock."""
        self._session = session

    def check(self) -> None:
        """Make sure that this thread's connection still is the one with the lock.

        Raises:
            LeaseLost: It is not.
        """
        if self._session is None or connection.connection is not self._session:
            raise LeaseLost("the connection that held the cluster's lock is gone")


@contextmanager
def leading(cluster_pk: int, stop: threading.Event) -> Iterator[Lease | None]:
    """Wait until nobody else leads, then hold the lock; None where stopped before.

    The thread's connection is closed at the end, whatever happened, and the lock
    with it.
    """
    try:
        while not stop.is_set():
            if _try_lock(cluster_pk):
                yield Lease(connection.connection)
                return
            stop.wait(STANDBY_SECONDS)
        yield None
    finally:
        connection.close()


def _try_lock(cluster_pk: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_try_advisory_lock(%s, %s)", [LOCK_CLASS, cluster_pk % 2**31]
        )
        return bool(cursor.fetchone()[0])

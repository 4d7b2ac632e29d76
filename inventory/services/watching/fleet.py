"""Watch all clusters, or those named: added ones too, until told to stop."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import structlog
from django.db import DatabaseError, InterfaceError, connection, transaction

from inventory.models import Cluster
from inventory.services.watching.leader import ClusterWatcher
from inventory.services.watching.messages import KindState
from portal.core.wake import notify

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable

logger = structlog.get_logger(__name__)

LOOK_SECONDS = 2
# SIGTERM ends within 2 s; what a slow server still owes us is not waited for.
GOODBYE_SECONDS = 1.2

_Made = tuple[str, str, str, str]


class Watchers:
    """This process' cluster watchers, one per cluster that should be watched."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        """Take the names to watch; none for all live and simulated clusters."""
        self._names = frozenset(names)
        self._running: dict[int, tuple[_Made, ClusterWatcher]] = {}

    def run(
        self, stop: threading.Event, *, sign: Callable[[], None] | None = None
    ) -> None:
        """Look for added, changed and removed clusters until `stop` is set.

        `sign` is called each time round, also while the database is away.
        """
        try:
            while not stop.is_set():
                try:
                    self.look()
                except (DatabaseError, InterfaceError) as error:
                    logger.warning("no database; trying again", why=str(error))
                    connection.close()
                if sign:
                    sign()
                stop.wait(LOOK_SECONDS)
        finally:
            self.end()

    def look(self) -> None:
        """Start and stop watchers so that each cluster has one, made as it is now."""
        wanted = {cluster.pk: cluster for cluster in self._clusters()}
        for pk, (made, watcher) in list(self._running.items()):
            if pk not in wanted or made != _made(wanted[pk]):
                watcher.stop()
                del self._running[pk]
            elif not watcher.is_alive():
                del self._running[pk]
        for pk, cluster in wanted.items():
            if pk not in self._running:
                watcher = ClusterWatcher(cluster)
                watcher.start()
                self._running[pk] = (_made(cluster), watcher)

    def end(self) -> None:
        """Stop all, waiting little more than a second for them together."""
        watchers = [watcher for _made, watcher in self._running.values()]
        for watcher in watchers:
            watcher.stop()
        deadline = time.monotonic() + GOODBYE_SECONDS
        for watcher in watchers:
            watcher.join(max(deadline - time.monotonic(), 0))
        self._running.clear()

    def _clusters(self) -> list[Cluster]:
        rows = Cluster.objects.exclude(kind=Cluster.Kind.OFFLINE).order_by("name")
        if self._names:
            rows = rows.filter(name__in=self._names)
        return list(rows)


def _made(cluster: Cluster) -> _Made:
    return (
        cluster.name,
        cluster.kind,
        cluster.kubeconfig_encrypted,
        cluster.context,
    )


@transaction.atomic
def accept_removals(cluster: Cluster) -> list[str]:
    """Let the lists that the guard holds be taken over; return their kinds.

    The leader notices within a second and reads them again.
    """
    kinds = Cluster.objects.select_for_update(no_key=True).get(pk=cluster.pk).kinds
    held = [k for k, entry in kinds.items() if entry.get("state") == KindState.HELD]
    for kind in held:
        kinds[kind]["accept"] = True
    if held:
        Cluster.objects.filter(pk=cluster.pk).update(kinds=kinds)
        notify(cluster=cluster.name, revision=cluster.revision, kinds=[])
    return held

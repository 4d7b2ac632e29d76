"""Watch one cluster: wait to lead, read its kinds, write what comes."""

from __future__ import annotations

import copy
import threading
from functools import partial
from typing import TYPE_CHECKING

import structlog
from django.db import DatabaseError, InterfaceError

from inventory.domain.kinds import WATCHED
from inventory.gateways.identity import AS_ITSELF
from inventory.models import Cluster
from inventory.services.connections import kube_for
from inventory.services.watching.lease import LeaseLost, leading
from inventory.services.watching.messages import Inbox
from inventory.services.watching.pulse import Pulse
from inventory.services.watching.reading import Reader
from inventory.services.watching.writing import Writer

if TYPE_CHECKING:
    from inventory.services.watching.lease import Lease

logger = structlog.get_logger(__name__)

# How long an idle writer sleeps, and so how late it notices that it should stop.
IDLE_SECONDS = 0.25
AGAIN_SECONDS = 1


class ClusterWatcher(threading.Thread):
    """One cluster's watcher in this process: leads, or waits to lead."""

    def __init__(self, cluster: Cluster) -> None:
        """Take the cluster; its row is read again when leading begins."""
        super().__init__(name=f"watch {cluster.name}", daemon=True)
        self._pk = cluster.pk
        self._cluster = cluster.name
        self._stop_asked = threading.Event()

    def stop(self) -> None:
        """Ask it to end; it does within half a second."""
        self._stop_asked.set()

    def run(self) -> None:
        """Lead whenever nobody else does, until stopped or the cluster is gone."""
        while not self._stop_asked.is_set():
            try:
                self._lead()
            except Cluster.DoesNotExist:
                return
            except (DatabaseError, InterfaceError, LeaseLost) as error:
                logger.warning(
                    "lost the database; beginning again",
                    cluster=self._cluster,
                    why=str(error),
                )
            except Exception:
                logger.exception("watching a cluster failed", cluster=self._cluster)
            self._stop_asked.wait(AGAIN_SECONDS)

    def _lead(self) -> None:
        with leading(self._pk, self._stop_asked) as lease:
            if lease is None:
                return
            logger.info("leading", cluster=self._cluster)
            while not self._stop_asked.is_set():
                self._session(lease)

    def _session(self, lease: Lease) -> None:
        """Read and write until stopped, or until the cluster is another one."""
        cluster = Cluster.objects.get(pk=self._pk)
        inbox = Inbox()
        readers = _readers(cluster, inbox)
        try:
            writer = Writer(cluster, inbox)
            while not self._stop_asked.is_set():
                messages = inbox.batch(wait=IDLE_SECONDS)
                lease.check()
                if not writer.write(messages):
                    return
                for kind in writer.accepted():
                    readers[kind].hurry()
        finally:
            inbox.closed.set()
            for reader in readers.values():
                reader.end()


def _readers(cluster: Cluster, inbox: Inbox) -> dict[str, Reader]:
    """Start a reader for each kind, where its stored entry says; and the pulse."""
    kube = partial(kube_for, copy.copy(cluster), AS_ITSELF)
    versions = {
        kind: str(entry.get("resourceVersion") or "")
        for kind, entry in cluster.kinds.items()
    }
    highest = max((int(v) for v in versions.values() if v.isdigit()), default=0)
    pulse = Pulse(kube, inbox, uid=cluster.kube_system_uid, highest=highest)
    readers = {
        kind.kind: Reader(
            kind, kube, pulse, inbox, resource_version=versions.get(kind.kind, "")
        )
        for kind in WATCHED
    }
    threading.Thread(target=pulse.beat, name="pulse", daemon=True).start()
    for reader in readers.values():
        reader.start()
    return readers

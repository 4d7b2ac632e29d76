"""Ask a server who it is, before anything resumes from an old resourceVersion.

A watch that starts beyond the server's newest version is silently empty, and a
cluster that was made anew, or set back from a backup, has such versions. So the
uid of its kube-system namespace is compared, and its newest version with the
highest that we have seen.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import structlog

from inventory.domain.kinds import NAMESPACE
from inventory.gateways.errors import ClusterForbidden, NotFound
from inventory.gateways.features import feature_gates
from inventory.services.watching.messages import Changed, Seen, Silent
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Callable

    from inventory.gateways.kube import Kube
    from inventory.services.watching.messages import Inbox

logger = structlog.get_logger(__name__)

PULSE_SECONDS = 10
# Gates change with a restart of the server only, and /metrics is long.
GATES_SECONDS = 120


class OtherCluster(PortalError):
    """What answers is not what answered before; what was read of it is void."""

    code = "inventory.other_cluster"
    permanent = False


class Pulse:
    """One server's identity, asked at most once at a time, for all readers."""

    def __init__(
        self, kube: Callable[[], Kube], inbox: Inbox, *, uid: str, highest: int
    ) -> None:
        """Take what is known of the server: "" and 0 where nothing is."""
        self._kube = kube
        self._inbox = inbox
        self._uid = uid
        self._highest = highest
        self._lock = threading.Lock()
        self._confirmed = 0.0
        self._gates_asked: float | None = None

    def saw(self, resource_version: str) -> None:
        """Remember a version that the server has had; other than numbers are not."""
        if resource_version.isdigit():
            self._highest = max(self._highest, int(resource_version))

    def lost(self) -> None:
        """Hear from a reader that the server was gone: it may be back with others."""
        with self._lock:
            self._gates_asked = None

    def confirm(self, since: float) -> None:
        """Make sure that the server is still the same, as asked after `since`.

        Args:
            since: monotonic seconds.

        Raises:
            OtherCluster: It is not.
            KubeError: It does not say.
        """
        with self._lock:
            if self._confirmed <= since:
                began = time.monotonic()
                try:
                    self._ask()
                except PortalError:
                    self._gates_asked = None  # it may come back with others
                    raise
                self._confirmed = began

    def beat(self) -> None:
        """Ask every ten seconds, and tell the writer, until the inbox is closed."""
        while not self._inbox.closed.is_set():
            try:
                self.confirm(time.monotonic())
            except OtherCluster:
                return
            except PortalError as error:
                self._inbox.put(Silent(error.message))
            except Exception:
                logger.exception("asking a cluster who it is failed")
            self._inbox.closed.wait(PULSE_SECONDS)

    def _ask(self) -> None:
        kube = self._kube()
        highest = self._highest  # before asking: what comes later may be higher
        seen = Seen(_uid_of(kube), kube.version(), self._gates(kube))
        if seen.uid and self._uid and seen.uid != self._uid:
            self._end(seen.uid, "it is another cluster now")
        if _newest(kube, highest) < highest:
            self._end("", "it was set back in time")
        self._uid = seen.uid or self._uid
        self._inbox.hear()
        self._inbox.put(seen)
        if seen.gates is not None:
            self._gates_asked = time.monotonic()

    def _gates(self, kube: Kube) -> dict[str, bool] | None:
        """Return the server's gates, if it is time to ask again and it tells them.

        A server that has just started may refuse at first: it is asked again with
        the next pulse, until it told.
        """
        asked = self._gates_asked
        if asked is not None and time.monotonic() - asked < GATES_SECONDS:
            return None
        return feature_gates(kube)

    def _end(self, uid: str, why: str) -> None:
        self._inbox.put(Changed(uid))
        raise OtherCluster(why)


def _uid_of(kube: Kube) -> str:
    """Return the uid of the kube-system namespace, or "" where we may not know it."""
    try:
        metadata = kube.get(NAMESPACE, "kube-system").get("metadata") or {}
    except (ClusterForbidden, NotFound):
        return ""
    return str(metadata.get("uid") or "")


def _newest(kube: Kube, otherwise: int) -> int:
    """Return the server's newest resourceVersion, where it can be known."""
    try:
        page = next(iter(kube.pages(NAMESPACE, limit=1)))
    except ClusterForbidden:
        return otherwise
    version = page.resource_version
    return int(version) if version.isdigit() else otherwise

"""Read one kind of a cluster: a list, then a watch, for as long as it lasts.

A reader never touches the database: it hands messages to the writer, and after
a list waits for its verdict. Its errors become the kind's state.
"""

from __future__ import annotations

import random
import threading
import time
from typing import TYPE_CHECKING, Any

import structlog

from inventory.domain.changes import Change
from inventory.domain.trim import trimmed
from inventory.gateways.errors import (
    ClusterForbidden,
    ClusterUnavailable,
    NotFound,
    NotServed,
    TooManyRequests,
    WatchExpired,
)
from inventory.services.watching.messages import Happened, KindState, Listed, Noted
from inventory.services.watching.pulse import OtherCluster
from portal.core.counting import count
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Callable

    from inventory.domain.kinds import Kind
    from inventory.gateways.kube import Kube, Watch
    from inventory.services.watching.messages import Inbox
    from inventory.services.watching.pulse import Pulse

logger = structlog.get_logger(__name__)

# What is forbidden, not served or held is tried again this often.
RETRY_SECONDS = 60
SHORTEST_PAUSE = 0.5
LONGEST_PAUSE = 10.0
# Servers end watches; spread, so that not all of a cluster's end at once.
WATCH_SECONDS = (240, 360)


class Reader(threading.Thread):
    """One kind's list and watch."""

    def __init__(
        self,
        kind: Kind,
        kube: Callable[[], Kube],
        pulse: Pulse,
        inbox: Inbox,
        *,
        resource_version: str,
    ) -> None:
        """Take where to resume; "" begins with a list."""
        super().__init__(name=f"read {kind.kind}", daemon=True)
        self._kind = kind
        self._kube = kube
        self._pulse = pulse
        self._inbox = inbox
        self._version = resource_version
        self._watch: Watch | None = None
        self._wake = threading.Event()
        self._failures = 0

    def end(self) -> None:
        """End it soon, from any thread; the inbox must be closed before."""
        self._wake.set()
        if self._watch:
            self._watch.close()

    def hurry(self) -> None:
        """Try again now what waits for its minute to pass."""
        self._wake.set()

    def run(self) -> None:
        """Read until the inbox is closed or the server turns out to be another."""
        since = time.monotonic()
        while not self._inbox.closed.is_set():
            try:
                self._pulse.confirm(since)
                pause = self._round()
            except OtherCluster:
                return
            except PortalError as error:
                if isinstance(error, ClusterUnavailable):
                    self._pulse.lost()
                pause = self._pause_after(error)
            except Exception:
                logger.exception("reading a kind failed", kind=self._kind.kind)
                pause = self._backed_off()
            since = time.monotonic()
            self._wake.wait(pause)
            self._wake.clear()

    def _round(self) -> float:
        """List if there is nothing to resume, watch; return how long to pause."""
        kube = self._kube()
        if not self._version:
            verdict = self._list(kube)
            if verdict is not KindState.WATCHING:
                return RETRY_SECONDS
        began = time.monotonic()
        self._follow(kube)
        # A server that ends watches at once must not be asked in a tight loop.
        return 0 if time.monotonic() - began > 1 else SHORTEST_PAUSE

    def _list(self, kube: Kube) -> KindState:
        """Hand over the whole list; return what the writer made of it."""
        count("slicewise_watch_lists_total", kind=self._kind.kind)
        objects: list[dict[str, Any]] = []
        version = ""
        for page in kube.pages(self._kind):
            self._inbox.hear()
            objects += filter(None, map(trimmed, page.items))
            version = page.resource_version
        self._pulse.saw(version)
        listed = Listed(self._kind.kind, objects, version)
        self._inbox.put(listed)
        while not listed.done.wait(0.5):
            if self._inbox.closed.is_set():
                return KindState.LISTING
        if listed.verdict is KindState.WATCHING:
            self._version = version
        return listed.verdict

    def _follow(self, kube: Kube) -> None:
        """Watch until the server ends it."""
        seconds = random.randint(*WATCH_SECONDS)  # noqa: S311  only to spread them
        with kube.watch(self._kind, self._version, timeout_seconds=seconds) as watch:
            self._watch = watch
            if self._inbox.closed.is_set():
                return
            self._inbox.put(Noted(self._kind.kind, KindState.WATCHING, ""))
            self._failures = 0
            for happened, body in watch:
                self._take(happened, body)
        self._watch = None

    def _take(self, happened: str, body: dict[str, Any]) -> None:
        metadata = body.get("metadata") or {}
        version = str(metadata.get("resourceVersion") or "")
        self._inbox.hear()
        self._pulse.saw(version)
        change = None
        kept = trimmed(body) if happened != "BOOKMARK" else None
        if kept is not None:
            change = Change(
                self._kind.kind,
                str(metadata.get("namespace") or ""),
                str(metadata.get("name") or ""),
                None if happened == "DELETED" else kept,
            )
        self._version = version or self._version
        self._inbox.put(Happened(self._kind.kind, self._version, change))

    def _pause_after(self, error: PortalError) -> float:
        """Note what an error means for the kind; return how long to wait."""
        if isinstance(error, WatchExpired):
            count("slicewise_watch_expired_total", kind=self._kind.kind)
            self._version = ""
            self._note(KindState.LISTING, "")
            return self._backed_off() if self._failures else self._counted(0)
        if isinstance(error, ClusterForbidden):
            self._note(KindState.FORBIDDEN, error.message)
            return RETRY_SECONDS
        if isinstance(error, NotFound | NotServed):
            return self._pause_after_absence(error)
        self._note(KindState.FAILING, error.message)
        asked = error.retry_after if isinstance(error, TooManyRequests) else 0.0
        return max(asked, self._backed_off())

    def _pause_after_absence(self, error: PortalError) -> float:
        """Negotiate the version once more where one was known: it may be a newer."""
        self._version = ""
        if self._kube().connection.versions.pop(self._kind.kind, None):
            return self._backed_off()
        self._note(KindState.NOT_SERVED, error.message)
        return RETRY_SECONDS

    def _note(self, state: KindState, message: str) -> None:
        self._inbox.put(Noted(self._kind.kind, state, message))

    def _counted(self, pause: float) -> float:
        self._failures += 1
        return pause

    def _backed_off(self) -> float:
        """Return the next pause: doubled each time, 10 s at most, with jitter."""
        longest = min(SHORTEST_PAUSE * 2**self._failures, LONGEST_PAUSE)
        return self._counted(random.uniform(longest / 2, longest))  # noqa: S311

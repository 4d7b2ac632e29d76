"""What the threads that read a cluster tell the one that writes."""

from __future__ import annotations

import queue
import threading
import time
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inventory.domain.changes import Change

BATCH_SECONDS = 0.1
QUIET_SECONDS = 0.02
BATCH_COUNT = 500
# Readers wait when the writer is this far behind.
QUEUE_LENGTH = 5000


class KindState(StrEnum):
    """How far a kind is read; the spelling is stored in Cluster.kinds."""

    LISTING = "listing"
    WATCHING = "watching"
    FORBIDDEN = "forbidden"
    NOT_SERVED = "not-served"
    FAILING = "failing"
    HELD = "held"


@dataclass(slots=True)
class Listed:
    """A whole list; the writer answers in `verdict` and sets `done`."""

    kind: str
    objects: list[dict[str, Any]]
    resource_version: str
    verdict: KindState = KindState.LISTING
    done: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True, slots=True)
class Happened:
    """A watch moved on to a resourceVersion, mostly with a change."""

    kind: str
    resource_version: str
    change: Change | None


@dataclass(frozen=True, slots=True)
class Noted:
    """A kind's state changed."""

    kind: str
    state: KindState
    message: str


@dataclass(frozen=True, slots=True)
class Seen:
    """The server was asked who it is.

    Attributes:
        uid: of its kube-system namespace; "" where we may not know.
        version: such as v1.37.2.
        gates: on or off by name; None where we may not know, or did not ask again.
    """

    uid: str
    version: str
    gates: dict[str, bool] | None = None


@dataclass(frozen=True, slots=True)
class Silent:
    """The server was asked who it is and did not say."""

    message: str


@dataclass(frozen=True, slots=True)
class Changed:
    """It is another cluster (`uid`), or the same one set back in time (uid "")."""

    uid: str


Message = Listed | Happened | Noted | Seen | Silent | Changed


class Inbox:
    """The writer's queue, and when the server was last heard."""

    def __init__(self) -> None:
        """Begin empty."""
        self._queue: queue.Queue[Message] = queue.Queue(QUEUE_LENGTH)
        self.closed = threading.Event()
        self.heard = 0.0

    def hear(self) -> None:
        """Remember that the server said something just now."""
        self.heard = time.time()

    def put(self, message: Message) -> None:
        """Hand a message over; waits while the writer is behind, until closed."""
        while not self.closed.is_set():
            try:
                return self._queue.put(message, timeout=0.5)
            except queue.Full:
                continue
        return None

    def batch(self, *, wait: float) -> list[Message]:
        """Return what came, in order: at most 500 messages or what 100 ms brought.

        Args:
            wait: seconds to wait for the first one.
        """
        try:
            messages = [self._queue.get(timeout=wait)]
        except queue.Empty:
            return []
        deadline = time.monotonic() + BATCH_SECONDS
        while len(messages) < BATCH_COUNT:
            left = min(deadline - time.monotonic(), QUIET_SECONDS)
            try:
                messages.append(self._queue.get(timeout=max(left, 0.001)))
            except queue.Empty:
                break
            if left <= 0:
                break
        return messages

"""The log of events as a stream that begins where its reader left off.

Source: HTML Living Standard, 9.2 "Server-sent events".
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from asgiref.sync import sync_to_async
from django.utils import translation

from portal.core import live
from portal.notices.domain.messages import notice_document
from portal.notices.queries.log import notices_after, span
from portal.notices.services.numbering import number_new
from portal.notices.services.wording import facts_of

if TYPE_CHECKING:
    from portal.accounts.models import User

Json = dict[str, Any]
Who = Callable[[], "User | None"]

BATCH = 200


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What a reader asks for.

    Attributes:
        who: reads who it is that reads, narrowed to what they read with; None once
            they may no longer.
        after: the number of the last event that they have; None: only new ones.
        clusters: whose changes of inventory they want to hear of, too.
    """

    who: Who
    after: int | None
    clusters: frozenset[str] = frozenset()


class LogFeed:
    """What one reader still has to be told: that there is news, and whose inventory."""

    def __init__(self, clusters: Iterable[str]) -> None:
        self._clusters = frozenset(clusters)
        self._changed: dict[str, Json] = {}
        self._news = asyncio.Event()

    def offer(self, payload: Json) -> None:
        """Keep a notification if it concerns this reader; the newest wins."""
        cluster = payload.get("cluster")
        if "notice" in payload:
            self._news.set()
        elif cluster in self._clusters:
            self._put(str(cluster), payload.get("revision"), payload.get("kinds", []))

    def changed(self, revision: int | None, kinds: list[str]) -> None:
        """Say that anything may have changed: nobody was listening for a while."""
        self._news.set()
        for cluster in self._clusters:
            self._put(cluster, revision, kinds)

    def _put(self, cluster: str, revision: int | None, kinds: list[str]) -> None:
        before = self._changed.get(cluster, {}).get("kinds", [])
        told = sorted({*before, *kinds})
        self._changed[cluster] = {
            "cluster": cluster,
            "revision": revision,
            "kinds": told,
        }
        self._news.set()

    async def take(self, timeout: float) -> list[Json]:
        """Wait for news, at most `timeout` seconds; return the clusters that changed."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), timeout)
        self._news.clear()
        taken, self._changed = self._changed, {}
        return list(taken.values())


async def stream(wanted: Wanted) -> AsyncIterator[bytes]:
    """Yield server-sent events until the reader leaves or may no longer read.

    Events of the log carry their number as id; `reset` comes first where those
    behind `after` are kept no longer; `inventory` says that a cluster changed.
    """
    ends_at = time.monotonic() + live.LIFE_SECONDS
    yield b"retry: 2000\n: open\n\n"
    feed = LogFeed(wanted.clusters)
    reader = _Reader(wanted, translation.get_language())
    async with live.hub().join(feed):
        await feed.take(0)
        yield await _in_thread(reader.begin)
        while (left := ends_at - time.monotonic()) > 0:
            told = await _in_thread(reader.read)
            if told is None:
                return
            if told:
                yield told
                continue
            changed = await feed.take(min(live.HEARTBEAT_SECONDS, left))
            yield _changes(changed) or b": still here\n\n"
            await asyncio.sleep(live.SPACING_SECONDS if changed else 0)


def replayed(wanted: Wanted) -> Iterable[bytes]:
    """Yield what is there now, and end: for servers that hold no streams."""
    reader = _Reader(wanted, translation.get_language())
    yield b"retry: 2000\n" + reader.begin()
    while told := reader.read():
        yield told


class _Reader:
    """Reads the log onwards; each call is whole, in whatever thread."""

    def __init__(self, wanted: Wanted, language: str | None) -> None:
        self._wanted = wanted
        self._language = language or "en"
        self._position = 0

    def begin(self) -> bytes:
        """Find the place to begin at; return a `reset` where events are lost."""
        number_new()
        first, newest = span()
        after = self._wanted.after
        self._position = newest if after is None else after
        if after is None or first <= after <= newest:
            return b": from here\n\n"
        self._position = newest
        reason = "expired" if after < first else "unknown"
        return _event("reset", {"reason": reason}, newest)

    def read(self) -> bytes | None:
        """Return the next events; None where the reader may no longer read."""
        person = self._wanted.who()
        if person is None:
            return None
        number_new()
        _first, newest = span()
        rows = notices_after(person, self._position, BATCH)
        reached = int(rows[-1].number or 0) if rows else 0
        # A page that is not full leaves nothing to see before the newest.
        is_full = len(rows) == BATCH
        self._position = reached if is_full else max(self._position, newest, reached)
        with translation.override(self._language):
            return b"".join(
                _event(row.event, notice_document(facts_of(row)), row.number)
                for row in rows
            )


def _changes(changed: list[Json]) -> bytes:
    return b"".join(_event("inventory", each) for each in changed)


def _event(name: str, data: Json, number: int | None = None) -> bytes:
    place = "" if number is None else f"id: {number}\n"
    return f"event: {name}\n{place}data: {json.dumps(data)}\n\n".encode()


async def _in_thread(do: Callable[[], bytes | None]) -> Any:
    def call() -> bytes | None:
        try:
            return do()
        finally:
            live.release_connections()

    answer: Awaitable[Any] = sync_to_async(call)()
    return await answer

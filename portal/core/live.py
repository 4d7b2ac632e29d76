"""Changes in Postgres, fanned out to open pages as server-sent events.

Each process holds one LISTEN connection while at least one page is open, however
many pages those are. A browser that is slow loses no news and costs no memory: of
each thing only the newest state waits for it. Pages get at most one event of a
kind each half second, and the last one of a burst always.
"""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary

import psycopg
import structlog
from asgiref.sync import sync_to_async
from django.db import connection, connections
from psycopg import sql

from portal.core.wake import CHANNEL

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

logger = structlog.get_logger(__name__)

SPACING_SECONDS = 0.5
HEARTBEAT_SECONDS = 15.0
# A stream ends after this, and the browser comes back through the sign-in check.
LIFE_SECONDS = 15 * 60.0
READY_SECONDS = 2.0
BACKOFF_SECONDS = (0.2, 0.5, 1.0, 2.0, 5.0)


class Feed:
    """What one page still has to be told about one cluster and one person."""

    def __init__(self, *, cluster: str, person_id: int) -> None:
        self._cluster = cluster
        self._person_id = person_id
        self._waiting: dict[str, dict[str, Any]] = {}
        self._news = asyncio.Event()

    def offer(self, payload: dict[str, Any]) -> None:
        """Keep a notification if it concerns this page; the newest wins."""
        if payload.get("cluster") == self._cluster:
            self.changed(payload.get("revision"), payload.get("kinds", []))
        elif payload.get("requester") == self._person_id:
            public_id = str(payload.get("claim_request"))
            news = {"id": public_id, "state": payload.get("state")}
            self._put(f"claim {public_id}", news)
        elif self._person_id in payload.get("people", ()):
            self._put("notice", {})

    def changed(self, revision: int | None, kinds: list[str]) -> None:
        """Say that the inventory changed; kinds add up until they are told."""
        before = self._waiting.get("inventory", {}).get("kinds", [])
        told = sorted({*before, *kinds})
        self._put("inventory", {"revision": revision, "kinds": told})

    def _put(self, key: str, news: dict[str, Any]) -> None:
        self._waiting[key] = news
        self._news.set()

    async def take(self, timeout: float) -> list[tuple[str, dict[str, Any]]]:
        """Return what waits as (event, data), or nothing after `timeout` seconds."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), timeout)
        self._news.clear()
        taken, self._waiting = self._waiting, {}
        return [(key.split(" ")[0], news) for key, news in taken.items()]


class Listener(Protocol):
    """Whatever wants to hear of notifications; a Feed is one."""

    def offer(self, payload: dict[str, Any]) -> None:
        """Keep a notification if it concerns this listener."""

    def changed(self, revision: int | None, kinds: list[str]) -> None:
        """Hear that anything may have changed."""


class Hub:
    """The feeds of one event loop, and the one connection that fills them."""

    def __init__(self) -> None:
        self.feeds: set[Listener] = set()
        self._task: asyncio.Task[None] | None = None
        self._listening = asyncio.Event()

    @asynccontextmanager
    async def feed(self, *, cluster: str, person_id: int) -> AsyncIterator[Feed]:
        """Yield a feed that misses nothing from here on; wait 2 s for Postgres."""
        feed = Feed(cluster=cluster, person_id=person_id)
        async with self.join(feed):
            yield feed

    @asynccontextmanager
    async def join(self, feed: Listener) -> AsyncIterator[None]:
        """Have a listener hear all from here on; wait 2 s for Postgres."""
        self.feeds.add(feed)
        if self._task is None:
            self._task = asyncio.create_task(self._keep_listening())
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._listening.wait(), READY_SECONDS)
            yield
        finally:
            self.feeds.discard(feed)
            if not self.feeds:
                await self._stop()

    async def _stop(self) -> None:
        task, self._task = self._task, None
        self._listening.clear()
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _keep_listening(self) -> None:
        failures = 0
        while True:
            try:
                async for payload in _notifications(self._begin):
                    failures = 0
                    self._fan_out(payload)
            except (psycopg.Error, OSError) as error:
                logger.warning("not listening to Postgres", error=str(error))
            self._listening.clear()
            await asyncio.sleep(
                BACKOFF_SECONDS[min(failures, len(BACKOFF_SECONDS) - 1)]
            )
            failures += 1

    def _begin(self) -> None:
        """Listening (again): what happened in between is unknown, so all reload."""
        self._listening.set()
        for feed in self.feeds:
            feed.changed(None, [])

    def _fan_out(self, payload: dict[str, Any]) -> None:
        for feed in self.feeds:
            feed.offer(payload)


async def _notifications(begin: Callable[[], None]) -> AsyncIterator[dict[str, Any]]:
    """Yield each JSON object notified on our channel; call `begin` once listening."""
    parameters = connection.get_connection_params()
    parameters.pop("cursor_factory", None)
    parameters.pop("context", None)
    link = await psycopg.AsyncConnection.connect(**parameters, autocommit=True)
    async with link:
        await link.execute(sql.SQL("LISTEN {}").format(sql.Identifier(CHANNEL)))
        begin()
        async for notification in link.notifies():
            try:
                payload = json.loads(notification.payload)
            except ValueError:
                continue
            if isinstance(payload, dict):
                yield payload


_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


def hub() -> Hub:
    """Return the running loop's hub."""
    return _hubs.setdefault(asyncio.get_running_loop(), Hub())


async def stream(
    *,
    cluster: str,
    person_id: int,
    since: int,
    newest: Callable[[], Awaitable[int | None]],
) -> AsyncIterator[bytes]:
    """Yield server-sent events of one page until the browser leaves.

    Args:
        cluster: the cluster's name.
        person_id: whose claim requests are told about.
        since: the revision that the page shows; if `newest` says there is a newer
            one, the first event comes at once.
        newest: reads the cluster's present revision.
    """
    ends_at = time.monotonic() + LIFE_SECONDS
    yield b"retry: 2000\n: open\n\n"
    async with hub().feed(cluster=cluster, person_id=person_id) as feed:
        revision = await newest()
        await sync_to_async(release_connections)()
        await feed.take(0)
        if revision is not None and revision > since:
            yield _event("inventory", {"revision": revision, "kinds": []})
        while (left := ends_at - time.monotonic()) > 0:
            news = await feed.take(min(HEARTBEAT_SECONDS, left))
            yield b"".join(_event(*each) for each in news) or b": still here\n\n"
            await asyncio.sleep(SPACING_SECONDS if news else 0)


def release_connections() -> None:
    """Close this thread's database connections, but none inside a transaction."""
    for each in connections.all(initialized_only=True):
        if not each.in_atomic_block:
            each.close()


def _event(name: str, data: dict[str, Any]) -> bytes:
    number = f"id: {data['revision']}\n" if data.get("revision") else ""
    return f"event: {name}\n{number}data: {json.dumps(data)}\n\n".encode()

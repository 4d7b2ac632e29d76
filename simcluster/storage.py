"""Objects, their versions and what happened to them, kept in one SQLite file.

Everything is in memory; the file makes versions survive a restart. Bodies are shared and
never changed: whoever wants another one puts a new one.
"""

from __future__ import annotations

import asyncio
import sqlite3
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import orjson

from simcluster.kinds import Kind, Object

Key = tuple[str, str]

KEPT_CHANGES = 50_000
_TABLES = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = OFF;
CREATE TABLE IF NOT EXISTS changes (
    version INTEGER PRIMARY KEY, kind TEXT, namespace TEXT, name TEXT, type TEXT, body BLOB
);
CREATE TABLE IF NOT EXISTS forgotten (version INTEGER);
"""
_FORGET = """
DELETE FROM changes WHERE version <= ? AND (type = 'DELETED' OR version NOT IN
    (SELECT max(version) FROM changes WHERE version <= ? GROUP BY kind, namespace, name))
"""


@dataclass(frozen=True, slots=True)
class Change:
    """What happened to one object at a version."""

    version: int
    resource: str
    key: Key
    type: str
    body: Object
    prior: Object | None


class Store:
    """The objects of the cluster, by kind and (namespace, name)."""

    def __init__(self, path: Path) -> None:
        """Open the file, or make it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = sqlite3.connect(path, isolation_level=None)
        self._file.executescript(_TABLES)
        self._objects: defaultdict[str, dict[Key, Object]] = defaultdict(dict)
        self._history: list[Change] = []
        self._changed = asyncio.Event()
        (forgotten,) = self._file.execute(
            "SELECT max(version) FROM forgotten"
        ).fetchone()
        self.version = self.floor = forgotten or 1
        for row in self._file.execute("SELECT * FROM changes ORDER BY version"):
            version, resource, namespace, name, type_, body = row
            self._apply(version, resource, (namespace, name), type_, orjson.loads(body))

    def get(self, kind: Kind, name: str, namespace: str = "") -> Object | None:
        """Return an object, or None."""
        return self._objects[kind.resource].get((namespace, name))

    def items(
        self, kind: Kind, namespace: str = "", at: int | None = None
    ) -> list[Object]:
        """Return a kind's objects in the order of their names, as they were at a version."""
        objects = self._objects[kind.resource]
        if at is not None and at < self.version:
            objects = dict(objects)
            for change in reversed(self.since(at)):
                if change.resource != kind.resource:
                    continue
                if change.prior is None:
                    objects.pop(change.key, None)
                else:
                    objects[change.key] = change.prior
        return [
            objects[key]
            for key in sorted(objects)
            if not namespace or key[0] == namespace
        ]

    def since(self, version: int) -> list[Change]:
        """Return what happened after a version."""
        start = bisect_right(self._history, version, key=lambda change: change.version)
        return self._history[start:]

    def put(self, kind: Kind, body: Object) -> Object:
        """Store an object under the next version; return it as it is stored."""
        metadata = body["metadata"]
        key = (metadata.get("namespace", ""), metadata["name"])
        type_ = "MODIFIED" if key in self._objects[kind.resource] else "ADDED"
        return self._record(kind, key, type_, body)

    def remove(self, kind: Kind, body: Object) -> Object:
        """Remove an object; return its last state, under the version of its removal."""
        metadata = body["metadata"]
        key = (metadata.get("namespace", ""), metadata["name"])
        return self._record(kind, key, "DELETED", body)

    def forget(self, keep: int = 0) -> None:
        """Forget every version but the newest, or the newest few."""
        self._history = self._history[len(self._history) - keep :] if keep else []
        self.floor = self._history[0].version - 1 if keep else self.version
        self._file.execute(_FORGET, (self.floor, self.floor))
        self._file.execute("INSERT INTO forgotten VALUES (?)", (self.floor,))

    async def wait(self, seconds: float) -> None:
        """Wait until something changes, at most so long."""
        changed = self._changed
        try:
            async with asyncio.timeout(seconds):
                await changed.wait()
        except TimeoutError:
            return

    def _record(self, kind: Kind, key: Key, type_: str, body: Object) -> Object:
        version = self.version + 1
        body = {
            **body,
            "metadata": {**body["metadata"], "resourceVersion": str(version)},
        }
        row = (version, kind.resource, *key, type_, orjson.dumps(body))
        self._file.execute("INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?)", row)
        self._apply(version, kind.resource, key, type_, body)
        if len(self._history) > KEPT_CHANGES:
            self.forget(KEPT_CHANGES // 2)
        self._changed.set()
        self._changed = asyncio.Event()
        return body

    def _apply(
        self, version: int, resource: str, key: Key, type_: str, body: Object
    ) -> None:
        objects = self._objects[resource]
        prior = objects.get(key)
        if type_ == "DELETED":
            objects.pop(key, None)
        else:
            objects[key] = body
        if version > self.floor:
            self._history.append(Change(version, resource, key, type_, body, prior))
        self.version = max(version, self.version)

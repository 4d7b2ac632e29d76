"""A Postgres of the tests' own, to be killed, kept from writing, and brought back."""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql

from portal import embedded

START_SECONDS = 120


class OwnPostgres:
    """A server in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._data = folder / "postgres"
        self.start()

    @property
    def host(self) -> str:
        """The folder of its socket."""
        socket = embedded._postgres_socket(self._data)
        assert socket is not None
        return str(socket.parent)

    @property
    def pid(self) -> int:
        """The process that starts all others of it."""
        return int((self._data / "postmaster.pid").read_text().split()[0])

    def start(self, *, file_bytes: int = resource.RLIM_INFINITY) -> None:
        """Start it, also after a crash: it recovers by its log.

        Args:
            file_bytes: how long each of its files may be, as if the disk were full
                then; its log's files have 16 MiB.
        """
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                with _files_at_most(file_bytes):
                    return embedded._start_postgres(self._data)
            except SystemExit:
                # Recovering on a busy machine takes longer than it is waited for there.
                if time.monotonic() > deadline:
                    raise
                time.sleep(1)

    def create_database(self, name: str, *, like: str = "template1") -> None:
        """Make a database as another one is."""
        self._execute("CREATE DATABASE {} TEMPLATE {}", name, like)

    def has(self, name: str) -> bool:
        """Return whether there is such a database."""
        with psycopg.connect(f"host={self.host} user=postgres dbname=postgres") as link:
            found = link.execute(
                "SELECT 1 FROM pg_database WHERE datname = %s", [name]
            ).fetchone()
        return found is not None

    def drop_database(self, name: str) -> None:
        """Remove a database, whoever is connected to it."""
        self._execute("DROP DATABASE IF EXISTS {} WITH (FORCE)", name)

    def _execute(self, statement: str, *names: str) -> None:
        with psycopg.connect(
            f"host={self.host} user=postgres dbname=postgres", autocommit=True
        ) as link:
            link.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))

    def crash(self) -> None:
        """End it at once, as a power cut would, and wait for that."""
        self._end(signal.SIGQUIT)

    def stop(self) -> None:
        """End it; whoever is connected is thrown out."""
        if (self._data / "postmaster.pid").exists():
            self._end(signal.SIGINT)

    def _end(self, how: signal.Signals) -> None:
        pid = self.pid
        os.kill(pid, how)
        self.await_end(pid)

    def await_end(self, pid: int, *, seconds: float = 30) -> None:
        """Wait until a process that started all others is gone."""
        deadline = time.monotonic() + seconds
        while lives(pid):
            assert time.monotonic() < deadline, "Postgres still runs"
            time.sleep(0.05)


@contextmanager
def _files_at_most(count: int) -> Iterator[None]:
    """Have what is started meanwhile write no file beyond so many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (count, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def lives(pid: int) -> bool:
    """Return whether a process runs; one that ended, waited for or not, does not."""
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2][:3]
    except OSError:
        return False

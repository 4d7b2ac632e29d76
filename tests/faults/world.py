"""The portal's own programs as processes that a test may kill and bring back."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import httpx

from portal.embedded import valkey_command
from tests.cluster import credentials
from tests.cluster.processes import Children, free_ports

Found = TypeVar("Found")
UVICORN = (sys.executable, "-m", "uvicorn", "portal.asgi:application")
CELERY = (sys.executable, "-m", "celery", "--app", "portal", "--quiet")
# As the portal runs it, but in one process, so that a kill takes all of it.
WORKER = (
    *("worker", "--pool", "solo", "--loglevel", "warning"),
    *("--without-gossip", "--without-mingle", "--without-heartbeat"),
)


class World:
    """A simulated cluster, a Valkey and workers, over the test's own database."""

    def __init__(self, folder: Path, database_url: str, secret_key: str) -> None:
        self.folder = folder
        self._children = Children(folder)
        self.port = free_ports(1)[0]
        self._tokens = credentials.prepare(folder / "keys", {})
        self._socket = folder / "valkey.sock"
        self._worker_count = self._beat_count = 0
        self.env = {
            "DATABASE_URL": database_url,
            "REDIS_URL": f"unix://{self._socket}",
            "SECRET_KEY": secret_key,
            "SLICEWISE_RUN_DIR": str(folder),
        }

    # The cluster

    def start_server(self) -> None:
        command = [sys.executable, "-m", "simcluster", f"--port={self.port}"]
        command.append(f"--state={self.folder / 'data'}")
        command.append(f"--tokens={self._tokens['tokens.csv']}")
        self._children.start("simcluster", command)
        until(self._server_answers, seconds=30)

    def _server_answers(self) -> bool:
        self._children.check("simcluster")
        with suppress(httpx.TransportError):
            return httpx.get(f"{self.url}/readyz").status_code < 500
        return False

    def kill_server(self) -> None:
        self._children.kill("simcluster")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def kubeconfig(self, user: str) -> str:
        path = credentials.write_kubeconfig(
            self.folder / f"{user}.kubeconfig",
            server=self.url,
            ca_file="/nonexistent-not-used-over-http",
            user=user,
            token=self._tokens.tokens[user],
        )
        return path.read_text()

    # The broker

    def start_valkey(self) -> None:
        self._children.start("valkey", valkey_command(self._socket))
        until(self._socket.exists, seconds=10)

    def kill_valkey(self) -> None:
        self._children.kill("valkey")
        self._socket.unlink(missing_ok=True)

    @property
    def broker(self) -> str:
        return f"redis+socket://{self._socket}"

    # Workers

    def start_worker(self, *, fault: str = "") -> str:
        self._worker_count += 1
        name = f"worker-{self._worker_count}"
        hostname = ("--hostname", f"{name}@test")
        self._start(name, fault, [*CELERY, *WORKER, *hostname])
        return name

    def start_beat(self) -> str:
        self._beat_count += 1
        name = f"beat-{self._beat_count}"
        schedule = ("--schedule", str(self.folder / f"{name}-schedule"))
        self._start(name, "", [*CELERY, "beat", *schedule])
        return name

    def _start(self, name: str, fault: str, command: list[str]) -> None:
        env = {
            **self.env,
            "SLICEWISE_FAULT": fault,
            "DJANGO_SETTINGS_MODULE": "portal.settings",
        }
        pairs = [f"{key}={value}" for key, value in env.items()]
        self._children.start(name, ["env", *pairs, *command])

    # The portal's pages and API

    def start_web(self, *, fault: str = "") -> tuple[str, str]:
        """Return the name and the address of a web process that answers."""
        port = free_ports(1)[0]
        name, address = f"web-{port}", f"http://127.0.0.1:{port}"
        pool = "SLICEWISE_DATABASE_POOL=30"
        self._start(name, fault, ["env", pool, *UVICORN, f"--port={port}"])

        def answers() -> bool:
            self._children.check(name)
            with suppress(httpx.TransportError):
                return httpx.get(f"{address}/healthz").status_code == 200
            return False

        until(answers, seconds=60)
        return name, address

    def is_running(self, name: str) -> bool:
        return self._children.is_running(name)

    def kill(self, name: str) -> None:
        self._children.kill(name)

    def log(self, name: str) -> str:
        return self._children.log(name)

    def workers(self) -> list[str]:
        return [name for name in self._children.pids() if name.startswith("worker")]

    def stop_workers(self) -> None:
        for name in self.workers():
            self._children.kill(name)

    def close(self) -> None:
        self._children.stop_all()


def until(condition: Callable[[], Found], *, seconds: float) -> Found:
    """Return the first true answer; fail after so many seconds."""
    deadline = time.monotonic() + seconds
    while True:
        if found := condition():
            return found
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.1)


def database_url(settings: dict[str, Any]) -> str:
    """Return a database's address as DATABASE_URL takes it."""
    return f"postgres://postgres@/{settings['HOST']}/{settings['NAME']}"

"""The API servers that the contract tests run against: real ones and the simulated one."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import httpx

from tests.cluster import credentials
from tests.cluster.client import Client
from tests.cluster.controlplane import ControlPlane
from tests.cluster.processes import Children

SIMULATED = "sim"


class Server(Protocol):
    """What a test may ask of an API server beyond its REST interface."""

    name: str
    minor: int

    def client(self, user: str = credentials.ADMIN) -> Client:
        """Return the one client of a user, whose connections last as long as the server."""

    def forget_history(self) -> None:
        """Forget every resourceVersion but the newest; connections break."""


@dataclass(slots=True)
class _Clients:
    """Clients by user; closing them all is the server's duty."""

    _made: dict[str, Client] = field(default_factory=dict)

    def get(
        self, user: str, base_url: str, token: str | None, ca_file: Path | None
    ) -> Client:
        if user not in self._made:
            self._made[user] = Client(base_url, token, ca_file)
        return self._made[user]

    def close(self) -> None:
        for client in self._made.values():
            client.close()


class RealServer:
    """A control plane of `tests.cluster`."""

    def __init__(self, cluster: ControlPlane) -> None:
        self.name = cluster.version
        self.minor = int(cluster.version.split(".")[1])
        self.cluster = cluster
        self._clients = _Clients()

    def client(self, user: str = credentials.ADMIN) -> Client:
        cluster = self.cluster
        token = cluster.credentials.tokens.get(user)
        return self._clients.get(user, cluster.server, token, cluster.ca_file)

    def forget_history(self) -> None:
        self._clients.close()
        self.cluster.compact()
        self.cluster.restart_api_server()

    def close(self) -> None:
        self._clients.close()


class SimulatedServer:
    """`python -m simcluster`, started with the same tokens as a real API server.

    It prints the address that it serves as the first line on stdout, and forgets history on
    POST /simcluster/forget, which asks for no rights.
    """

    name = SIMULATED
    minor = 37

    def __init__(self, state: Path) -> None:
        self._tokens = credentials.prepare(state / "keys", {})
        self._children = Children(state)
        self._clients = _Clients()
        self._children.start(
            "simcluster",
            [
                sys.executable,
                "-m",
                "simcluster",
                "--port=0",
                f"--state={state / 'data'}",
                f"--tokens={self._tokens['tokens.csv']}",
            ],
        )
        self._url = self._wait_for_address()

    def _wait_for_address(self) -> str:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            self._children.check()
            for line in self._children.log("simcluster").splitlines():
                if line.startswith("http"):
                    return line.strip()
            time.sleep(0.05)
        raise AssertionError(f"no address:\n{self._children.log('simcluster')}")

    def client(self, user: str = credentials.ADMIN) -> Client:
        return self._clients.get(user, self._url, self._tokens.tokens.get(user), None)

    def forget_history(self) -> None:
        httpx.post(f"{self._url}/simcluster/forget").raise_for_status()

    def close(self) -> None:
        self._clients.close()
        self._children.stop_all()


@contextlib.contextmanager
def start(name: str) -> Iterator[RealServer | SimulatedServer]:
    """Start a server by name: "sim", or a version of Kubernetes."""
    with contextlib.ExitStack() as stack:
        if name == SIMULATED:
            state = Path(
                stack.enter_context(tempfile.TemporaryDirectory(prefix="simcluster-"))
            )
            server: RealServer | SimulatedServer = SimulatedServer(state)
        else:
            server = RealServer(stack.enter_context(ControlPlane(name)))
        stack.callback(server.close)
        yield server


def wanted(names: list[str]) -> list[str]:
    """Return the names that SLICEWISE_API (a comma-separated list) allows; all when unset."""
    chosen = os.environ.get("SLICEWISE_API")
    return [name for name in names if not chosen or name in chosen.split(",")]

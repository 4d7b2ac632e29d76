"""API servers that the watcher tests start, kill, swap and bring back."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import httpx

from tests.cluster import credentials
from tests.cluster.client import Client, path_of
from tests.cluster.controlplane import ControlPlane
from tests.cluster.processes import Children, free_ports


class SimServer:
    """The simulated API server on a port of its own; its state outlives it."""

    name = "sim"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tokens = credentials.prepare(folder / "keys", {})
        self._children = Children(folder)
        self.port = free_ports(1)[0]
        self.state = folder / "data"
        self._client: Client | None = None
        self.start()

    def start(self) -> None:
        self._children.start(
            "simcluster",
            [
                sys.executable,
                *("-m", "simcluster", f"--port={self.port}", f"--state={self.state}"),
                f"--tokens={self._tokens['tokens.csv']}",
            ],
        )
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            self._children.check()
            try:
                if httpx.get(f"{self.url}/readyz").status_code < 500:
                    return
            except httpx.TransportError:
                time.sleep(0.05)
        raise AssertionError(self._children.log("simcluster"))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        return self._children.pids()["simcluster"]

    def kill(self) -> None:
        self._children.kill("simcluster")

    def restart(self) -> None:
        self.kill()
        self.start()

    def become_another(self) -> None:
        """Be killed and come back at the same address as a cluster just made."""
        self.kill()
        self.state = self._folder / f"data-{time.time_ns()}"
        self.start()

    def forget_history(self) -> None:
        httpx.post(f"{self.url}/simcluster/forget").raise_for_status()

    def client(self) -> Client:
        if self._client is None:
            token = self._tokens.tokens[credentials.ADMIN]
            self._client = Client(self.url, token, None)
        return self._client

    def kubeconfig(self, user: str = credentials.ADMIN, token: str = "") -> Path:
        return credentials.write_kubeconfig(
            self._folder / f"{user}-{time.time_ns()}.kubeconfig",
            server=self.url,
            ca_file="/nonexistent-not-used-over-http",
            user=user,
            token=token or self._tokens.tokens[user],
        )

    def close(self) -> None:
        self.client().close()
        self._children.stop_all()


class RealServer:
    """A real control plane."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self.name = plane.version

    @property
    def port(self) -> int:
        return int(self._plane.server.rpartition(":")[2])

    def kill(self) -> None:
        self._plane.kill_api_server()

    def start(self) -> None:
        self._plane.start_api_server()

    def become_another(self) -> None:
        """Come back at the same address as a cluster just made."""
        self._plane.become_another()

    def restart(self) -> None:
        self._plane.restart_api_server(crash=True)

    def forget_history(self) -> None:
        self._plane.compact()
        self._plane.restart_api_server()

    def client(self) -> Client:
        return self._plane.admin

    def kubeconfig(self, user: str = credentials.ADMIN) -> Path:
        return self._plane.kubeconfig(user)

    def empty(self) -> None:
        """Take away what `fill` and its tests make, but the namespace."""
        client = self.client()
        for kind in ("ResourceClaim", "ResourceClaimTemplate"):
            for each in client.list(kind, "lab")["items"]:
                client.delete({"kind": kind, **each})
        for kind in ("ResourceSlice", "DeviceClass", "Node"):
            client.call("DELETE", path_of(kind))

    def close(self) -> None:
        self.empty()

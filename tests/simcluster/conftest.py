"""The simulated cluster as a process of its own, as the demo runs it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.client import Client
from tests.cluster.processes import Children


@dataclass
class Simulated:
    """One simulated cluster and its state."""

    state: Path
    arguments: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._children = Children(self.state.parent)
        self._made: dict[str, Client] = {}
        self._started = 0

    def start(self) -> str:
        """Start it; return the address that it prints."""
        self._started += 1
        name = f"simcluster-{self._started}"
        command = [sys.executable, "-m", "simcluster", f"--state={self.state}"]
        self._children.start(name, [*command, *self.arguments])
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            self._children.check()
            lines = self._children.log(name).splitlines()
            if lines and lines[0].startswith("http"):
                return lines[0]
            time.sleep(0.02)
        raise AssertionError(self._children.log(name))

    def kill(self) -> None:
        """End it as a crash would."""
        self._children.kill(f"simcluster-{self._started}")
        self.close_clients()

    def client(self, context: str = "admin") -> Client:
        """Return a client with the address and token of a context of its kubeconfig."""
        config = self.kubeconfig()
        token = next(
            u["user"]["token"] for u in config["users"] if u["name"] == context
        )
        if context not in self._made:
            self._made[context] = Client(
                config["clusters"][0]["cluster"]["server"], token
            )
        return self._made[context]

    def kubeconfig(self) -> dict[str, Any]:
        """Return the kubeconfig beside the state."""
        return json.loads(Path(f"{self.state}.kubeconfig").read_text())

    def close_clients(self) -> None:
        for client in self._made.values():
            client.close()
        self._made.clear()

    def close(self) -> None:
        self.close_clients()
        self._children.stop_all()


Maker = Callable[..., Simulated]


@pytest.fixture(scope="session")
def simulate(tmp_path_factory) -> Iterator[Maker]:
    """Return a maker of simulated clusters, which end with the tests."""
    made: list[Simulated] = []

    def make(*arguments: str) -> Simulated:
        folder = tmp_path_factory.mktemp("simulated")
        made.append(Simulated(folder / "state", arguments))
        made[-1].start()
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture(scope="session")
def demo(simulate) -> Simulated:
    """Return the demo's cluster, once everybody who fits is placed.

    Two pods do not fit, and are told so; one waits for its device to be attached.
    """
    cluster = simulate("--attach=1")
    admin = cluster.client()

    def is_settled() -> bool:
        found = pending(admin)
        return len(found) == 3 and sum(map(is_told, found)) == 2

    eventually(is_settled)
    return cluster


def pending(admin: Client) -> list[dict[str, Any]]:
    pods = admin.list("Pod")["items"]
    return [pod for pod in pods if pod["status"]["phase"] == "Pending"]


def is_told(pod: dict[str, Any]) -> bool:
    return bool(pod["status"].get("conditions"))


def eventually(condition: Callable[[], Any], seconds: float = 30) -> Any:
    deadline = time.monotonic() + seconds
    while not (answer := condition()):
        if time.monotonic() > deadline:
            pytest.fail(f"not true after {seconds} s")
        time.sleep(0.05)
    return answer

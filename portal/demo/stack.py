"""What the demo consists of: its addresses, its environment and its programs."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from portal import embedded
from portal.demo.children import Child
from portal.demo.people import CLUSTER

KUBERNETES = "1.37.2"
MINOR = KUBERNETES.rsplit(".", 1)[0]
WORKER_POOL = ("--pool", "threads", "--concurrency", "2")


@dataclass
class Stack:
    """One run of the demo.

    Attributes:
        port: where the portal answers, on loopback.
        cluster: "simulated", "real", or "given" for the one of SLICEWISE_KUBECONFIG.
        owns: the embedded servers that this run started and will stop.
    """

    port: int
    cluster: str
    state: Path = field(default_factory=embedded.state_dir)
    env: dict[str, str] = field(default_factory=dict)
    owns: set[str] = field(default_factory=set)

    @property
    def address(self) -> str:
        """Where the portal answers."""
        return f"http://localhost:{self.port}"

    @property
    def run_dir(self) -> Path:
        """The folder of sockets."""
        return Path(self.env["SLICEWISE_RUN_DIR"])

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig of the demo's cluster; there once the cluster is ready."""
        if self.cluster == "given":
            return Path(os.environ["SLICEWISE_KUBECONFIG"]).expanduser().resolve()
        names = {"simulated": "state.kubeconfig", "real": "portal.kubeconfig"}
        return self.state / "cluster" / self.cluster / names[self.cluster]

    def open_databases(self) -> None:
        """Find or start Postgres and Valkey, and make the children's environment."""
        running = set(embedded.pids())
        given = os.environ
        self.env = {
            **given,
            "DATABASE_URL": given.get("DATABASE_URL") or embedded.postgres_url(),
            "REDIS_URL": given.get("REDIS_URL") or f"unix://{embedded.valkey_socket()}",
            "SLICEWISE_STATE_DIR": str(self.state),
            "SLICEWISE_RUN_DIR": given.get("SLICEWISE_RUN_DIR")
            or str(embedded.run_dir()),
            "SLICEWISE_DEMO": "true",
            "PYTHONUNBUFFERED": "1",
        }
        self.owns = set(embedded.pids()) - running

    def child(self, name: str, *command: str) -> Child:
        """Return a program of the demo, not started yet."""
        logs = self.state / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        return Child(name, list(command), self.env, logs / f"{name}.log", embedded.ROOT)

    def python(self, name: str, *arguments: str, **env: str) -> Child:
        """Return a Python program of the demo, not started yet."""
        child = self.child(name, sys.executable, *arguments)
        return replace(child, env={**child.env, **env})

    @property
    def engine_binary(self) -> Path:
        """The engine of the demo's Kubernetes minor; `engine/build.py` makes it."""
        return embedded.ROOT / "engine" / "bin" / f"engine-{MINOR}"

    def engine(self) -> Child:
        """The engine, on the socket where its clients look for it."""
        path = self.run_dir / f"engine-{MINOR}.sock"
        return self.child("engine", str(self.engine_binary), "-socket", str(path))

    def end_leftover_engine(self) -> None:
        """End an engine that some command started on demand; ours takes its place."""
        for path in self.run_dir.glob("engine-*.pid"):
            with suppress(OSError, ValueError):
                pid = int(path.read_text().split()[0])
                if b"engine-" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(pid, signal.SIGTERM)

    def control_plane(self) -> Child | None:
        """The demo's cluster; None where one was given."""
        if self.cluster == "given":
            return None
        folder = self.kubeconfig.parent
        folder.mkdir(parents=True, exist_ok=True)
        if self.cluster == "real":
            return self.python(
                "cluster",
                *("-m", "tests.cluster.demo", "--version", KUBERNETES),
                *("--state", str(folder)),
            )
        return self.python(
            "cluster",
            *("-m", "simcluster", "--port", str(self._kept_port(folder))),
            *("--state", str(folder / "state"), "--version", KUBERNETES),
            *("--engine-run-dir", str(self.run_dir)),
        )

    def web(self) -> Child:
        """The portal itself."""
        return self.python(
            "web",
            *("-m", "uvicorn", "portal.asgi:application", "--host", "127.0.0.1"),
            *("--port", str(self.port), "--lifespan", "off", "--no-access-log"),
            *("--timeout-graceful-shutdown", "2"),
            SLICEWISE_DATABASE_POOL="30",
        )

    def background(self) -> list[Child]:
        """Watcher, worker and beat."""
        celery = ("-m", "celery", "--app", "portal", "--quiet")
        schedule = str(self.run_dir / "beat-schedule")
        return [
            self.python("watcher", "manage.py", "watch"),
            self.python(
                "worker",
                *(*celery, "worker", *WORKER_POOL, "--loglevel", "warning"),
                *("--without-gossip", "--without-mingle", "--without-heartbeat"),
            ),
            self.python(
                "beat",
                *(*celery, "beat", "--loglevel", "warning", "--schedule", schedule),
                *("--pidfile", ""),
            ),
        ]

    def cluster_is_read(self) -> bool:
        """Return whether the watcher has written the demo's cluster down once."""
        import psycopg

        question = (
            "SELECT 1 FROM inventory_cluster"
            " WHERE name = %s AND heard_at IS NOT NULL AND revision > 0"
        )
        address = self.env["DATABASE_URL"]
        if address.startswith("postgres://postgres@//"):
            # A socket's folder, as django-environ writes it; libpq wants it apart.
            folder, _, name = address.removeprefix("postgres://postgres@/").rpartition(
                "/"
            )
            address = f"host={folder} dbname={name} user=postgres"
        try:
            with psycopg.connect(address, connect_timeout=5) as link:
                return link.execute(question, [CLUSTER]).fetchone() is not None
        except psycopg.Error:
            return False

    @staticmethod
    def _kept_port(folder: Path) -> int:
        """Return the port that this cluster had before, if it is free, else a new one."""
        path = folder / "port.json"
        try:
            port = int(json.loads(path.read_text()))
        except (OSError, ValueError):
            port = 0
        if not port or not port_is_free(port):
            port = free_port()
            path.write_text(json.dumps(port))
        return port


def free_port() -> int:
    """Return a loopback port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def port_is_free(port: int) -> bool:
    """Return whether a loopback port can be listened on now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True

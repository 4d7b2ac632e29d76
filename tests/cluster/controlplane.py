"""A real Kubernetes control plane on loopback: etcd, API server, scheduler, controllers.

There is no kubelet: nodes are plain Node objects, pods that the scheduler binds stay
Pending, and claims go as far as allocated and reserved, which is what is tested here. All
programs are children of this process and die with it, however it ends.

    with ControlPlane("1.37.2") as cluster:
        cluster.add_node("n1", {"zone": "a"})
        cluster.admin.list("Node")

    python -m tests.cluster.controlplane --version 1.37.2 --state DIR
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import fcntl
import json
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO

import httpx
from ruamel.yaml import YAML

from tests.cluster import build, credentials
from tests.cluster.client import Client, Object, Refused, path_of
from tests.cluster.commands import Commands, Settings
from tests.cluster.processes import Children, ProgramEnded, free_ports

READY_SECONDS = 120
START_ATTEMPTS = 3
PREFIX = "slicewise-controlplane-"
RBAC_FILE = Path(__file__).parents[2] / "deploy" / "rbac.yaml"
RBAC_GROUP = "rbac.authorization.k8s.io"
RESOURCES = {"cpu": "64", "memory": "512Gi", "pods": "110"}
NODE_STATUS = {
    "allocatable": RESOURCES,
    "capacity": RESOURCES,
    "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
}


class NotReady(Exception):
    """The control plane did not come up; the text says where to look."""


class ControlPlane:
    """One control plane: started on entering, gone on leaving.

    Args:
        version: A version that `build.supported_versions()` pins, such as "1.37.2".
        gates: Feature gates of every component, by name.
        runtime_config: The API server's `--runtime-config`, such as
            {"resource.k8s.io/v1beta1": True}.
        users: Groups of further users that get a token each, by user name.
        state: Folder for data, keys and logs; a temporary one, removed at the end, when
            None. A folder that was used before brings the same cluster back.
        flags: Further flags of a component, by its name.
    """

    def __init__(
        self,
        version: str,
        *,
        gates: Mapping[str, bool] | None = None,
        runtime_config: Mapping[str, bool] | None = None,
        users: Mapping[str, tuple[str, ...]] | None = None,
        state: Path | None = None,
        flags: Mapping[str, list[str]] | None = None,
    ) -> None:
        """Remember what to start; nothing is started yet."""
        self.version = version
        self._settings = Settings(gates or {}, runtime_config or {}, flags or {})
        self._users = dict(users or {})
        self._wanted_state = state

    def __enter__(self) -> ControlPlane:
        """Start everything and wait until it serves.

        Raises:
            build.BuildFailed: The programs could not be built.
            NotReady: They did not come up.
        """
        self.binaries = build.build(self.version)
        self.state, self._lock = _take_state(self._wanted_state)
        self.credentials = credentials.prepare(self.state / "keys", self._users)
        self._children = Children(self.state)
        try:
            self._start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop everything; remove the state folder when it is a temporary one."""
        self._children.stop_all()
        if hasattr(self, "admin"):
            self.admin.close()
        if self._wanted_state is None:
            shutil.rmtree(self.state, ignore_errors=True)
        self._lock.close()

    @property
    def server(self) -> str:
        """Return the API server's address."""
        return self._commands.server

    @property
    def ca_file(self) -> Path:
        """Return the file with the certificate that signed the server's."""
        return Path(self.credentials["ca.crt"])

    @property
    def pids(self) -> dict[str, int]:
        """Return the pid of each component."""
        return self._children.pids()

    def log(self, component: str) -> str:
        """Return what a component has logged so far."""
        return self._children.log(component)

    def client(self, user: str = credentials.ADMIN) -> Client:
        """Return a client with a user's own token."""
        return Client(self.server, self.credentials.tokens[user], self.ca_file)

    def kubeconfig(self, user: str = credentials.ADMIN) -> Path:
        """Return the path of a user's kubeconfig, written anew."""
        name = user.replace(":", "-")
        return credentials.write_kubeconfig(
            self.state / f"{name}.kubeconfig",
            server=self.server,
            ca_file=str(self.ca_file),
            user=user,
            token=self.credentials.tokens[user],
        )

    def service_account_token(self, namespace: str, name: str) -> str:
        """Return a token of a ServiceAccount, good for an hour."""
        path = f"{path_of('ServiceAccount', namespace, name)}/token"
        version = "authentication.k8s.io/v1"
        request = {"apiVersion": version, "kind": "TokenRequest", "spec": {}}
        return str(self.admin.call("POST", path, request)["status"]["token"])

    def add_node(self, name: str, labels: Mapping[str, str] | None = None) -> Object:
        """Create a node that is Ready and takes pods; returns what is stored."""
        labels = {"kubernetes.io/hostname": name} | dict(labels or {})
        metadata = {"name": name, "labels": labels}
        return self.apply([{"apiVersion": "v1", "kind": "Node", "metadata": metadata}])[
            0
        ]

    def apply(self, objects: Iterable[Object]) -> list[Object]:
        """Create each object, or make the stored one like it; status is written too.

        A Node without status becomes a Ready one, and loses the taint that an API server
        gives to new nodes. Returns what is stored, in the order of `objects`.

        Raises:
            Refused: The API server did not take one; those before it are stored.
        """
        return [self._apply(json.loads(json.dumps(each))) for each in objects]

    def _apply(self, manifest: Object) -> Object:
        is_node = manifest["kind"] == "Node"
        status = manifest.pop("status", NODE_STATUS if is_node else None)
        stored = self._create_or_replace(manifest)
        if status:
            stored = self.admin.patch(stored, {"status": status}, "status")
        if is_node:
            taints = manifest.get("spec", {}).get("taints", [])
            stored = self.admin.patch(stored, {"spec": {"taints": taints}})
        return stored

    def _create_or_replace(self, manifest: Object) -> Object:
        try:
            return self.admin.create(manifest)
        except Refused as error:
            if error.reason != "AlreadyExists":
                raise
        metadata = manifest["metadata"]
        path = path_of(manifest["kind"], metadata.get("namespace"), metadata["name"])
        stored = self.admin.call("GET", path)
        metadata["resourceVersion"] = stored["metadata"]["resourceVersion"]
        return self.admin.replace(manifest)

    def install_rbac(self) -> None:
        """Apply `deploy/rbac.yaml`; what its ServiceAccount may, the user slicewise may."""
        user = {"apiGroup": RBAC_GROUP, "kind": "User", "name": credentials.PORTAL}
        for each in read_manifests(RBAC_FILE):
            subjects = each.get("subjects", [])
            if any(subject["kind"] == "ServiceAccount" for subject in subjects):
                subjects.append(user)
            self.apply([each])

    def compact(self) -> None:
        """Make etcd forget every revision but the newest, so that old ones are Gone."""
        url = f"{self._commands.etcd_url}/v3"
        status = httpx.post(f"{url}/maintenance/status", json={}).raise_for_status()
        wanted = {"revision": status.json()["header"]["revision"], "physical": True}
        httpx.post(f"{url}/kv/compaction", json=wanted).raise_for_status()

    def kill_api_server(self) -> None:
        """End the API server as a crash would; `start_api_server` brings it back."""
        self._children.kill("kube-apiserver")
        self.admin.close()

    def start_api_server(self) -> None:
        """Start the API server again at the same address, and what gave up without it."""
        self._children.start("kube-apiserver", self._commands.api_server())
        self._wait_for("/readyz", "etcd", "kube-apiserver")
        self._start_controllers()

    def restart_api_server(self, *, crash: bool = False) -> None:
        """Stop the API server, or kill it, and start it again at the same address."""
        (self._children.kill if crash else self._children.stop)("kube-apiserver")
        self.admin.close()
        self.start_api_server()

    def set_gates(self, gates: Mapping[str, bool]) -> None:
        """Let what is started from now on have other feature gates."""
        settings = dataclasses.replace(self._settings, gates=gates)
        self._commands = dataclasses.replace(self._commands, settings=settings)

    def ended(self) -> list[str]:
        """Return the components that have ended by themselves."""
        return [name for name in self.pids if not self._children.is_running(name)]

    def revive(self) -> None:
        """Start scheduler and controllers again if they have ended."""
        self._start_controllers()

    def become_another(self) -> None:
        """Be a cluster that was just made, at the same address and with the same keys."""
        self._children.stop_all()
        self.admin.close()
        shutil.rmtree(self.state / "etcd")
        self._children.start("etcd", self._commands.etcd())
        self.start_api_server()

    def _start(self) -> None:
        for attempt in range(1, START_ATTEMPTS + 1):
            etcd, peer, server = free_ports(3)
            self._commands = Commands(
                self.binaries,
                self.state,
                self.credentials,
                self._settings,
                (etcd, peer, server),
            )
            try:
                return self._start_all()
            except ProgramEnded as error:
                self._children.stop_all()
                is_port_taken = "address already in use" in str(error)
                if attempt == START_ATTEMPTS or not is_port_taken:
                    raise NotReady(str(error)) from error
        return None

    def _start_all(self) -> None:
        self._children.start("etcd", self._commands.etcd())
        self._children.start("kube-apiserver", self._commands.api_server())
        self.admin = self.client()
        self._wait_for("/readyz", "etcd", "kube-apiserver")
        self._start_controllers()

    def _start_controllers(self) -> None:
        """Start scheduler and controllers, or those that gave up without an API server."""
        commands = {
            "kube-scheduler": self._commands.scheduler,
            "kube-controller-manager": self._commands.controller_manager,
        }
        for name, command in commands.items():
            if not self._children.is_running(name):
                kubeconfig = self.kubeconfig(f"system:{name}")
                self._children.start(name, command(kubeconfig))
        self._wait_for("/api/v1/namespaces/default/serviceaccounts/default")
        self._children.check()

    def _wait_for(self, path: str, *needed: str) -> None:
        """Wait until a path answers, as long as the needed programs (or all) run."""
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            self._children.check(*needed)
            with contextlib.suppress(httpx.TransportError):
                if self.admin.request("GET", path).is_success:
                    return
            time.sleep(0.05)
        tail = "\n".join(self.log("kube-apiserver").splitlines()[-8:])
        raise NotReady(
            f"{path} does not answer after {READY_SECONDS} s; kube-apiserver's log ends:\n{tail}"
        )


def read_manifests(path: Path) -> list[Object]:
    """Return the objects of a YAML file, in its order."""
    documents = YAML(typ="safe").load_all(path.read_text())
    return [document for document in documents if document]


def _take_state(wanted: Path | None) -> tuple[Path, IO[str]]:
    """Return the state folder and its lock, held.

    Raises:
        NotReady: Another control plane holds it.
    """
    if wanted is None:
        _remove_abandoned()
        state = Path(tempfile.mkdtemp(prefix=PREFIX))
    else:
        state = wanted.resolve()
        state.mkdir(parents=True, exist_ok=True)
    lock = (state / "lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        lock.close()
        raise NotReady(
            f"{state} is in use by another control plane; choose another folder."
        ) from error
    return state, lock


def _remove_abandoned() -> None:
    """Remove temporary state whose control plane was killed: nobody holds its lock.

    What is younger than a minute may be about to take its lock, and is left.
    """
    for state in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError), (state / "lock").open() as lock:
            if time.time() - state.stat().st_mtime < 60:
                continue
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(state, ignore_errors=True)


def main() -> int:
    """Run one control plane until interrupted; print the path of a kubeconfig."""
    options = _options()
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    try:
        with ControlPlane(
            options.version,
            gates=options.feature_gates,
            runtime_config=options.runtime_config,
            state=options.state,
        ) as cluster:
            _fill(cluster, options)
            build.say(str(cluster.kubeconfig(options.user)))
            stop.wait()
    except (build.BuildFailed, NotReady, Refused) as error:
        sys.stderr.write(f"{error}\n")
        return 3
    return 0


def _options() -> argparse.Namespace:
    newest = list(build.supported_versions().values())[-1]
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    add = parser.add_argument
    add("--version", default=newest)
    add("--state", type=Path, help="folder for data, keys and logs; kept")
    add("--user", default=credentials.ADMIN, help="whose kubeconfig to print")
    add("--rbac", action="store_true", help="apply deploy/rbac.yaml")
    add("--apply", type=Path, nargs="*", default=[], metavar="FILE")
    add("--feature-gates", type=_pairs, default={}, metavar="A=true,B=false")
    add("--runtime-config", type=_pairs, default={}, metavar="API=true,…")
    return parser.parse_args()


def _fill(cluster: ControlPlane, options: argparse.Namespace) -> None:
    if options.rbac:
        cluster.install_rbac()
    for path in options.apply:
        cluster.apply(read_manifests(path))


def _pairs(text: str) -> dict[str, bool]:
    pairs = (part.partition("=") for part in text.split(",") if part)
    return {key: value.lower() == "true" for key, _, value in pairs}


if __name__ == "__main__":
    raise SystemExit(main())

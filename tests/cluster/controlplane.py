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
from typing import IO, Any

import httpx
from ruamel.yaml import YAML

from tests.cluster import build, credentials
from tests.cluster.client import Client, Object, Refused, path_of
from tests.cluster.processes import Children, ProgramEnded, free_ports

READY_SECONDS = 60
START_ATTEMPTS = 3
PREFIX = "slicewise-controlplane-"
RBAC_FILE = Path(__file__).parents[2] / "deploy" / "rbac.yaml"
RBAC_GROUP = "rbac.authorization.k8s.io"
CONTROLLERS = "*,-node-lifecycle-controller,-node-ipam-controller"
NODE_STATUS = {
    "allocatable": {"cpu": "64", "memory": "512Gi", "pods": "110"},
    "capacity": {"cpu": "64", "memory": "512Gi", "pods": "110"},
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
        self._gates = dict(gates or {})
        self._runtime_config = dict(runtime_config or {})
        self._users = dict(users or {})
        self._wanted_state = state
        self._flags = dict(flags or {})
        self._lock: IO[str] | None = None

    def __enter__(self) -> ControlPlane:
        """Start everything and wait until it serves.

        Raises:
            build.BuildFailed: The programs could not be built.
            NotReady: They did not come up.
        """
        self.binaries = build.build(self.version)
        self.state = self._take_state()
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
        if self._lock:
            self._lock.close()

    @property
    def server(self) -> str:
        """Return the API server's address."""
        return f"https://127.0.0.1:{self._ports[2]}"

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

    def add_node(self, name: str, labels: Mapping[str, str] | None = None) -> Object:
        """Create a node that is Ready and takes pods; returns what is stored."""
        labels = {"kubernetes.io/hostname": name} | dict(labels or {})
        node = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
        }
        return self.apply([node])[0]

    def apply(self, objects: Iterable[Object]) -> list[Object]:
        """Create each object, or make the stored one like it; status is written too.

        A Node without status becomes a Ready one, and loses the taint that an API server
        gives to new nodes. Returns what is stored, in the order of `objects`.

        Raises:
            Refused: The API server did not take one; those before it are stored.
        """
        return [self._apply(json.loads(json.dumps(each))) for each in objects]

    def _apply(self, manifest: Object) -> Object:
        status = manifest.pop(
            "status", NODE_STATUS if manifest["kind"] == "Node" else None
        )
        stored = self._create_or_replace(manifest)
        if status:
            stored = self.admin.patch(stored, {"status": status}, "status")
        if manifest["kind"] == "Node":
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
        for each in read_manifests(RBAC_FILE):
            subjects = each.get("subjects", [])
            if any(subject["kind"] == "ServiceAccount" for subject in subjects):
                subjects.append(
                    {"apiGroup": RBAC_GROUP, "kind": "User", "name": credentials.PORTAL}
                )
            self.apply([each])

    def service_account_token(self, namespace: str, name: str) -> str:
        """Return a token of a ServiceAccount, good for an hour."""
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {},
        }
        path = path_of("ServiceAccount", namespace, name)
        return str(self.admin.call("POST", f"{path}/token", request)["status"]["token"])

    def compact(self) -> None:
        """Make etcd forget every revision but the newest, so that old ones are Gone."""
        etcd = f"http://127.0.0.1:{self._ports[0]}"
        status = httpx.post(f"{etcd}/v3/maintenance/status", json={}).raise_for_status()
        revision = status.json()["header"]["revision"]
        answer = httpx.post(
            f"{etcd}/v3/kv/compaction", json={"revision": revision, "physical": True}
        )
        answer.raise_for_status()

    def restart_api_server(self, *, crash: bool = False) -> None:
        """Stop the API server, or kill it, and start it again at the same address."""
        (self._children.kill if crash else self._children.stop)("kube-apiserver")
        self.admin.close()
        self._children.start("kube-apiserver", self._api_server_command())
        self._wait_ready()
        self._start_controllers()

    def _take_state(self) -> Path:
        if self._wanted_state is None:
            _remove_abandoned()
            state = Path(tempfile.mkdtemp(prefix=PREFIX))
        else:
            state = self._wanted_state.resolve()
            state.mkdir(parents=True, exist_ok=True)
        self._lock = (state / "lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise NotReady(
                f"{state} is in use by another control plane; choose another folder."
            ) from error
        return state

    def _start(self) -> None:
        for attempt in range(1, START_ATTEMPTS + 1):
            self._ports = free_ports(3)
            try:
                return self._start_on_ports()
            except ProgramEnded as error:
                self._children.stop_all()
                if attempt == START_ATTEMPTS or "address already in use" not in str(
                    error
                ):
                    raise NotReady(str(error)) from error
        return None

    def _start_on_ports(self) -> None:
        self._children.start("etcd", self._etcd_command())
        self._children.start("kube-apiserver", self._api_server_command())
        self.admin = self.client()
        self._wait_ready()
        self._start_controllers()

    def _start_controllers(self) -> None:
        """Start scheduler and controllers, or those that gave up without an API server."""
        for name in ("kube-scheduler", "kube-controller-manager"):
            if not self._children.is_running(name):
                self._children.start(name, self._controller_command(name))
        self._wait_for("/api/v1/namespaces/default/serviceaccounts/default")
        self._children.check()

    def _wait_ready(self) -> None:
        self._wait_for("/readyz", "etcd", "kube-apiserver")

    def _wait_for(self, path: str, *needed: str) -> None:
        """Wait until a path answers, as long as the needed programs (or all) run."""
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            self._children.check(*needed)
            with contextlib.suppress(httpx.TransportError):
                if self.admin.request("GET", path).is_success:
                    return
            time.sleep(0.05)
        raise NotReady(
            f"{path} does not answer after {READY_SECONDS} s; see {self.state}."
        )

    def _etcd_command(self) -> list[str]:
        client, peer = (f"http://127.0.0.1:{port}" for port in self._ports[:2])
        return [
            str(self.binaries.etcd),
            f"--data-dir={self.state / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            "--unsafe-no-fsync",
            "--log-level=warn",
            *self._flags.get("etcd", []),
        ]

    def _api_server_command(self) -> list[str]:
        keys = self.credentials
        return [
            self.binaries["kube-apiserver"],
            f"--etcd-servers=http://127.0.0.1:{self._ports[0]}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self._ports[2]}",
            f"--cert-dir={self.state / 'certs'}",
            f"--tls-cert-file={keys['tls.crt']}",
            f"--tls-private-key-file={keys['tls.key']}",
            f"--token-auth-file={keys['tokens.csv']}",
            "--authorization-mode=RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-signing-key-file={keys['sa.key']}",
            f"--service-account-key-file={keys['sa.pub']}",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--disable-admission-plugins=ServiceAccount",
            *_mapping_flag("--runtime-config", self._runtime_config),
            *_mapping_flag("--feature-gates", self._gates),
            *self._flags.get("kube-apiserver", []),
        ]

    def _controller_command(self, name: str) -> list[str]:
        common = [
            self.binaries[name],
            f"--kubeconfig={self.kubeconfig(f'system:{name}')}",
            "--leader-elect=false",
            "--secure-port=0",
            *_mapping_flag("--feature-gates", self._gates),
            *self._flags.get(name, []),
        ]
        if name == "kube-controller-manager":
            common += [
                f"--controllers={CONTROLLERS}",
                "--use-service-account-credentials",
                f"--service-account-private-key-file={self.credentials['sa.key']}",
            ]
        return common


def read_manifests(path: Path) -> list[Object]:
    """Return the objects of a YAML file, in its order."""
    documents = YAML(typ="safe").load_all(path.read_text())
    return [document for document in documents if document]


def _mapping_flag(flag: str, values: Mapping[str, Any]) -> list[str]:
    if not values:
        return []
    return [
        f"{flag}="
        + ",".join(f"{key}={str(value).lower()}" for key, value in values.items())
    ]


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
    """Run one control plane until interrupted; print its admin's kubeconfig path."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--version", default=list(build.supported_versions().values())[-1]
    )
    parser.add_argument(
        "--state", type=Path, help="folder for data, keys and logs; kept"
    )
    parser.add_argument(
        "--feature-gates", type=_pairs, default={}, metavar="A=true,B=false"
    )
    parser.add_argument(
        "--runtime-config", type=_pairs, default={}, metavar="API=true,…"
    )
    options = parser.parse_args()
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    plane = ControlPlane(
        options.version,
        gates=options.feature_gates,
        runtime_config=options.runtime_config,
        state=options.state,
    )
    try:
        with plane as cluster:
            _fill(cluster, options)
            build.say(str(cluster.kubeconfig(options.user)))
            stop.wait()
    except (build.BuildFailed, NotReady) as error:
        sys.stderr.write(f"{error}\n")
        return 3
    return 0


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

"""The command lines of a control plane's four programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.cluster.build import Binaries
from tests.cluster.credentials import Credentials

CONTROLLERS = "*,-node-lifecycle-controller,-node-ipam-controller"
"""Nobody renews a plain Node's lease, so its lifecycle is not looked after."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What may differ from one control plane to the next.

    Attributes:
        gates: feature gates of every Kubernetes component.
        runtime_config: the API server's `--runtime-config`.
        flags: further flags, by the component's name.
    """

    gates: Mapping[str, bool] = field(default_factory=dict)
    runtime_config: Mapping[str, bool] = field(default_factory=dict)
    flags: Mapping[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Commands:
    """What to run, where; all on loopback.

    Attributes:
        ports: of etcd for clients, of etcd for peers, of the API server.
    """

    binaries: Binaries
    state: Path
    keys: Credentials
    settings: Settings
    ports: tuple[int, int, int]

    @property
    def etcd_url(self) -> str:
        """Return the address at which etcd serves."""
        return f"http://127.0.0.1:{self.ports[0]}"

    @property
    def server(self) -> str:
        """Return the API server's address."""
        return f"https://127.0.0.1:{self.ports[2]}"

    def etcd(self) -> list[str]:
        """Return etcd's command line."""
        return [
            str(self.binaries.etcd),
            f"--data-dir={self.state / 'etcd'}",
            f"--listen-client-urls={self.etcd_url}",
            f"--advertise-client-urls={self.etcd_url}",
            f"--listen-peer-urls=http://127.0.0.1:{self.ports[1]}",
            "--unsafe-no-fsync",
            "--log-level=warn",
            *self.settings.flags.get("etcd", []),
        ]

    def api_server(self) -> list[str]:
        """Return the API server's command line."""
        keys = self.keys
        return [
            self.binaries["kube-apiserver"],
            f"--etcd-servers={self.etcd_url}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self.ports[2]}",
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
            *_mapping("--runtime-config", self.settings.runtime_config),
            *self._common("kube-apiserver"),
        ]

    def scheduler(self, kubeconfig: Path) -> list[str]:
        """Return the scheduler's command line."""
        return self._client("kube-scheduler", kubeconfig)

    def controller_manager(self, kubeconfig: Path) -> list[str]:
        """Return the controller-manager's command line."""
        return [
            *self._client("kube-controller-manager", kubeconfig),
            f"--controllers={CONTROLLERS}",
            "--use-service-account-credentials",
            f"--service-account-private-key-file={self.keys['sa.key']}",
        ]

    def _client(self, name: str, kubeconfig: Path) -> list[str]:
        return [
            self.binaries[name],
            f"--kubeconfig={kubeconfig}",
            "--leader-elect=false",
            "--secure-port=0",
            "--kube-api-qps=500",
            "--kube-api-burst=1000",
            *self._common(name),
        ]

    def _common(self, name: str) -> list[str]:
        gates = _mapping("--feature-gates", self.settings.gates)
        return [*gates, *self.settings.flags.get(name, [])]


def _mapping(flag: str, values: Mapping[str, bool]) -> list[str]:
    pairs = ",".join(f"{key}={str(value).lower()}" for key, value in values.items())
    return [f"{flag}={pairs}"] if pairs else []

"""Real clusters, each started once, and the portal's row for each."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from inventory.gateways.kubeconfig import standing_alone
from inventory.models import Cluster
from inventory.services import connections
from portal.core import secrets
from tests.agreement.fleets import Features
from tests.cluster.build import supported_versions
from tests.cluster.controlplane import ControlPlane

OLDEST, NEWEST = list(supported_versions().values())
OLD_GATES = {
    "DRAConsumableCapacity": True,
    "DRAPartitionableDevices": True,
    "DRADeviceTaints": True,
}
# With taints on, 1.34's scheduler does nothing until it may list DeviceTaintRules.
RULES = {"resource.k8s.io/v1alpha3": True}


@dataclass(frozen=True, slots=True)
class Setting:
    """A version of Kubernetes and the gates that are switched on beyond its own."""

    name: str
    version: str
    features: Features
    gates: dict[str, bool] = field(default_factory=dict)
    served: dict[str, bool] = field(default_factory=dict)


SETTINGS = (
    Setting(NEWEST, NEWEST, Features(37)),
    Setting(
        f"{OLDEST}, as it comes",
        OLDEST,
        Features(34, shares=False, counters=False, taints=False),
    ),
    Setting(f"{OLDEST}, gates on", OLDEST, Features(34), OLD_GATES, RULES),
)


@pytest.fixture(scope="module")
def started() -> Iterator[Callable[[Setting], ControlPlane]]:
    """Return a function that gives a setting's one control plane."""
    running: dict[str, ControlPlane] = {}
    with contextlib.ExitStack() as stack:

        def get(setting: Setting) -> ControlPlane:
            if setting.name not in running:
                plane = ControlPlane(
                    setting.version, gates=setting.gates, runtime_config=setting.served
                )
                running[setting.name] = stack.enter_context(plane)
            return running[setting.name]

        yield get


@pytest.fixture
def row(db) -> Iterator[Callable[[ControlPlane, Setting], Cluster]]:
    """Return a function that makes the portal's row for a control plane."""

    def make(plane: ControlPlane, setting: Setting) -> Cluster:
        return Cluster.objects.create(
            name="walk",
            kind=Cluster.Kind.LIVE,
            kubeconfig_encrypted=secrets.encrypt(standing_alone(plane.kubeconfig())),
            kubernetes_version=f"v{setting.version}",
            feature_gates=setting.gates,
        )

    yield make
    for known in connections._known.values():
        known.connection.close()
    connections._known.clear()


@pytest.fixture
def eventually() -> Callable[[Callable[[], object]], None]:
    """Return a function that waits until a condition is true, a minute at most."""

    def wait(condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < deadline, "not true after 60 s"
            time.sleep(0.1)

    return wait

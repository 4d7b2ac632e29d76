"""Real clusters of both versions with a node of each sort that the guides speak of."""

from __future__ import annotations

import contextlib
import io
import json
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from ruamel.yaml import YAML

from inventory.gateways.kubeconfig import standing_alone
from inventory.models import Cluster
from inventory.services import connections
from portal.core import secrets
from tests.agreement.conftest import NEWEST, OLD_GATES, OLDEST, RULES
from tests.agreement.reading import read
from tests.cluster.client import Client, Object, Refused
from tests.cluster.controlplane import ControlPlane
from tests.contract import objects

FLEETS = Path(__file__).parents[1] / "data" / "fleets"
CLASSES = FLEETS.parent / "claims" / "deviceclasses.yaml"
FORCE = {"gracePeriodSeconds": 0}
ALL_KINDS: frozenset[str] = frozenset()
SHARES = "nvidia-h100-consumable-shares"
WHOLE = "nvidia-t4-l40s"
DOMAINS = "nvidia-gb200-gpus-and-computedomain"


@dataclass(frozen=True, slots=True)
class Setting:
    """A version and its gates, with the fleets that its drivers would publish."""

    name: str
    version: str
    partitions: str
    gates: dict[str, bool] = field(default_factory=dict)
    served: dict[str, bool] = field(default_factory=dict)


NEW = Setting(NEWEST, NEWEST, "nvidia-h100-dynamic-mig-k8s135")
OLD = Setting(f"{OLDEST}, as it comes", OLDEST, "")
OLD_WITH_GATES = Setting(
    f"{OLDEST}, gates on",
    OLDEST,
    "nvidia-a100-dynamic-mig-combined-k8s134",
    {**OLD_GATES, "DRAExtendedResource": True, "DRADeviceBindingConditions": True},
    RULES,
)
SETTINGS = (NEW, OLD, OLD_WITH_GATES)


def named(settings: tuple[Setting, ...]) -> Any:
    """Return a parametrization of `world` by these settings."""
    return pytest.mark.parametrize(
        "world", settings, ids=lambda each: each.name, indirect=True
    )


@dataclass(slots=True)
class World:
    """One cluster, the portal's row for it, and a namespace of the test's own."""

    setting: Setting
    plane: ControlPlane
    row: Cluster
    namespace: str

    @property
    def admin(self) -> Client:
        """The client that may do everything."""
        return self.plane.admin

    def check(self, folder: Path, *manifests: Object) -> dict[str, set[str]]:
        """Return check_claim's levels of each code, on all items together."""
        document = self.checked(folder, *manifests)
        found: dict[str, set[str]] = {}
        for item in document["items"]:
            for each in item["diagnostics"]:
                found.setdefault(each["level"], set()).add(each["code"])
        return found

    def checked(self, folder: Path, *manifests: Object) -> Any:
        """Return check_claim's document on manifests, against the cluster as it is."""
        read(self.row, ALL_KINDS)
        path = folder / "manifests.yaml"
        path.write_text("\n---\n".join(json.dumps(each) for each in manifests))
        output = io.StringIO()
        with contextlib.suppress(SystemExit):
            call_command(
                "check_claim",
                self.row.name,
                str(path),
                format="json",
                namespace=self.namespace,
                stdout=output,
            )
        return json.loads(output.getvalue())

    def scheduled(self, name: str) -> Object:
        """Return a pod once it is bound."""
        return self.until(lambda: self._bound(name))

    def _bound(self, name: str) -> Object | None:
        pod = self.admin.get("Pod", name, self.namespace)
        return pod if pod["spec"].get("nodeName") else None

    def waits(self, name: str, word: str) -> str:
        """Return why a pod is not scheduled, once the reason holds a word."""

        def why() -> str:
            pod = self.admin.get("Pod", name, self.namespace)
            for each in pod["status"].get("conditions", []):
                told = f"{each.get('reason')}: {each.get('message')}"
                if each["type"] == "PodScheduled" and word in told:
                    return told
            return ""

        return str(self.until(why))

    def claims(self) -> list[Object]:
        """Return the namespace's claims."""
        return self.admin.list("ResourceClaim", self.namespace)["items"]

    def devices(self) -> list[Object]:
        """Return what the namespace's claims were given."""
        return [
            result
            for claim in self.claims()
            if claim["status"].get("allocation")
            for result in claim["status"]["allocation"]["devices"]["results"]
        ]

    @staticmethod
    def until(condition: Callable[[], Any], seconds: float = 30) -> Any:
        """Return a condition's value once it is true."""
        deadline = time.monotonic() + seconds
        while not (value := condition()):
            assert time.monotonic() < deadline, f"not within {seconds} s"
            time.sleep(0.05)
        return value

    def empty(self) -> None:
        """Take the namespace's pods and claims away, and wait for it."""
        for kind in ("Pod", "ResourceClaimTemplate", "ResourceClaim"):
            for each in self.admin.list(kind, self.namespace)["items"]:
                with contextlib.suppress(Refused):
                    self.admin.delete({"kind": kind, **each}, FORCE)
        self.until(lambda: not self.claims())


@pytest.fixture(scope="package")
def plane_of() -> Iterator[Callable[[Setting], ControlPlane]]:
    """Return a function that gives a setting's one control plane, filled."""
    running: dict[str, ControlPlane] = {}
    with contextlib.ExitStack() as stack:

        def get(setting: Setting) -> ControlPlane:
            if setting.name not in running:
                plane = ControlPlane(
                    setting.version, gates=setting.gates, runtime_config=setting.served
                )
                running[setting.name] = stack.enter_context(plane)
                fill(plane, setting)
            return running[setting.name]

        yield get


def fill(plane: ControlPlane, setting: Setting) -> None:
    """Publish a setting's fleets, and make their nodes."""
    nodes = set()
    for fleet in filter(None, (WHOLE, SHARES, DOMAINS, setting.partitions)):
        for body in documents(FLEETS / f"{fleet}.yaml"):
            if body["kind"] == "ResourceSlice":
                plane.apply([body])
                nodes.add(body["spec"].get("nodeName"))
    for body in documents(CLASSES):
        if body["kind"] == "DeviceClass":
            body["spec"].pop("extendedResourceName", None)
            plane.apply([body])
    for node in sorted(filter(None, nodes)):
        plane.add_node(node)


def documents(path: Path) -> Iterator[Object]:
    """Yield a file's objects without the owners and uids of where they come from."""
    for body in YAML(typ="safe").load_all(path.read_text()):
        if body:
            body["metadata"].pop("ownerReferences", None)
            body["metadata"].pop("uid", None)
            yield body


@pytest.fixture
def world(request, plane_of, db) -> Iterator[World]:
    """Return the world of a setting."""
    setting = request.param
    plane = plane_of(setting)
    row = Cluster.objects.create(
        name="guides",
        kind=Cluster.Kind.LIVE,
        kubeconfig_encrypted=secrets.encrypt(standing_alone(plane.kubeconfig())),
        kubernetes_version=f"v{setting.version}",
        feature_gates=setting.gates,
    )
    namespace = f"ai-{uuid.uuid4().hex[:8]}"
    plane.admin.create(objects.namespace(namespace))
    made = World(setting, plane, row, namespace)
    yield made
    made.empty()
    for known in connections._known.values():
        known.connection.close()
    connections._known.clear()

"""What a cluster shows of its drivers, runtimes and operators; None is "cannot tell".

Source: core/v1 Node, apps/v1 DaemonSet, nvidia.com ClusterPolicy and GPUCluster, and
the labels of NVIDIA's GPU feature discovery and MIG manager.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from inventory.domain.node_selectors import selects
from inventory.domain.tolerations import repelling

Json = dict[str, Any]
Version = tuple[int, int, int]

MIG_CONFIG_LABEL = "nvidia.com/mig.config"
COUNT_LABEL = "nvidia.com/gpu.count"
GPU_LABEL = "nvidia.com/gpu.present"
CANARY_LABEL = "nvidia.com/dra-enabled"
GPU_DRIVER = "gpu.nvidia.com"
# Feature gates: of mapped extended resources, partitions on demand, shares by capacity.
MAPPING = "DRAExtendedResource"
PARTITIONS = "DRAPartitionableDevices"
SHARES = "DRAConsumableCapacity"
RESOURCE_PREFIX = "nvidia.com/"
# What pods of a device plugin usually ask for.
RESOURCE = f"{RESOURCE_PREFIX}gpu"
# What NVIDIA's device plugin offers: whole GPUs, shared ones, MIG devices.
PLUGIN_PREFIXES = (RESOURCE, f"{RESOURCE_PREFIX}mig-")
_DRIVER_LABELS = (
    "nvidia.com/cuda.driver-version.full",
    "nvidia.com/cuda.driver-version.major",
    "nvidia.com/cuda.driver.major",
)
_STATE = "node.kubernetes.io/"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_VERSION = re.compile(r"v?(\d{1,6})(?:\.(\d{1,6}))?(?:\.(\d{1,6}))?", re.ASCII)


class Role(StrEnum):
    """What a DaemonSet is for."""

    DRA_DRIVER = "dra-driver"
    DEVICE_PLUGIN = "device-plugin"
    MIG_MANAGER = "mig-manager"


@dataclass(frozen=True, slots=True)
class DaemonSetFacts:
    """A DaemonSet that drives GPUs.

    Attributes:
        tag: of its first image that tells its role, "" where it has none.
        node_selector: labels that a node must have.
        required: NodeSelector of its required affinity, {} where it has none.
        tolerations: of its pods.
    """

    namespace: str
    name: str
    role: Role
    tag: str
    desired: int
    ready: int
    node_selector: Mapping[str, str]
    required: Json = field(default_factory=dict)
    tolerations: tuple[Json, ...] = ()

    @property
    def key(self) -> str:
        """Return `namespace/name`."""
        return f"{self.namespace}/{self.name}"

    def covers(self, node: NodeFacts) -> bool:
        """Return whether its pods may run on a node: chosen, and not kept out."""
        if not self.node_selector.items() <= node.labels.items():
            return False
        if self.required and not selects(self.required, node.name, node.labels):
            return False
        # The controller has its pods tolerate what the node's own state taints.
        taints = [t for t in node.taints if not str(t.get("key")).startswith(_STATE)]
        return not repelling(taints, self.tolerations)

    def looks_at(self, label: str) -> bool:
        """Return whether a node's label can keep its pods away."""
        rules = (
            rule
            for term in _dicts(self.required.get("nodeSelectorTerms"))
            for rule in _dicts(term.get("matchExpressions"))
        )
        return label in self.node_selector or any(r.get("key") == label for r in rules)


@dataclass(frozen=True, slots=True)
class OperatorFacts:
    """One of the GPU operator's cluster objects.

    Attributes:
        version: of the operator, from its labels; "" where they do not tell.
        cdi: whether it sets up CDI; None where it does not say.
        mig_strategy: none, single or mixed; "" where it does not say.
        mig_config: name of the MIG manager's ConfigMap, "" for the usual.
    """

    name: str
    version: str = ""
    cdi: bool | None = None
    mig_strategy: str = ""
    mig_config: str = ""


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """A node with GPUs.

    Attributes:
        runtime: as nodeInfo has it, such as containerd://2.0.1; "" where unknown.
        driver_versions: GPU drivers, from devices, else from labels.
        drivers: DRA drivers that publish pools of the node.
        plugin_devices: GPUs that a device plugin offers, whole and MIG.
        runs_claims: a running pod there has devices of a claim.
        fixed: product → profile → MIG devices that are made already.
        on_demand: MIG devices are published that are yet to be made.
        kinds: of published devices: whole, MIG, shared.
        cards: how many are published, however they are cut; None where not known.
        taints: of the node.
    """

    name: str
    runtime: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    driver_versions: tuple[str, ...] = ()
    drivers: tuple[str, ...] = ()
    plugin_devices: int = 0
    runs_claims: bool = False
    fixed: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    on_demand: bool = False
    kinds: tuple[str, ...] = ()
    cards: int | None = None
    taints: tuple[Json, ...] = ()

    @property
    def published(self) -> bool:
        """Whether its GPUs are published in ResourceSlices."""
        return GPU_DRIVER in self.drivers


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """What is known of a cluster. None: nobody could tell.

    Attributes:
        version: of the API server, such as v1.37.2; "" where unknown.
        served: versions of resource.k8s.io that it serves.
        gates: that are on, by its version and settings.
        kept: gate → whether a dry run kept the field that it guards, where it was tried.
        slices_seen: whether slices are read.
        policies: ClusterPolicies.
        gpu_clusters: GPUClusters.
        operator_kinds: of those two, how many are served.
        mig_configs: name → entries, from the MIG manager's ConfigMap.
    """

    version: str = ""
    served: tuple[str, ...] | None = None
    gates: frozenset[str] | None = None
    kept: Mapping[str, bool] = field(default_factory=dict)
    slices_seen: bool = False
    nodes_seen: bool = False
    daemon_sets: tuple[DaemonSetFacts, ...] | None = None
    policies: tuple[OperatorFacts, ...] | None = None
    gpu_clusters: tuple[OperatorFacts, ...] | None = None
    operator_kinds: int | None = None
    mig_configs: Mapping[str, list[Json]] | None = None
    nodes: tuple[NodeFacts, ...] = ()

    def of_role(self, role: Role) -> list[DaemonSetFacts]:
        """Return the DaemonSets of a role; none where none could be read."""
        return [each for each in self.daemon_sets or () if each.role is role]


def version_of(text: str) -> Version | None:
    """Return (1, 34, 2) for `v1.34.2-eks-1`, or None where it begins otherwise."""
    found = _VERSION.match(text)
    if not found:
        return None
    major, minor, patch = (int(part or 0) for part in found.groups())
    return major, minor, patch


def read_daemon_set(body: Json) -> DaemonSetFacts | None:
    """Return a DaemonSet that drives GPUs, or None for any other."""
    metadata, spec, status = (
        _dict(body.get(key)) for key in ("metadata", "spec", "status")
    )
    pod = _dict(_dict(spec.get("template")).get("spec"))
    name = str(metadata.get("name") or "")
    images = [
        str(each.get("image") or "")
        for key in ("containers", "initContainers")
        for each in _dicts(pod.get(key))
    ]
    for image in [*images, ""]:
        role = _role(name, image)
        if role:
            break
    else:
        return None
    return DaemonSetFacts(
        namespace=str(metadata.get("namespace") or ""),
        name=name,
        role=role,
        tag=_tag(image or (images[0] if images else "")),
        desired=_int(status.get("desiredNumberScheduled")),
        ready=_int(status.get("numberReady")),
        node_selector={
            str(k): str(v) for k, v in _dict(pod.get("nodeSelector")).items()
        },
        required=_dict(
            _dict(_dict(pod.get("affinity")).get("nodeAffinity")).get(_REQUIRED)
        ),
        tolerations=tuple(_dicts(pod.get("tolerations"))),
    )


def read_operator(body: Json) -> OperatorFacts:
    """Return a ClusterPolicy or GPUCluster."""
    metadata, spec = _dict(body.get("metadata")), _dict(body.get("spec"))
    labels = _dict(metadata.get("labels"))
    chart = str(labels.get("helm.sh/chart") or "")
    version = (
        str(labels.get("app.kubernetes.io/version") or "") or chart.rpartition("-v")[2]
    )
    cdi = _dict(spec.get("cdi")).get("enabled")
    return OperatorFacts(
        name=str(metadata.get("name") or ""),
        version=version if version_of(version) else "",
        cdi=cdi if isinstance(cdi, bool) else None,
        mig_strategy=str(_dict(spec.get("mig")).get("strategy") or ""),
        mig_config=str(
            _dict(_dict(spec.get("migManager")).get("config")).get("name") or ""
        ),
    )


def drivers_in_labels(labels: Mapping[str, str]) -> tuple[str, ...]:
    """Return the GPU driver's version that a node's labels tell, or nothing."""
    return next(((labels[key],) for key in _DRIVER_LABELS if labels.get(key)), ())


def plugin_devices(status: Json) -> int:
    """Return how many GPUs device plugins offer on a node, whole and MIG."""
    allocatable = _dict(status.get("allocatable"))
    return sum(
        _int(value)
        for name, value in allocatable.items()
        if name.startswith(PLUGIN_PREFIXES)
    )


def _role(name: str, image: str) -> Role | None:
    repository = image.partition("@")[0].rpartition("/")[2]
    text = f"{image} {name}".lower()
    if "nvidia" not in text:
        return None
    if "dra-driver" in (repository or name):
        return Role.DRA_DRIVER
    if "device-plugin" in (repository or name):
        return Role.DEVICE_PLUGIN
    return Role.MIG_MANAGER if "mig-manager" in (repository or name) else None


def _tag(image: str) -> str:
    last = image.partition("@")[0].rpartition("/")[2]
    return last.partition(":")[2]


def _int(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        return 0


def _dict(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _dicts(value: Any) -> list[Json]:
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []

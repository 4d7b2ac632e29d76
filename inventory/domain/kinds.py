"""The kinds of Kubernetes objects that we read, and the versions we can read them in.

Source: resource.k8s.io of Kubernetes 1.34 to 1.37, the NVIDIA DRA driver's
ComputeDomain and the GPU operator's two cluster objects; Kueue; workloads of Kubernetes
itself and of KServe, Ray and Kubeflow.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind and where the API server has it.

    Attributes:
        kind: as in `kind:`, CamelCase.
        plural: as in the path.
        group: API group, "" for the core group.
        versions: those that we can read, newest first.
        namespaced: whether its objects live in a namespace.
    """

    kind: str
    plural: str
    group: str
    versions: tuple[str, ...]
    namespaced: bool

    def api_version(self, version: str = "") -> str:
        """Return `group/version`, or `v1` for the core group; the newest by default."""
        version = version or self.versions[0]
        return f"{self.group}/{version}" if self.group else version

    def path(self, version: str, namespace: str = "", name: str = "") -> str:
        """Return the path of the kind, of a namespace's objects, or of one object.

        Names must be path-safe already; `namespace` is ignored for cluster kinds.
        """
        root = "/apis/" if self.group else "/api/"
        parts = [root + self.api_version(version)]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        parts += [self.plural, *([name] if name else [])]
        return "/".join(parts)


_DRA = "resource.k8s.io"
_SHAPES = ("v1", "v1beta2", "v1beta1")

RESOURCE_SLICE = Kind("ResourceSlice", "resourceslices", _DRA, _SHAPES, False)
DEVICE_CLASS = Kind("DeviceClass", "deviceclasses", _DRA, _SHAPES, False)
RESOURCE_CLAIM = Kind("ResourceClaim", "resourceclaims", _DRA, _SHAPES, True)
RESOURCE_CLAIM_TEMPLATE = Kind(
    "ResourceClaimTemplate", "resourceclaimtemplates", _DRA, _SHAPES, True
)
DEVICE_TAINT_RULE = Kind(
    "DeviceTaintRule", "devicetaintrules", _DRA, ("v1", "v1beta2", "v1alpha3"), False
)
NODE = Kind("Node", "nodes", "", ("v1",), False)
NAMESPACE = Kind("Namespace", "namespaces", "", ("v1",), False)
RESOURCE_QUOTA = Kind("ResourceQuota", "resourcequotas", "", ("v1",), True)
POD = Kind("Pod", "pods", "", ("v1",), True)
COMPUTE_DOMAIN = Kind(
    "ComputeDomain", "computedomains", "resource.nvidia.com", ("v1beta1",), True
)
DAEMON_SET = Kind("DaemonSet", "daemonsets", "apps", ("v1",), True)
CLUSTER_POLICY = Kind("ClusterPolicy", "clusterpolicies", "nvidia.com", ("v1",), False)
GPU_CLUSTER = Kind("GPUCluster", "gpuclusters", "nvidia.com", ("v1alpha1",), False)
EVENT = Kind("Event", "events", "", ("v1",), True)
CONFIG_MAP = Kind("ConfigMap", "configmaps", "", ("v1",), True)

_KUEUE, _KUEUE_SHAPES = "kueue.x-k8s.io", ("v1beta2", "v1beta1")
QUEUED_WORKLOAD = Kind("Workload", "workloads", _KUEUE, _KUEUE_SHAPES, True)
LOCAL_QUEUE = Kind("LocalQueue", "localqueues", _KUEUE, _KUEUE_SHAPES, True)
WORKLOAD_PRIORITY_CLASS = Kind(
    "WorkloadPriorityClass", "workloadpriorityclasses", _KUEUE, _KUEUE_SHAPES, False
)

# What makes pods, those first that others make: each is read as whoever asks.
WORKLOAD_KINDS: tuple[Kind, ...] = (
    Kind(
        "InferenceService", "inferenceservices", "serving.kserve.io", ("v1beta1",), True
    ),
    Kind("RayCluster", "rayclusters", "ray.io", ("v1",), True),
    Kind("RayJob", "rayjobs", "ray.io", ("v1",), True),
    Kind("RayService", "rayservices", "ray.io", ("v1",), True),
    Kind("PyTorchJob", "pytorchjobs", "kubeflow.org", ("v1",), True),
    Kind("Notebook", "notebooks", "kubeflow.org", ("v1",), True),
    Kind("Deployment", "deployments", "apps", ("v1",), True),
    Kind("StatefulSet", "statefulsets", "apps", ("v1",), True),
    DAEMON_SET,
    Kind("CronJob", "cronjobs", "batch", ("v1",), True),
    Kind("Job", "jobs", "batch", ("v1",), True),
    POD,
)

# Order: what a page needs first is read first.
WATCHED: tuple[Kind, ...] = (
    NAMESPACE,
    NODE,
    DEVICE_CLASS,
    RESOURCE_SLICE,
    DEVICE_TAINT_RULE,
    RESOURCE_CLAIM,
    RESOURCE_CLAIM_TEMPLATE,
    POD,
    RESOURCE_QUOTA,
    COMPUTE_DOMAIN,
    DAEMON_SET,
    CLUSTER_POLICY,
    GPU_CLUSTER,
)
ON_DEMAND: tuple[Kind, ...] = (EVENT, CONFIG_MAP)
BY_NAME: dict[str, Kind] = {kind.kind: kind for kind in (*WATCHED, *ON_DEMAND)}

"""Workloads that use a template or a claim, as texts to copy and to keep in Git.

Source: core/v1 PodSpec, apps/v1, batch/v1; kustomize.config.k8s.io/v1beta1; Kueue.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from claims.domain.manifest import DOMAIN, KINDS, TEMPLATE, named_by_pods
from claims.domain.pod import LONGEST_PREFIX, REF, pod_using

if TYPE_CHECKING:
    from collections.abc import Mapping

Json = dict[str, Any]

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"
IMAGE = "registry.example.com/your/image:tag"
REPLICAS = 2


class Workload(StrEnum):
    """The shapes that are offered."""

    POD = "pod"
    DEPLOYMENT = "deployment"
    JOB = "job"
    STATEFUL_SET = "statefulset"
    TWO_CONTAINERS = "two-containers"
    SHARED = "shared"


@dataclass(frozen=True, slots=True)
class Uses:
    """What a workload uses, and whose names it takes.

    Attributes:
        kind: ResourceClaim or ResourceClaimTemplate.
    """

    kind: str
    name: str
    namespace: str
    image: str = IMAGE

    @property
    def stem(self) -> str:
        """A name for the workload, also as a label's value and a pod's prefix."""
        return self.name.replace(".", "-")[:LONGEST_PREFIX].strip("-")


def uses_of(manifest: Mapping[str, Any], image: str = IMAGE) -> Uses | None:
    """Return what a manifest gives workloads to use; None where it is no claim."""
    if manifest.get("kind") not in (*KINDS, DOMAIN):
        return None
    namespace = str(manifest["metadata"].get("namespace") or "default")
    kind, name = named_by_pods(manifest)
    return Uses(kind, str(name), namespace, image)


def offered(uses: Uses) -> tuple[Workload, ...]:
    """Return the shapes that fit: pods share a claim, and not a template."""
    if uses.kind == TEMPLATE:
        return tuple(each for each in Workload if each != Workload.SHARED)
    return tuple(each for each in Workload if each != Workload.STATEFUL_SET)


def workload(shape: Workload, uses: Uses) -> list[Json]:
    """Return the objects of a workload; several for a shape of several pods."""
    if shape is Workload.SHARED:
        return [_named_pod(uses, f"{uses.stem}-{word}") for word in ("one", "two")]
    if shape is Workload.POD:
        return [_named_pod(uses, uses.stem)]
    if shape is Workload.TWO_CONTAINERS:
        return [_two_containers(uses)]
    if shape is Workload.JOB:
        return [_job(uses)]
    return _replicated(shape, uses)


def _pod(uses: Uses) -> Json:
    pod = pod_using(uses.kind, uses.name, uses.namespace, uses.image)
    return {**pod, "metadata": {"name": uses.stem, "namespace": uses.namespace}}


def _named_pod(uses: Uses, name: str) -> Json:
    pod = _pod(uses)
    return {**pod, "metadata": {"name": name, "namespace": uses.namespace}}


def _two_containers(uses: Uses) -> Json:
    """Return a pod whose two containers get the same devices."""
    pod = _pod(uses)
    beside = {
        "name": "beside",
        "image": uses.image,
        "resources": {"claims": [{"name": REF}]},
    }
    spec = {**pod["spec"], "containers": [*pod["spec"]["containers"], beside]}
    return {**pod, "spec": spec}


def _spec(uses: Uses, restart: str = "") -> Json:
    """Return the spec of a pod in a workload."""
    spec = dict(_pod(uses)["spec"])
    del spec["restartPolicy"]
    return {"restartPolicy": restart, **spec} if restart else spec


def _job(uses: Uses) -> Json:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": uses.stem, "namespace": uses.namespace},
        "spec": {
            "backoffLimit": 2,
            "template": {"spec": _spec(uses, "Never")},
        },
    }


def _replicated(shape: Workload, uses: Uses) -> list[Json]:
    labels = {"app.kubernetes.io/name": uses.stem}
    metadata = {"name": uses.stem, "namespace": uses.namespace}
    spec: Json = {
        "replicas": REPLICAS,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": _spec(uses)},
    }
    if shape is Workload.DEPLOYMENT:
        kind = {"apiVersion": "apps/v1", "kind": "Deployment"}
        return [{**kind, "metadata": metadata, "spec": spec}]
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {"clusterIP": "None", "selector": labels},
    }
    kind = {"apiVersion": "apps/v1", "kind": "StatefulSet"}
    spec = {"serviceName": uses.stem, **spec}
    return [service, {**kind, "metadata": metadata, "spec": spec}]


def queued_workload(uses: Uses, queue: str, priority: str = "") -> list[Json]:
    """Return a Job that waits in a queue of Kueue's until it is admitted.

    Args:
        uses: a template; Kueue counts devices through templates only.
        queue: a LocalQueue of the namespace.
        priority: a WorkloadPriorityClass, or "" for none.
    """
    labels = {QUEUE_LABEL: queue}
    if priority:
        labels[PRIORITY_LABEL] = priority
    [job] = workload(Workload.JOB, uses)
    metadata = {**job["metadata"], "labels": labels}
    return [{**job, "metadata": metadata, "spec": {"suspend": True, **job["spec"]}}]


def kustomization(files: list[str], namespace: str = "") -> Json:
    """Return a Kustomization over files beside it, which may set their namespace."""
    head = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
    }
    placed = {"namespace": namespace} if namespace else {}
    return {**head, **placed, "resources": files}

"""A small population of the demo: templates, claims and pods that use the fleets."""

from __future__ import annotations

from typing import Any

from simcluster.kinds import CLAIM, POD, TEMPLATE, Kind, Object
from simcluster.refusals import Refusal
from simcluster.registry import Registry, Write

SERVING, TRAINING, MAPLE, MONITORING = (
    "ai-serving",
    "ai-training",
    "maple-lab",
    "gpu-monitoring",
)
GPU, MIG = "gpu.nvidia.com", "mig.nvidia.com"


def _profile(name: str) -> list[Object]:
    expression = f"device.attributes['gpu.nvidia.com'].profile == '{name}'"
    return [{"cel": {"expression": expression}}]


# Namespace, name, class, fields of the request, node, and the pods that use it. A claim
# is shared by its pods, or idle without any; a template makes one for each pod.
_TEMPLATES: list[tuple[str, str, str, Object, str, list[str]]] = [
    (
        SERVING,
        "mig-2g",
        MIG,
        {"selectors": _profile("2g.20gb")},
        "gpu-h100-mig",
        ["chat-0", "chat-1"],
    ),
    (
        SERVING,
        "mig-1g",
        MIG,
        {"selectors": _profile("1g.10gb")},
        "gpu-h100-mig",
        ["embed-0", "embed-1", "embed-2"],
    ),
    (
        SERVING,
        "share-24g",
        GPU,
        {"capacity": {"requests": {"memory": "24Gi"}}},
        "gpu-h100-share-a",
        ["rerank-0", "rerank-1", "rerank-2"],
    ),
    (TRAINING, "four-h100", GPU, {"count": 4}, "gpu-h100-a", ["pretrain-0"]),
    (TRAINING, "six-h100", GPU, {"count": 6}, "gpu-h100-a", ["pretrain-1"]),
    (
        TRAINING,
        "mig-7g",
        MIG,
        {"selectors": _profile("7g.80gb")},
        "gpu-h100-mig",
        ["sweep-0", "sweep-1"],
    ),
    (
        MAPLE,
        "l40s-12g",
        GPU,
        {"capacity": {"requests": {"memory": "12Gi"}}},
        "gpu-l40s-memshare",
        ["notebook-0", "notebook-1"],
    ),
    (MAPLE, "one-t4", GPU, {}, "gpu-t4-a", ["ocr-0"]),
    (MAPLE, "one-l40s", GPU, {}, "gpu-l40s-a", ["render-0"]),
    (
        MONITORING,
        "watch-gpus",
        GPU,
        {"allocationMode": "All", "adminAccess": True},
        "gpu-h100-a",
        ["monitor-0"],
    ),
]
_CLAIMS: list[tuple[str, str, str, Object, str, list[str]]] = [
    (
        SERVING,
        "speech-32g",
        GPU,
        {"capacity": {"requests": {"memory": "32Gi"}}},
        "gpu-h100-share-b",
        ["speech-0", "speech-1"],
    ),
]


async def populate(registry: Registry) -> None:
    """Make the population; what is there already stays."""
    for kind, rows, field in (
        (TEMPLATE, _TEMPLATES, "resourceClaimTemplateName"),
        (CLAIM, _CLAIMS, "resourceClaimName"),
    ):
        for namespace, name, class_name, fields, node, pods in rows:
            request = {
                "name": "gpu",
                "exactly": {"deviceClassName": class_name, **fields},
            }
            spec: Object = {"devices": {"requests": [request]}}
            await _make(
                registry,
                kind,
                namespace,
                name,
                spec if kind == CLAIM else {"spec": spec},
            )
            for pod in pods:
                await _make(registry, POD, namespace, pod, _pod({field: name}, node))


def _pod(source: Object, node: str) -> Object:
    resources: Any = {"claims": [{"name": "gpu"}]}
    return {
        "nodeSelector": {"kubernetes.io/hostname": node},
        "resourceClaims": [{"name": "gpu", **source}],
        "containers": [
            {"name": "main", "image": "example/app:1", "resources": resources}
        ],
    }


async def _make(
    registry: Registry, kind: Kind, namespace: str, name: str, spec: Object
) -> None:
    body = kind.stamped({"metadata": {"name": name}, "spec": spec})
    try:
        await registry.create(kind, namespace, body, Write())
    except Refusal as refusal:
        if refusal.reason != "AlreadyExists":
            raise

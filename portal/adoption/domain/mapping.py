"""What a DeviceClass would serve if it were mapped to an extended resource.

Source: resource.k8s.io/v1 DeviceClass.spec.extendedResourceName: the scheduler makes
one claim for a pod's extended resources, unless a device plugin offers the resource
on the node, which then serves the pod as before.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from portal.adoption.domain.facts import GPU_DRIVER, RESOURCE

Json = dict[str, Any]

_DOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_NAME = re.compile(
    rf"{_DOMAIN}/[A-Za-z0-9]([-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?\Z", re.ASCII
)
LONGEST = 253
_MIG = re.compile(r"nvidia\.com/mig-(\d+g\.\d+gb(?:[.+-]me)?)")


@dataclass(frozen=True, slots=True)
class AskingPod:
    """A pod that asks for an extended resource.

    Attributes:
        node: it runs on, "" where it waits for one.
        claim: that the scheduler made for it, "" where there is none.
    """

    namespace: str
    name: str
    count: int
    node: str
    claim: str


def is_extended_name(text: str) -> bool:
    """Return whether a text may be an extended resource's name.

    Source: k8s.io/kubernetes ValidateExtendedResourceName: a qualified name outside
    kubernetes.io that does not begin with `requests.`.
    """
    domain = text.partition("/")[0]
    return bool(
        len(text) <= LONGEST
        and _NAME.match(text)
        and not text.startswith("requests.")
        and domain != "kubernetes.io"
        and not domain.endswith(".kubernetes.io")
    )


def asking_pod(body: Json, resource: str) -> AskingPod | None:
    """Return what a pod asks of a resource, or None where it asks for none.

    As for any resource, containers add up, and an init container counts where it
    asks for more than they do.
    """
    metadata, spec, status = (
        _dict(body.get(key)) for key in ("metadata", "spec", "status")
    )
    if status.get("phase") in {"Succeeded", "Failed"}:
        return None
    running = sum(_asked(each, resource) for each in _list(spec.get("containers")))
    first = [_asked(each, resource) for each in _list(spec.get("initContainers"))]
    count = max([running, *first])
    if not count:
        return None
    extended = _dict(status.get("extendedResourceClaimStatus"))
    return AskingPod(
        namespace=str(metadata.get("namespace") or ""),
        name=str(metadata.get("name") or ""),
        count=count,
        node=str(spec.get("nodeName") or ""),
        claim=str(extended.get("resourceClaimName") or ""),
    )


def serves(resource: str, faces: Iterable[tuple[str, str, str]]) -> bool:
    """Return whether devices are all what a resource of NVIDIA's plugin stands for.

    Args:
        resource: `nvidia.com/gpu`, for whole cards, or `nvidia.com/mig-1g.10gb`.
        faces: driver, type and profile of each device.
    """
    found = set(faces)
    mig = _MIG.fullmatch(resource)
    if mig:
        profile = re.sub(r"[.-](?=me)", "+", mig[1])
        return found == {(GPU_DRIVER, "mig", profile)}
    return resource == RESOURCE and {face[:2] for face in found} == {
        (GPU_DRIVER, "gpu")
    }


def device_types(kinds: Iterable[str]) -> Mapping[str, int]:
    """Return type → how many of a class's devices are of it, the most first."""
    return dict(Counter(kinds).most_common())


def _asked(container: Any, resource: str) -> int:
    resources = _dict(_dict(container).get("resources"))
    value = _dict(resources.get("limits")).get(
        resource, _dict(resources.get("requests")).get(resource, 0)
    )
    try:
        return int(value or 0)
    except (TypeError, ValueError):
        return 0


def _dict(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []

"""Extended resources: served by a device plugin, or by a claim that the scheduler makes.

A node that offers the resource serves the pod through its device plugin, as ever.
On any other, a DeviceClass that maps the resource serves it: the scheduler makes one
claim for the pod, owned by it, and notes its name in the pod's status.

Source: kube-scheduler's DynamicResources plugin (extended resources), KEP-5004.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from inventory.domain.classes import parse_class
from inventory.domain.trim import is_extended
from simcluster.defaults import fill_in
from simcluster.kinds import CLAIM, CLASS, POD, Object
from simcluster.registry import generated, moment
from simcluster.storage import Store

MARK = "resource.kubernetes.io/extended-resource-claim"
_IMPLICIT = "deviceclass.resource.kubernetes.io/"
_FINISHED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Asked:
    """What one container asks of one extended resource."""

    index: int
    container: str
    resource: str
    count: int


@dataclass(frozen=True, slots=True)
class Group:
    """Nodes that would serve a pod alike, and the claim that it would need there."""

    claim: Object | None
    mappings: list[Object]
    nodes: list[str]

    def with_claim(self, claims: list[Object]) -> list[Object]:
        """Return a pod's claims, and the one that it would need here."""
        return [*claims, self.claim] if self.claim else claims


class Extended:
    """The scheduler's part for pods that ask for extended resources."""

    def __init__(self, store: Store, *, is_on: bool) -> None:
        """Take the store, and whether the gate DRAExtendedResource is on."""
        self._store, self._is_on = store, is_on

    def lacks(self, node: Object, pod: Object) -> str:
        """Return why a node cannot serve a pod's extended resources, or nothing."""
        for resource, count in _totals(pod).items():
            offered = _offered(node, resource)
            if not offered and self._class_of(resource):
                continue
            if offered - self._taken(node["metadata"]["name"], resource) < count:
                return f"Insufficient {resource}"
        return ""

    def groups(self, pod: Object, nodes: Iterable[Object]) -> list[Group]:
        """Return nodes by which of a pod's resources a claim must serve there."""
        made = pod["status"].get("extendedResourceClaimStatus")
        found: dict[frozenset[str], list[str]] = defaultdict(list)
        for node in nodes:
            missing = [r for r in _totals(pod) if not _offered(node, r)]
            key = frozenset(() if made else missing)
            found[key].append(node["metadata"]["name"])
        return [
            Group(*self._claim(pod, resources), names)
            for resources, names in found.items()
        ]

    def _claim(
        self, pod: Object, resources: frozenset[str]
    ) -> tuple[Object | None, list[Object]]:
        """Return the claim for some of a pod's resources, and what maps to what."""
        requests: list[Object] = []
        mappings: list[Object] = []
        for each in _asked(pod):
            if each.resource not in resources:
                continue
            name = f"container-{each.index}-request-{len(requests)}"
            exactly = {
                "deviceClassName": self._class_of(each.resource),
                "allocationMode": "ExactCount",
                "count": each.count,
            }
            requests.append({"name": name, "exactly": exactly})
            mapping = {"containerName": each.container, "resourceName": each.resource}
            mappings.append({**mapping, "requestName": name})
        return (_claim_of(pod, requests) if requests else None), mappings

    def _class_of(self, resource: str) -> str:
        """Return the class that serves a resource, or an empty text.

        The newest class wins, then the lower name.
        """
        if not self._is_on:
            return ""
        if resource.startswith(_IMPLICIT):
            name = resource.removeprefix(_IMPLICIT)
            return name if self._store.get(CLASS, name) else ""
        classes = self._store.items(CLASS)
        facts = [parse_class(each["metadata"]["name"], each) for each in classes]
        mapped = [each for each in facts if each.extended_resource == resource]
        return max(mapped, key=lambda each: each.created).name if mapped else ""

    def _taken(self, node: str, resource: str) -> int:
        """Return how much of a resource a node's device plugin has given away."""
        return sum(
            _totals(pod).get(resource, 0)
            for pod in self._store.items(POD)
            if pod["spec"].get("nodeName") == node
            and pod["status"].get("phase") not in _FINISHED
            and resource not in _mapped(pod)
        )


def _claim_of(pod: Object, requests: list[Object]) -> Object:
    """Return a claim as the scheduler creates it, not stored yet."""
    metadata = pod["metadata"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"]}
    owner |= {"uid": metadata["uid"], "controller": True, "blockOwnerDeletion": True}
    base = f"{metadata['name']}-extended-resources-"
    claim = {
        "metadata": {
            "name": generated(base),
            "generateName": base,
            "namespace": metadata["namespace"],
            "uid": str(uuid.uuid4()),
            "creationTimestamp": moment(),
            "annotations": {MARK: "true"},
            "ownerReferences": [owner],
        },
        "spec": {"devices": {"requests": requests}},
    }
    fill_in(CLAIM, claim, moment())
    return claim


def _mapped(pod: Object) -> set[str]:
    status = pod["status"].get("extendedResourceClaimStatus") or {}
    return {each["resourceName"] for each in status.get("requestMappings", [])}


def _asked(pod: Object) -> Iterator[Asked]:
    containers = pod["spec"].get("initContainers", []) + pod["spec"]["containers"]
    for index, container in enumerate(containers):
        limits = (container.get("resources") or {}).get("limits") or {}
        for resource, count in sorted(limits.items()):
            if is_extended(resource) and int(count):
                yield Asked(index, container["name"], resource, int(count))


def _totals(pod: Object) -> dict[str, int]:
    found: dict[str, int] = defaultdict(int)
    for each in _asked(pod):
        found[each.resource] += each.count
    return dict(found)


def _offered(node: Object, resource: str) -> int:
    return int((node.get("status", {}).get("allocatable") or {}).get(resource, 0))

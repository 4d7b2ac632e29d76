"""The kinds that the simulated API server serves, and discovery of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from inventory.domain.kinds import (
    LOCAL_QUEUE,
    QUEUED_WORKLOAD,
    WORKLOAD_KINDS,
    WORKLOAD_PRIORITY_CLASS,
)

Object = dict[str, Any]

_VERBS = [
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
]


@dataclass(frozen=True, slots=True)
class Kind:
    """One resource: how it is called, where it lies, what it has."""

    name: str
    plural: str
    group: str
    version: str = "v1"
    namespaced: bool = False
    has_status: bool = False
    has_generation: bool = False

    @property
    def api_version(self) -> str:
        """Return the apiVersion of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """Return the name that messages use, such as resourceclaims.resource.k8s.io."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def stamped(self, body: Object) -> Object:
        """Return an object with its kind and apiVersion, as it is sent alone."""
        return {"kind": self.name, "apiVersion": self.api_version, **body}


_DRA, _RBAC, _NVIDIA, _OPERATOR = (
    "resource.k8s.io",
    "rbac.authorization.k8s.io",
    "resource.nvidia.com",
    "nvidia.com",
)
NAMESPACE = Kind("Namespace", "namespaces", "", has_status=True)
NODE = Kind("Node", "nodes", "", has_status=True)
POD = Kind("Pod", "pods", "", "v1", True, True, True)
EVENT = Kind("Event", "events", "", namespaced=True)
CLASS = Kind("DeviceClass", "deviceclasses", _DRA, has_generation=True)
SLICE = Kind("ResourceSlice", "resourceslices", _DRA, has_generation=True)
CLAIM = Kind("ResourceClaim", "resourceclaims", _DRA, "v1", True, True)
TEMPLATE = Kind("ResourceClaimTemplate", "resourceclaimtemplates", _DRA, "v1", True)
TAINT_RULE = Kind("DeviceTaintRule", "devicetaintrules", _DRA, "v1", False, True, True)
ROLE = Kind("Role", "roles", _RBAC, namespaced=True)
ROLE_BINDING = Kind("RoleBinding", "rolebindings", _RBAC, namespaced=True)
CLUSTER_ROLE = Kind("ClusterRole", "clusterroles", _RBAC)
CLUSTER_ROLE_BINDING = Kind("ClusterRoleBinding", "clusterrolebindings", _RBAC)
DAEMON_SET = Kind("DaemonSet", "daemonsets", "apps", "v1", True, True, True)
COMPUTE_DOMAIN = Kind(
    "ComputeDomain", "computedomains", _NVIDIA, "v1beta1", True, True, True
)

KINDS = (
    NAMESPACE,
    NODE,
    POD,
    EVENT,
    Kind("ConfigMap", "configmaps", "", namespaced=True),
    Kind("ServiceAccount", "serviceaccounts", "", namespaced=True),
    Kind("ResourceQuota", "resourcequotas", "", "v1", True, True),
    CLASS,
    SLICE,
    CLAIM,
    TEMPLATE,
    TAINT_RULE,
    ROLE,
    ROLE_BINDING,
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    DAEMON_SET,
    *(
        Kind(kind.kind, kind.plural, kind.group, kind.versions[0], True, True, True)
        for kind in WORKLOAD_KINDS
        if kind.group in ("apps", "batch") and kind.kind != "DaemonSet"
    ),
    *(
        Kind(
            kind.kind, kind.plural, kind.group, kind.versions[0], kind.namespaced, True
        )
        for kind in (QUEUED_WORKLOAD, LOCAL_QUEUE, WORKLOAD_PRIORITY_CLASS)
    ),
    Kind("ClusterPolicy", "clusterpolicies", _OPERATOR, "v1", False, True, True),
    Kind("GPUCluster", "gpuclusters", _OPERATOR, "v1alpha1", False, True, True),
    COMPUTE_DOMAIN,
)
BY_PATH = {(kind.group, kind.version, kind.plural): kind for kind in KINDS}
BY_NAME = {(kind.api_version, kind.name): kind for kind in KINDS}
REVIEW = ("authorization.k8s.io", "v1", "selfsubjectaccessreviews")
GROUP_VERSIONS = sorted({path[:2] for path in BY_PATH} | {REVIEW[:2]})


def discovery(first: str, rest: list[str]) -> Object | None:
    """Return the discovery document at /api/… or /apis/…, or None."""
    groups = [_group(group, version) for group, version in GROUP_VERSIONS if group]
    if not rest:
        listed = {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
        return (
            listed if first == "apis" else {"kind": "APIVersions", "versions": ["v1"]}
        )
    group, version = ["", *rest][-2:]
    if (group, version) in GROUP_VERSIONS and (group == "") == (first == "api"):
        return _resources(group, version)
    found = [each for each in groups if [each["name"]] == rest]
    return {"kind": "APIGroup", "apiVersion": "v1", **found[0]} if found else None


def _resources(group: str, version: str) -> Object:
    listed = []
    for kind in KINDS:
        if (kind.group, kind.version) == (group, version):
            listed.append(_resource(kind, kind.plural, _VERBS))
            if kind.has_status:
                status = f"{kind.plural}/status"
                listed.append(_resource(kind, status, ["get", "patch", "update"]))
    group_version = f"{group}/{version}" if group else version
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version,
        "resources": listed,
    }


def _resource(kind: Kind, name: str, verbs: list[str]) -> Object:
    return {
        "name": name,
        "singularName": "" if "/" in name else kind.name.lower(),
        "namespaced": kind.namespaced,
        "kind": kind.name,
        "verbs": verbs,
    }


def _group(name: str, version: str) -> Object:
    served = {"groupVersion": f"{name}/{version}", "version": version}
    return {"name": name, "versions": [served], "preferredVersion": served}

"""Manifests that the contract tests send."""

from __future__ import annotations

from typing import Any

from tests.cluster.client import Object

V1 = "resource.k8s.io/v1"


def namespace(name: str, **labels: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": labels},
    }


def exactly(**fields: Any) -> Object:
    """A request named gpu for one device of the class gpu.example.com."""
    return {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"} | fields}


def claim(name: str, namespace: str, *requests: Any, **metadata: Any) -> Object:
    return {
        "apiVersion": V1,
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": namespace} | metadata,
        "spec": {"devices": {"requests": list(requests) or [exactly()]}},
    }


def template(name: str, namespace: str, *requests: Any, **metadata: Any) -> Object:
    return {
        "apiVersion": V1,
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "metadata": metadata,
            "spec": {"devices": {"requests": list(requests) or [exactly()]}},
        },
    }


def device_class(name: str, *expressions: str) -> Object:
    selectors = [{"cel": {"expression": each}} for each in expressions]
    return {
        "apiVersion": V1,
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": selectors},
    }


def resource_slice(
    name: str, *, driver: str, node: str, devices: list[Object]
) -> Object:
    return {
        "apiVersion": V1,
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": {
            "driver": driver,
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": devices,
        },
    }


def pod(name: str, namespace: str, *claims: Object) -> Object:
    """A pod whose one container uses every claim, each {"name": …, "resourceClaim…": …}."""
    container = {
        "name": "main",
        "image": "registry.example.com/app:1",
        "resources": {"claims": [{"name": each["name"]} for each in claims]},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"containers": [container], "resourceClaims": list(claims)},
    }


RBAC_V1 = "rbac.authorization.k8s.io/v1"


def rule(verbs: str, resources: str, group: str = "", **more: list[str]) -> Object:
    """An RBAC rule; verbs and resources are separated by spaces."""
    return {
        "apiGroups": [group],
        "resources": resources.split(),
        "verbs": verbs.split(),
    } | more


def role(name: str, *rules: Object, namespace: str | None = None) -> Object:
    """A Role, or a ClusterRole when there is no namespace."""
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    kind = "Role" if namespace else "ClusterRole"
    return {
        "apiVersion": RBAC_V1,
        "kind": kind,
        "metadata": metadata,
        "rules": list(rules),
    }


def binding(
    role: Object, *, user: str = "", group: str = "", namespace: str = ""
) -> Object:
    """A binding of a role to one user or group, in a namespace when the role is in one."""
    namespace = namespace or role["metadata"].get("namespace", "")
    subject = (
        {"kind": "User", "name": user} if user else {"kind": "Group", "name": group}
    )
    metadata = {"name": f"{role['metadata']['name']}-{len(user + group)}"}
    return {
        "apiVersion": RBAC_V1,
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": metadata | ({"namespace": namespace} if namespace else {}),
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": role["kind"],
            "name": role["metadata"]["name"],
        },
        "subjects": [subject | {"apiGroup": "rbac.authorization.k8s.io"}],
    }

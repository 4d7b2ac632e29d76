"""What the tests of claims need in an API server, and the manifests they send."""

from __future__ import annotations

import uuid
from contextlib import suppress
from pathlib import Path

import yaml

from inventory.domain.kinds import BY_NAME
from inventory.gateways.errors import AlreadyExists
from inventory.gateways.kube import AS_ITSELF, Kube
from inventory.gateways.kubeconfig import connect
from inventory.gateways.transport import Call, call

ROLES = Path(__file__).parents[3] / "deploy" / "rbac.yaml"
GROUPS = {
    "ai-serving": "slicewise:orchid",
    "gpu-monitoring": "slicewise:orchid",
    "maple-lab": "slicewise:maple",
}


def prepared(kubeconfig):
    """Return a server as its administrator, with what the tests need in it."""
    connection = connect("demo", kubeconfig)
    prepare(connection)
    return Kube(connection, AS_ITSELF)


def prepare(connection):
    """Make namespaces, classes, the deployed roles and a node with devices."""
    for body in [*_namespaces(), *_classes()]:
        _post(connection, BY_NAME[body["kind"]].path("v1"), body)
    for body in [*_roles(), *map(_binding, GROUPS)]:
        _post(connection, _rbac_path(body), body)
    _add_node(connection)


def _add_node(connection):
    """Add a ready node with eight devices."""
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "claims-node"}}
    _post(connection, BY_NAME["Node"].path("v1"), node)
    room = {"cpu": "64", "memory": "512Gi", "pods": "110"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    kube = Kube(connection, AS_ITSELF)
    # Admission taints new nodes, and no controller of these servers lifts it.
    kube.patch(BY_NAME["Node"], "claims-node", {"spec": {"taints": None}})
    kube.patch(
        BY_NAME["Node"],
        "claims-node",
        {"status": {"allocatable": room, "capacity": room, "conditions": [ready]}},
        subresource="status",
    )
    body = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "claims-node-example.com"},
        "spec": {
            "driver": "example.com",
            "nodeName": "claims-node",
            "pool": {"name": "claims-node", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"gpu-{index}"} for index in range(8)],
        },
    }
    _post(connection, BY_NAME["ResourceSlice"].path("v1"), body)


def _post(connection, path, body):
    with suppress(AlreadyExists):
        call(connection, Call("POST", path, body=body), ())


def _namespaces():
    for name in ("ai-serving", "ai-training", "maple-lab"):
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    # Where administrative access may be asked for.
    labels = {"resource.kubernetes.io/admin-access": "true"}
    metadata = {"name": "gpu-monitoring", "labels": labels}
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def _roles():
    """Yield the roles as they are deployed, bound to the user `slicewise`."""
    user = {
        "kind": "User",
        "name": "slicewise",
        "apiGroup": "rbac.authorization.k8s.io",
    }
    for body in yaml.safe_load_all(ROLES.read_text()):
        if body["kind"] == "ClusterRole":
            yield body
        elif body["kind"] == "ClusterRoleBinding":
            is_account = body["subjects"][0]["kind"] == "ServiceAccount"
            yield {**body, "subjects": [user]} if is_account else body


def _rbac_path(body):
    namespace = body["metadata"].get("namespace")
    within = f"/namespaces/{namespace}" if namespace else ""
    return f"/apis/{body['apiVersion']}{within}/{body['kind'].lower()}s"


def _binding(namespace):
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "tenant", "namespace": namespace},
        "subjects": [
            {
                "kind": "Group",
                "name": GROUPS[namespace],
                "apiGroup": "rbac.authorization.k8s.io",
            }
        ],
        "roleRef": {
            "kind": "ClusterRole",
            "name": "slicewise:tenant",
            "apiGroup": "rbac.authorization.k8s.io",
        },
    }


def _classes():
    for name in ("gpu.example.com", "changing.example.com"):
        yield {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": name},
            "spec": {
                "selectors": [{"cel": {"expression": 'device.driver == "example.com"'}}]
            },
        }


def manifest_of(
    *,
    namespace="ai-serving",
    device_class="gpu.example.com",
    kind="Template",
    **asked,
):
    spec = {
        "devices": {
            "requests": [
                {
                    "name": "gpu",
                    "exactly": {"deviceClassName": device_class, **asked},
                }
            ]
        }
    }
    is_template = kind == "Template"
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate" if is_template else "ResourceClaim",
        "metadata": {"name": f"t-{uuid.uuid4().hex[:8]}", "namespace": namespace},
        "spec": {"spec": spec} if is_template else spec,
    }


def gpu_deployment(name, namespace):
    """Return a Deployment whose pods ask a device plugin for a GPU."""
    container = {
        "name": "main",
        "image": "registry.example.com/chat:1",
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
    }
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [container]},
            },
        },
    }

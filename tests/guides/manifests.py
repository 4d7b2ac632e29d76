"""Manifests of the shapes that field guides show, in our own words and names."""

from __future__ import annotations

from typing import Any

from tests.cluster.client import Object

V1 = "resource.k8s.io/v1"
GPU = "gpu.nvidia.com"
EXTENDED = "nvidia.com/gpu"
_ATTRIBUTES = f'device.attributes["{GPU}"]'
WHOLE = f'device.driver == "{GPU}" && {_ATTRIBUTES}.type == "gpu"'
NEW_ENOUGH = f'{_ATTRIBUTES}.driverVersion.isGreaterThan(semver("570.0.0"))'
HOPPER = (
    f'{_ATTRIBUTES}.architecture == "Hopper" &&'
    f' device.capacity["{GPU}"].memory.compareTo(quantity("79Gi")) >= 0'
)
TWO_SLICES = f'{_ATTRIBUTES}.profile in ["2g.20gb", "3g.20gb"]'
# As a guide has it: accepted when written, an error whenever it is used.
OF_A_VERSION = (
    f'device.driver == "{GPU}" &&'
    f' semver({_ATTRIBUTES}.driverVersion).isGreaterThan(semver("580.0.0"))'
)


def selectors(*expressions: str) -> list[Object]:
    """Return selectors, all of which must hold."""
    return [{"cel": {"expression": each}} for each in expressions]


def device_class(name: str, *expressions: str, extended: str = "") -> Object:
    """Return a class, mapped to an extended resource where one is named."""
    spec: Object = {"selectors": selectors(*expressions)}
    if extended:
        spec["extendedResourceName"] = extended
    return {
        "apiVersion": V1,
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": spec,
    }


def shares_or_partitions(namespace: str, *, ask_for_shares: bool = True) -> Object:
    """Return two 16 GiB shares on two cards, else two partitions of two cards.

    Args:
        namespace: where it is made.
        ask_for_shares: whether only cards that can be shared will do; without it, as
            guides have it, a whole card serves as well.
    """
    asked = f"device.allowMultipleAllocations && {HOPPER}" if ask_for_shares else HOPPER
    listed = [
        {
            "name": "shares",
            "deviceClassName": GPU,
            "count": 2,
            "selectors": selectors(asked),
            "capacity": {"requests": {"memory": "16Gi"}},
        },
        {
            "name": "partitions",
            "deviceClassName": "mig.nvidia.com",
            "count": 2,
            "selectors": selectors(TWO_SLICES),
        },
    ]
    constraints = [
        {"requests": ["gpus/shares"], "distinctAttribute": f"{GPU}/uuid"},
        {"requests": ["gpus/partitions"], "distinctAttribute": f"{GPU}/parentUUID"},
    ]
    devices: Object = {"requests": [{"name": "gpus", "firstAvailable": listed}]}
    return template("two-slices", namespace, devices | {"constraints": constraints})


def one_gpu(device_class_name: str = GPU) -> Object:
    """Return the devices of a claim for one whole GPU."""
    request = {"name": "gpu", "exactly": {"deviceClassName": device_class_name}}
    return {"requests": [request]}


def template(name: str, namespace: str, devices: Object) -> Object:
    """Return a ResourceClaimTemplate."""
    return {
        "apiVersion": V1,
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"spec": {"devices": devices}},
    }


def claim(name: str, namespace: str, devices: Object) -> Object:
    """Return a ResourceClaim."""
    return {
        "apiVersion": V1,
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"devices": devices},
    }


def pod(
    name: str,
    namespace: str,
    uses: Object | None,
    *,
    containers: int = 1,
    limits: dict[str, str] | None = None,
    node: str = "",
) -> Object:
    """Return a pod whose containers all use one claim, or ask for extended resources.

    Args:
        name, namespace: of the pod.
        uses: the source of the claim: its name, or its template's.
        containers: how many.
        limits: of each container.
        node: the only one that will do.
    """
    resources: Object = {"limits": limits} if limits else {}
    if uses:
        resources["claims"] = [{"name": "gpu"}]
    spec: dict[str, Any] = {
        "containers": [
            {
                "name": f"part-{number}",
                "image": "registry.example.com/app:1",
                "resources": resources,
            }
            for number in range(containers)
        ]
    }
    if uses:
        spec["resourceClaims"] = [{"name": "gpu", **uses}]
    if node:
        spec["nodeSelector"] = {"kubernetes.io/hostname": node}
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def compute_domain_crd() -> Object:
    """Return a CustomResourceDefinition for ComputeDomain, of our own making."""
    template_name = {"type": "object", "properties": {"name": {"type": "string"}}}
    channel = {
        "type": "object",
        "properties": {
            "resourceClaimTemplate": template_name,
            "allocationMode": {"type": "string", "enum": ["Single", "All"]},
        },
    }
    spec = {
        "type": "object",
        "required": ["numNodes", "channel"],
        "properties": {
            "numNodes": {"type": "integer", "minimum": 0},
            "channel": channel,
        },
    }
    status = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": spec, "status": status}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "computedomains.resource.nvidia.com"},
        "spec": {
            "group": "resource.nvidia.com",
            "scope": "Namespaced",
            "names": {
                "kind": "ComputeDomain",
                "plural": "computedomains",
                "singular": "computedomain",
            },
            "versions": [
                {
                    "name": "v1beta1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                }
            ],
        },
    }


def compute_domain(name: str, namespace: str, channel: str) -> Object:
    """Return a ComputeDomain; its controller makes the template that it names."""
    return {
        "apiVersion": "resource.nvidia.com/v1beta1",
        "kind": "ComputeDomain",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "numNodes": 0,
            "channel": {"resourceClaimTemplate": {"name": channel}},
        },
    }

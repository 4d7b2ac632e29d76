"""The manifests of the five phases, filled with a cluster's names.

Source: Karpenter's NodePool v1, the Helm values of the DRA driver for NVIDIA GPUs,
resource.k8s.io/v1, admissionregistration.k8s.io/v1, and nvidia.com/v1alpha1 GPUCluster.
"""

from __future__ import annotations

from typing import Any

from portal.adoption.domain.facts import CANARY_LABEL, GPU_DRIVER, RESOURCE
from portal.adoption.domain.gates import MigrationFacts

Json = dict[str, Any]

POOL = "dra-canary"
PROBE = "dra-probe"
TEMPLATE = "one-gpu"
GPU_CLUSTER = "gpu-cluster"
GUARD = "one-gpu-operator-object"
IMAGE = "registry.k8s.io/pause:3.10"
_TAINT = {"key": CANARY_LABEL, "value": "true", "effect": "NoSchedule"}
_TOLERATION = {"key": CANARY_LABEL, "operator": "Exists", "effect": "NoSchedule"}
_ADMISSION = "admissionregistration.k8s.io/v1"


def node_pool() -> list[Json]:
    """Return Karpenter's NodePool for new nodes; its node class is the cluster's own."""
    template = {
        "metadata": {"labels": {CANARY_LABEL: "true"}},
        "spec": {
            "nodeClassRef": {"group": "GROUP", "kind": "KIND", "name": "NODE-CLASS"},
            "requirements": [
                {
                    "key": "karpenter.sh/capacity-type",
                    "operator": "In",
                    "values": ["on-demand"],
                }
            ],
            "taints": [_TAINT],
        },
    }
    spec = {
        "template": template,
        "disruption": {
            "consolidationPolicy": "WhenEmpty",
            "consolidateAfter": "10m",
        },
    }
    return [
        {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodePool",
            "metadata": {"name": POOL},
            "spec": spec,
        }
    ]


def chart_values() -> list[Json]:
    """Return Helm values that keep the driver's kubelet plugin on the canary pool."""
    return [
        {
            "gpuResourcesEnabledOverride": True,
            "resources": {"gpus": {"enabled": True}},
            "kubeletPlugin": {
                "nodeSelector": {CANARY_LABEL: "true"},
                "tolerations": [_TOLERATION],
            },
        }
    ]


def probe_pod() -> list[Json]:
    """Return a pod that asks as ever, held to the canary pool."""
    container = {
        "name": "probe",
        "image": IMAGE,
        "resources": {"limits": {RESOURCE: "1"}},
    }
    return [_pod(PROBE, {"containers": [container]})]


def native_pod() -> list[Json]:
    """Return a template and a pod that asks by it, held to the canary pool."""
    request = {"name": "gpu", "exactly": {"deviceClassName": GPU_DRIVER}}
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": TEMPLATE},
        "spec": {"spec": {"devices": {"requests": [request]}}},
    }
    container = {
        "name": "probe",
        "image": IMAGE,
        "resources": {"claims": [{"name": "gpu"}]},
    }
    claims = [{"name": "gpu", "resourceClaimTemplateName": TEMPLATE}]
    pod = _pod(f"{PROBE}-native", {"containers": [container], "resourceClaims": claims})
    return [template, pod]


def guard() -> list[Json]:
    """Return a policy by which the API server refuses GPUCluster beside ClusterPolicy.

    Each ClusterPolicy is a parameter of it, for which the expression is false; where
    there is none, the policy lets pass.
    """
    rule = {
        "apiGroups": ["nvidia.com"],
        "apiVersions": ["*"],
        "operations": ["CREATE"],
        "resources": ["gpuclusters"],
    }
    message = (
        "A ClusterPolicy is still there: delete it before you create a GPUCluster."
    )
    policy = {
        "apiVersion": _ADMISSION,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": GUARD},
        "spec": {
            "failurePolicy": "Fail",
            "paramKind": {"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy"},
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": "params == null", "message": message}],
        },
    }
    binding = {
        "apiVersion": _ADMISSION,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": GUARD},
        "spec": {
            "policyName": GUARD,
            "validationActions": ["Deny"],
            "paramRef": {"selector": {}, "parameterNotFoundAction": "Allow"},
        },
    }
    return [policy, binding]


def gpu_cluster() -> list[Json]:
    """Return a GPUCluster with the operator's own defaults."""
    return [
        {
            "apiVersion": "nvidia.com/v1alpha1",
            "kind": "GPUCluster",
            "metadata": {"name": GPU_CLUSTER},
            "spec": {},
        }
    ]


MANIFESTS = {
    "nodepool.yaml": node_pool,
    "dra-values.yaml": chart_values,
    "probe-pod.yaml": probe_pod,
    "native-pod.yaml": native_pod,
    "guard.yaml": guard,
    "gpucluster.yaml": gpu_cluster,
}


def mapped_class(facts: MigrationFacts) -> str:
    """Return the class that nvidia.com/gpu is, or is to be, mapped to."""
    return facts.mapped[0] if facts.mapped else GPU_DRIVER


def _pod(name: str, spec: Json) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            **spec,
            "nodeSelector": {CANARY_LABEL: "true"},
            "tolerations": [_TOLERATION],
        },
    }

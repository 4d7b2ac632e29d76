"""Manifests with one mistake each, as people copy them; and what must become of each.

name → (text, codes that must be repaired, what the result must hold, what it must not).
"""

from __future__ import annotations

HEAD = """# kept: who wrote this
apiVersion: resource.k8s.io/{version}
kind: ResourceClaim
metadata:
  name: one   # kept: beside the name
  namespace: ai-serving
spec:
  devices:
"""


def v1(rest: str) -> str:
    """Return a claim of v1 with what stands below `devices`."""
    return HEAD.format(version="v1") + rest


def selecting(expression: str, device_class: str = "gpu.nvidia.com") -> str:
    """Return a claim of v1 with one selector."""
    return v1(
        f"""    requests:
      - name: gpu
        exactly:
          deviceClassName: {device_class}
          selectors:
            - cel:
                expression: >-
                  {expression}
"""
    )


FLAT = """    requests:
      # kept: above the request
      - name: gpu
        deviceClassName: gpu.nvidia.com  # kept: beside the class
        count: 2
"""
NVIDIA = 'device.attributes["gpu.nvidia.com"]'
MEMORY = 'device.capacity["gpu.nvidia.com"].memory'

CASES: dict[str, tuple[str, set[str], list[str], list[str]]] = {
    **{
        version: (
            HEAD.format(version=version) + FLAT,
            {"import.version", "claim.invalid"},
            ["resource.k8s.io/v1\n", "exactly:", "count: 2"],
            [version],
        )
        for version in ("v1alpha3", "v1beta1")
    },
    "v1beta2": (
        HEAD.format(version="v1beta2")
        + "    requests:\n      - name: gpu\n        exactly: {deviceClassName: gpu.nvidia.com}\n",
        {"import.version"},
        ["exactly: {deviceClassName: gpu.nvidia.com}"],
        ["v1beta2"],
    ),
    "a slash in a class": (
        v1(FLAT.replace("gpu.nvidia.com", "nvidia.com/mig")),
        {"claim.invalid", "class.missing"},
        ["deviceClassName: mig.nvidia.com"],
        [],
    ),
    "a template without its second spec": (
        v1(FLAT).replace("ResourceClaim\n", "ResourceClaimTemplate\n"),
        {"claim.invalid"},
        ["spec:\n  spec:\n"],
        [],
    ),
    "a constraint in CEL": (
        v1(
            FLAT
            + '    constraints:\n      - requests: [gpu]\n        cel: "'
            + "device.attributes['gpu.nvidia.com'].architecture == 'Hopper'\"\n"
        ),
        {"claim.invalid"},
        ["selectors:", "architecture == 'Hopper'"],
        ["constraints"],
    ),
    "a key without its domain": (
        selecting('device.attributes["architecture"] == "Hopper"'),
        {"cel.compile"},
        [f'{NVIDIA}.architecture == "Hopper"'],
        [],
    ),
    "a capacity among the attributes": (
        selecting(f'{NVIDIA}.memory.compareTo(quantity("40Gi")) >= 0'),
        {"cel.key_other_domain"},
        [f'{MEMORY}.compareTo(quantity("40Gi")) >= 0'],
        [],
    ),
    "a member of the driver": (
        selecting('device.driver.architecture == "Hopper"'),
        {"cel.compile"},
        [f'{NVIDIA}.architecture == "Hopper"'],
        [],
    ),
    "a version taken for a text": (
        selecting(f'semver({NVIDIA}.driverVersion).isGreaterThan(semver("550.0.0"))'),
        {"cel.bad_semver"},
        [f'{NVIDIA}.driverVersion.isGreaterThan(semver("550.0.0"))'],
        ["semver(device"],
    ),
    "a version as nvidia-smi prints it": (
        selecting(f'{NVIDIA}.driverVersion.compareTo(semver("550.05.01")) >= 0'),
        {"cel.bad_semver"},
        ['semver("550.5.1")'],
        [],
    ),
    "signs between quantities": (
        selecting(f'{MEMORY} >= quantity("40Gi")'),
        {"cel.compile"},
        [f'{MEMORY}.compareTo(quantity("40Gi")) >= 0'],
        [],
    ),
    "the size on the box": (
        selecting(f'{MEMORY}.isGreaterThan(quantity("80Gi"))'),
        {"import.at_least", "preview.zero_match"},
        [f'{MEMORY}.compareTo(quantity("79Gi")) >= 0'],
        ["80Gi"],
    ),
    "a product as its label says": (
        selecting(f'{NVIDIA}.productName == "NVIDIA-L40S"'),
        {"preview.zero_match"},
        ['productName == "NVIDIA L40S"'],
        [],
    ),
    "a key that none can publish": (
        selecting(
            f'{NVIDIA}.architecture == "Hopper" && '
            'device.attributes["gpu.nvidia.com/nvlink-clique"] == "3"'
        ),
        {"cel.compile"},
        [f'{NVIDIA}.architecture == "Hopper"'],
        ["nvlink"],
    ),
    "a share that a whole card would serve": (
        v1(
            FLAT.replace("        count: 2\n", "")
            + "        capacity: {requests: {memory: 8Gi}}\n"
        ),
        {"claim.invalid", "capacity.whole_device"},
        ["device.allowMultipleAllocations"],
        [],
    ),
    "an amount without requests": (
        v1(FLAT + "        capacity: {memory: 8Gi}\n"),
        {"claim.invalid", "capacity.whole_device"},
        ["capacity: {requests: {memory: 8Gi}}"],
        [],
    ),
    "a capacity key with its domain": (
        v1(FLAT + "        capacity: {requests: {gpu.nvidia.com/memory: 8Gi}}\n"),
        {"claim.invalid", "capacity.key_mismatch", "capacity.whole_device"},
        ["capacity: {requests: {memory: 8Gi}}"],
        [],
    ),
    "misspelt fields": (
        v1(
            FLAT.replace("deviceClassName", "deviceClass").replace(
                "count: 2", 'count: "2"'
            )
        ),
        {"claim.invalid"},
        ["deviceClassName: gpu.nvidia.com", "count: 2"],
        ["deviceClass:"],
    ),
    "names in capitals": (
        v1(FLAT.replace("name: gpu", "name: GPU_A"))
        + "    constraints:\n      - requests: [GPU_A]\n        matchAttribute: uuid\n",
        {"claim.invalid", "constraint.key_missing"},
        ["name: gpu-a", "requests: [gpu-a]", "matchAttribute: gpu.nvidia.com/uuid"],
        ["GPU_A"],
    ),
    "a class without a type": (
        """# kept: a class
apiVersion: resource.k8s.io/v1beta1
kind: DeviceClass
metadata: {name: example.com/big-gpu}
spec:
  selectors:
    - cel: {expression: 'device.driver == "gpu.nvidia.com"'}
""",
        {"import.version", "claim.invalid", "class.mixed_types"},
        ["name: big-gpu.example.com", f'{NVIDIA}.type == "gpu"'],
        [],
    ),
    "a pod of another age": (
        """# kept: a pod
apiVersion: v1
kind: Pod
metadata: {name: old, namespace: ai-serving}
spec:
  runtimeClassName: nvidia
  resourceClaims:
    - name: gpu
      source:
        resourceClaimTemplateName: one
  containers:
    - name: main
      image: registry.example.com/app:1
      resources:
        claims: [{name: gpus}]
""",
        {"import.pod_claims", "import.runtime_class"},
        ["      resourceClaimTemplateName: one", "claims: [{name: gpu}]"],
        ["runtimeClassName", "source:"],
    ),
}

"""Feature gates of Dynamic Resource Allocation and their defaults by minor.

Source: pkg/features/kube_features.go of Kubernetes 1.34 to 1.37.
"""

from __future__ import annotations

import re

OLDEST_MINOR = 34
NEWEST_MINOR = 37

# Gate → the first minor that knows it, and the first that has it on by default.
_GATES: dict[str, tuple[int, int | None]] = {
    "DynamicResourceAllocation": (34, 34),
    "DRAAdminAccess": (34, 34),
    "DRAPrioritizedList": (34, 34),
    "DRAResourceClaimDeviceStatus": (34, 34),
    "DRAConsumableCapacity": (34, 36),
    "DRAPartitionableDevices": (34, 36),
    "DRADeviceBindingConditions": (34, 36),
    "DRADeviceTaints": (34, 36),
    "DRADeviceTaintRules": (35, 37),
    "DRAExtendedResource": (34, 36),
    "DRAResourceClaimGranularStatusAuthorization": (36, 36),
    "DRAFractionalCapacityRange": (37, None),
    "DRAListTypeAttributes": (36, None),
    "DRAResourcePoolStatus": (36, None),
    "DRANodeAllocatableResources": (36, None),
    "DRAWorkloadResourceClaims": (36, None),
    "DRADerivedAttributes": (37, None),
    "DRADeviceCompatibilityGroups": (37, None),
    "DRAOptionalNodeOperations": (37, None),
    "DRAPartitionableDevicesType": (37, None),
}
_METRIC = re.compile(
    r'^kubernetes_feature_enabled\{name="(D(?:RA|ynamicResource)\w*)",[^}]*\} ([01])$',
    re.MULTILINE,
)
_VERSION = re.compile(r"v?1\.(\d{1,3})(?:\.\d+)?(?:[-+].*)?\Z", re.ASCII)


class BadVersion(ValueError):
    """A text that is no Kubernetes version."""


class BadGates(ValueError):
    """A text that is no list of feature gates."""


def minor_of(version: str) -> int:
    """Return 37 for `1.37`, `v1.37.2` or `v1.37.2-eks-1`.

    Raises:
        BadVersion: The text is no version of Kubernetes 1.x.
    """
    found = _VERSION.match(version)
    if not found:
        raise BadVersion(f"{version!r} is no Kubernetes version; write 1.37 or v1.37.2")
    return int(found[1])


def supported_minor(version: str) -> int:
    """Return the supported minor nearest to a version; the newest when unknown."""
    if not version:
        return NEWEST_MINOR
    return min(max(minor_of(version), OLDEST_MINOR), NEWEST_MINOR)


def enabled_gates(version: str, overrides: dict[str, bool]) -> list[str]:
    """Return the gates that are on at a version, sorted; overrides win.

    Names that we do not know are passed on: the engine ignores what its
    library lacks.
    """
    minor = supported_minor(version)
    state = {
        gate: on is not None and minor >= on
        for gate, (known, on) in _GATES.items()
        if minor >= known
    }
    state.update(overrides)
    return sorted(gate for gate, on in state.items() if on)


def on_since(gate: str) -> int | None:
    """Return the first minor that has a gate on by default; None where none has."""
    return _GATES.get(gate, (0, None))[1]


def known_since(gate: str) -> int | None:
    """Return the first supported minor that knows a gate; None where none does."""
    return _GATES.get(gate, (None, None))[0]


def gates_in_metrics(text: str) -> dict[str, bool]:
    """Return the gates of Dynamic Resource Allocation that a server's metrics name.

    Source: the gauge kubernetes_feature_enabled of k8s.io/component-base.
    """
    return {name: value == "1" for name, value in _METRIC.findall(text)}


def parse_gates(text: str) -> dict[str, bool]:
    """Return `A=true,B=false` as a mapping.

    Raises:
        BadGates: An item is not NAME=true or NAME=false.
    """
    gates = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = item.partition("=")
        if value.lower() not in {"true", "false"} or not name.isidentifier():
            raise BadGates(
                f"{item!r} is no feature gate; write NAME=true or NAME=false"
            )
        gates[name] = value.lower() == "true"
    return gates

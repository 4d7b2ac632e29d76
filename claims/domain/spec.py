"""What a person asks for, as values in Kubernetes' own words.

Source: resource.k8s.io/v1 DeviceClaim and what is inside it, without the parts
that the composer does not show (opaque config, derived attributes).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

MAX_ALTERNATIVES = 8
MAX_REQUESTS = 32
MAX_CONSTRAINTS = 32
MAX_SELECTORS = 32
MAX_TOLERATIONS = 16
MAX_DEVICES = 32
MAX_EXPRESSION_BYTES = 10 * 1024


class Kind(StrEnum):
    """The two kinds that a person may compose."""

    TEMPLATE = "ResourceClaimTemplate"
    CLAIM = "ResourceClaim"


class AllocationMode(StrEnum):
    """How many of the matching devices are meant."""

    EXACT_COUNT = "ExactCount"
    ALL = "All"


@dataclass(frozen=True, slots=True)
class CELDeviceSelector:
    """One CEL expression over `device`, at most 10,240 bytes of UTF-8."""

    expression: str


@dataclass(frozen=True, slots=True)
class DeviceToleration:
    """A taint that the claim puts up with; "" is an absent field."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedDevices:
    """What exact requests and sub-requests have in common.

    Attributes:
        count: devices, 1 to 32; 1 and without meaning where the mode is All.
        capacity: (key as the driver publishes it, quantity) pairs, keys once.
    """

    device_class_name: str
    selectors: tuple[CELDeviceSelector, ...] = ()
    allocation_mode: AllocationMode = AllocationMode.EXACT_COUNT
    count: int = 1
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactDeviceRequest(AskedDevices):
    """The devices of a request without alternatives."""

    admin_access: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceSubRequest(AskedDevices):
    """One alternative of a prioritised list."""

    name: str


@dataclass(frozen=True, slots=True)
class DeviceRequest:
    """One request: exactly one thing, or the first of a list that can be had."""

    name: str
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] = ()


@dataclass(frozen=True, slots=True)
class DeviceConstraint:
    """One attribute that must be the same, or different, over devices.

    Attributes:
        requests: "request" or "request/subrequest"; empty binds every request.
        match_attribute: fully qualified name, or "".
        distinct_attribute: fully qualified name, or "".
    """

    requests: tuple[str, ...] = ()
    match_attribute: str = ""
    distinct_attribute: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """A ResourceClaim, or the template of one."""

    kind: Kind
    namespace: str
    name: str
    requests: tuple[DeviceRequest, ...]
    constraints: tuple[DeviceConstraint, ...] = ()

"""Devices that must be made ready after they are allocated: binding conditions.

The scheduler allocates such a device, then waits until all of its
`bindingConditions` are true in `status.devices[].conditions`. If one of its
`bindingFailureConditions` becomes true, or if it takes too long, the allocation
is given up and may be made anew.

Source: resource.k8s.io/v1 DeviceRequestAllocationResult and AllocatedDeviceStatus;
kube-scheduler's DynamicResources plugin (bindingTimeout, 600 s by default).
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Body = Mapping[str, Any]

TIMEOUT = dt.timedelta(seconds=600)


class Readiness(StrEnum):
    """How far a device, or all devices of a claim, are with what they wait for."""

    AWAITED = "awaited"
    MET = "met"
    FAILED = "failed"
    TIMED_OUT = "timed-out"


@dataclass(frozen=True, slots=True)
class BindingCondition:
    """One condition of one device.

    Attributes:
        state: for a condition that is hoped for awaited or met, for a failure
            condition failed, or "" as long as it did not come.
        reason, message: the driver's own words, or "".
    """

    device: str  # driver/pool/device
    type: str
    is_failure: bool
    state: Readiness | None
    reason: str
    message: str
    since: dt.datetime | None


@dataclass(frozen=True, slots=True)
class Binding:
    """What a claim's devices wait for; `waited` is None where no time is told."""

    state: Readiness
    conditions: tuple[BindingCondition, ...]
    waited: dt.timedelta | None
    timeout: dt.timedelta = TIMEOUT


def binding_of(claim: Body, *, now: dt.datetime) -> Binding | None:
    """Return what a claim's devices wait for, or None where that is nothing.

    Waiting ends with the last condition that came true.
    """
    status = claim.get("status") or {}
    allocation = status.get("allocation") or {}
    conditions = tuple(_conditions(status, allocation))
    if not conditions:
        return None
    begun = moment_of(allocation.get("allocationTimestamp"))
    state = _state(conditions, begun, now)
    ended = now if state is Readiness.AWAITED else _ended(conditions, state) or now
    waited = max(ended - begun, dt.timedelta()) if begun else None
    return Binding(state, conditions, waited)


def moment_of(text: Any) -> dt.datetime | None:
    """Return the moment of an RFC 3339 timestamp, or None where it is none."""
    try:
        moment = dt.datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return moment if moment.tzinfo else None


def _state(
    conditions: tuple[BindingCondition, ...],
    begun: dt.datetime | None,
    now: dt.datetime,
) -> Readiness:
    if any(each.state is Readiness.FAILED for each in conditions):
        return Readiness.FAILED
    if all(each.state is Readiness.MET for each in conditions if not each.is_failure):
        return Readiness.MET
    if begun and now - begun > TIMEOUT:
        return Readiness.TIMED_OUT
    return Readiness.AWAITED


def _ended(
    conditions: tuple[BindingCondition, ...], state: Readiness
) -> dt.datetime | None:
    moments = [each.since for each in conditions if each.state is state and each.since]
    return max(moments, default=None)


def _conditions(status: Body, allocation: Body) -> Iterator[BindingCondition]:
    told = {
        (_key(device), condition.get("type")): condition
        for device in status.get("devices") or []
        for condition in device.get("conditions") or []
    }
    for result in (allocation.get("devices") or {}).get("results") or []:
        key = _key(result)
        for name in result.get("bindingConditions") or []:
            yield _condition(key, name, told.get((key, name)), is_failure=False)
        for name in result.get("bindingFailureConditions") or []:
            yield _condition(key, name, told.get((key, name)), is_failure=True)


def _key(device: Body) -> tuple[str, ...]:
    return tuple(
        str(device.get(name) or "") for name in ("driver", "pool", "device", "shareID")
    )


def _condition(
    key: tuple[str, ...], name: str, told: Body | None, *, is_failure: bool
) -> BindingCondition:
    told = told or {}
    is_true = told.get("status") == "True"
    state: Readiness | None = None if is_failure else Readiness.AWAITED
    if is_true:
        state = Readiness.FAILED if is_failure else Readiness.MET
    return BindingCondition(
        "/".join(key[:3]),
        name,
        is_failure,
        state,
        str(told.get("reason") or ""),
        str(told.get("message") or ""),
        moment_of(told.get("lastTransitionTime")) if told else None,
    )

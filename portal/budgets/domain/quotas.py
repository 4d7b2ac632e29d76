"""Kubernetes' own quota for devices, read: which lines there are and what they guard.

Source: k8s.io/kubernetes/pkg/quota/v1/evaluator/core resource_claims.go, and
core/v1 ResourceQuota.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from claims.domain.checks.quota import COUNT
from inventory.domain.quantity import BadQuantity, parse_quantity

Json = dict[str, Any]

NAME = "slicewise-devices"
DEVICES = ".deviceclass.resource.k8s.io/devices"
IMPLICIT = "requests.deviceclass.resource.kubernetes.io/"
REQUESTS = "requests."
API_VERSION = "v1"


@dataclass(frozen=True, slots=True)
class QuotaLine:
    """One limit of a ResourceQuota that device claims are charged against.

    Attributes:
        kind: claims (how many there are), class (devices of a class), implicit (the
            extended resource that every class has), extended (one that is named).
        subject: the class or the extended resource; "" for claims.
        used: as the server says; None where it does not yet.
    """

    key: str
    kind: str
    subject: str
    hard: str
    used: str | None

    @property
    def share(self) -> float | None:
        """Used of hard, 0 to 1 or more; None where it is not known."""
        try:
            of = parse_quantity(self.hard)
            return float(parse_quantity(self.used or "") / of) if of else None
        except BadQuantity:
            return None


def kind_of(key: str) -> tuple[str, str] | None:
    """Return kind and subject of a quota's key; None where it is not about devices."""
    if key == COUNT:
        return "claims", ""
    if key.endswith(DEVICES):
        return "class", key.removesuffix(DEVICES)
    if key.startswith(IMPLICIT):
        return "implicit", key.removeprefix(IMPLICIT)
    name = key.removeprefix(REQUESTS)
    domain, slash, _rest = name.partition("/")
    if key.startswith(REQUESTS) and slash and not domain.endswith("kubernetes.io"):
        return "extended", name
    return None


def lines_of(body: Mapping[str, Any]) -> list[QuotaLine]:
    """Return the lines of a ResourceQuota that are about devices, by key."""
    hard = (body.get("spec") or {}).get("hard") or {}
    used = (body.get("status") or {}).get("used") or {}
    found = []
    for key in sorted(hard):
        if (kind := kind_of(key)) is not None:
            said = used.get(key)
            found.append(
                QuotaLine(
                    key, *kind, str(hard[key]), None if said is None else str(said)
                )
            )
    return found


def hard_of(devices: Mapping[str, int], claims: int | None) -> dict[str, str]:
    """Return `spec.hard` for so many devices of each class, and so many claims."""
    hard = {f"{name}{DEVICES}": str(count) for name, count in devices.items()}
    return hard | ({COUNT: str(claims)} if claims is not None else {})


def differences(
    before: Mapping[str, Any] | None, after: Mapping[str, Any]
) -> list[tuple[str, str, str]]:
    """Return (key, before, after) of what changes, "" for what is not there."""
    old = before or {}
    pairs = [
        (key, str(old.get(key, "")), str(after.get(key, "")))
        for key in sorted({*old, *after})
    ]
    return [each for each in pairs if each[1] != each[2]]

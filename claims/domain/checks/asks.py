"""A claim or template manifest, walked: each thing that asks for devices, and where.

Only a manifest that the API server would take is walked (`shape.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ask:
    """One `exactly` or one alternative.

    Attributes:
        request: the request's name; `sub` the alternative's, or empty.
        path: of the object that holds deviceClassName.
        body: that object.
    """

    request: str
    sub: str
    path: str
    body: Json

    @property
    def name(self) -> str:
        """`request` or `request/sub`, as results and constraints name it."""
        return f"{self.request}/{self.sub}" if self.sub else self.request

    @property
    def class_name(self) -> str:
        """The DeviceClass that it names."""
        return str(self.body.get("deviceClassName", ""))

    @property
    def is_all(self) -> bool:
        """Whether it asks for every matching device of a node."""
        return self.body.get("allocationMode") == "All"

    @property
    def count(self) -> int:
        """How many devices it asks for; what is absent or 0 is stored as 1."""
        count = self.body.get("count")
        return count if isinstance(count, int) and count > 0 else 1

    @property
    def is_admin(self) -> bool:
        """Whether it asks for adminAccess."""
        return self.body.get("adminAccess") is True

    @property
    def selectors(self) -> list[tuple[str, str]]:
        """(path, expression) of each CEL selector."""
        return [
            (f"{self.path}.selectors[{i}].cel.expression", str(s["cel"]["expression"]))
            for i, s in enumerate(self.body.get("selectors") or [])
            if isinstance(s, dict) and isinstance(s.get("cel"), dict)
        ]

    @property
    def capacity(self) -> dict[str, Any]:
        """Capacity key → quantity as written."""
        return dict((self.body.get("capacity") or {}).get("requests") or {})

    @property
    def tolerations(self) -> list[Json]:
        """Its tolerations."""
        return [t for t in self.body.get("tolerations") or [] if isinstance(t, dict)]


@dataclass(frozen=True, slots=True)
class Asked:
    """A manifest's device claim.

    Attributes:
        base: `spec.devices` or `spec.spec.devices`.
        requests: (name, path, alternatives or the one `exactly`) in order.
    """

    manifest: Json
    base: str
    devices: Json
    requests: tuple[tuple[str, str, tuple[Ask, ...]], ...]

    @property
    def namespace(self) -> str:
        """The namespace that the manifest names."""
        return str((self.manifest.get("metadata") or {}).get("namespace") or "default")

    @property
    def asks(self) -> list[Ask]:
        """Every `exactly` and every alternative, in order."""
        return [ask for _name, _path, asks in self.requests for ask in asks]

    def listed(self, ask: Ask) -> bool:
        """Return whether it is an alternative of a firstAvailable list."""
        return bool(ask.sub)

    @property
    def constraints(self) -> list[tuple[str, Json]]:
        """(path, constraint) in order."""
        return [
            (f"{self.base}.constraints[{i}]", constraint)
            for i, constraint in enumerate(self.devices.get("constraints") or [])
        ]

    def bound(self, constraint: Json) -> list[Ask]:
        """Return what a constraint or config binds: all, by request, or by alternative."""
        names = set(constraint.get("requests") or [])
        return [
            ask
            for ask in self.asks
            if not names or ask.request in names or ask.name in names
        ]


def asked_of(manifest: Json) -> Asked:
    """Return the walked form of a manifest without shape findings."""
    template = manifest.get("kind") == "ResourceClaimTemplate"
    base = "spec.spec.devices" if template else "spec.devices"
    devices = _devices(manifest, template=template)
    requests = []
    for i, request in enumerate(devices.get("requests") or []):
        path = f"{base}.requests[{i}]"
        requests.append((request["name"], path, tuple(_asks(request, path))))
    return Asked(manifest, base, devices, tuple(requests))


def _devices(manifest: Json, *, template: bool) -> Json:
    spec = manifest.get("spec") or {}
    return ((spec.get("spec") or {}) if template else spec).get("devices") or {}


def _asks(request: Json, path: str) -> Iterator[Ask]:
    name = request["name"]
    if request.get("exactly") is not None:
        yield Ask(name, "", f"{path}.exactly", request["exactly"])
    for j, sub in enumerate(request.get("firstAvailable") or []):
        yield Ask(name, sub["name"], f"{path}.firstAvailable[{j}]", sub)

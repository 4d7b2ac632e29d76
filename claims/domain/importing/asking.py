"""What asks for devices in a claim or template, wherever an old shape keeps it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from claims.domain.importing.edits import Path, at

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]

CLAIM, TEMPLATE = "ResourceClaim", "ResourceClaimTemplate"
ASK_FIELDS = (
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "adminAccess",
    "tolerations",
    "capacity",
)


@dataclass(frozen=True, slots=True)
class Asking:
    """One `exactly`, one alternative, or a request that holds their fields itself.

    Attributes:
        request, sub: names; `sub` is empty outside of a list.
        path: of `body`.
    """

    request: str
    sub: str
    path: Path
    body: Json

    @property
    def name(self) -> str:
        """`request` or `request/sub`, as constraints name it."""
        return f"{self.request}/{self.sub}" if self.sub else self.request

    @property
    def class_name(self) -> str:
        """The class that it names, or ""."""
        return str(self.body.get("deviceClassName") or "")

    @property
    def selectors(self) -> Iterator[tuple[Path, str]]:
        """Yield path and text of each CEL selector."""
        for i, selector in enumerate(listed(self.body, "selectors")):
            text = at(selector, ("cel", "expression"))
            if isinstance(text, str):
                yield (*self.path, "selectors", i, "cel", "expression"), text


def devices_path(body: Json) -> Path:
    """Return where a claim or a template keeps its devices."""
    if body.get("kind") == TEMPLATE:
        return ("spec", "spec", "devices")
    return ("spec", "devices")


def requests_of(body: Json) -> Iterator[tuple[Path, Json]]:
    """Yield path and mapping of each request."""
    base = (*devices_path(body), "requests")
    for i, request in enumerate(listed(at(body, base[:-1]), "requests")):
        if isinstance(request, dict):
            yield (*base, i), request


def askings(body: Json) -> Iterator[Asking]:
    """Yield whatever asks for devices, in order."""
    for path, request in requests_of(body):
        name = str(request.get("name") or "")
        if isinstance(request.get("exactly"), dict):
            yield Asking(name, "", (*path, "exactly"), request["exactly"])
        elif isinstance(request.get("firstAvailable"), list):
            for j, sub in enumerate(request["firstAvailable"]):
                if isinstance(sub, dict):
                    where = (*path, "firstAvailable", j)
                    yield Asking(name, str(sub.get("name") or ""), where, sub)
        else:
            yield Asking(name, "", path, request)


def listed(body: Any, key: str) -> list[Any]:
    """Return a list below a mapping; empty where there is none."""
    value = body.get(key) if isinstance(body, dict) else None
    return value if isinstance(value, list) else []

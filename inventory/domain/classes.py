"""DeviceClasses, and which of two that map one extended resource wins.

Source: kube-scheduler of Kubernetes 1.35 and later: the newest class wins, then
the lower name; 1.34 takes the one listed last.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class ClassFacts:
    """A DeviceClass. Source: resource.k8s.io/v1 DeviceClass."""

    name: str
    created: str  # RFC 3339, "" where unknown
    selectors: tuple[str, ...]
    extended_resource: str
    config_drivers: tuple[str, ...]


def parse_class(name: str, body: Any) -> ClassFacts:
    """Return a DeviceClass; a field of the wrong type is skipped."""
    spec = _dict(_dict(body).get("spec"))
    expressions = [
        _dict(selector.get("cel")).get("expression")
        for selector in _dicts(spec, "selectors")
    ]
    drivers = [
        _dict(entry.get("opaque")).get("driver") for entry in _dicts(spec, "config")
    ]
    return ClassFacts(
        name=name,
        created=str(_dict(_dict(body).get("metadata")).get("creationTimestamp") or ""),
        selectors=tuple(str(text) for text in expressions if text),
        extended_resource=str(spec.get("extendedResourceName") or ""),
        config_drivers=tuple(str(driver) for driver in drivers if driver),
    )


def clashes(classes: Iterable[ClassFacts]) -> dict[str, list[ClassFacts]]:
    """Return extended resource → the classes that map it, the winner first."""
    groups: dict[str, list[ClassFacts]] = defaultdict(list)
    for each in sorted(classes, key=lambda c: c.name):
        if each.extended_resource:
            groups[each.extended_resource].append(each)
    return {
        name: sorted(of, key=lambda c: c.created, reverse=True)
        for name, of in groups.items()
        if len(of) > 1
    }


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _dicts(spec: dict[str, Any], key: str) -> list[dict[str, Any]]:
    value = spec.get(key)
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []

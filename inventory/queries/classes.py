"""The DeviceClasses of a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inventory.domain import gates
from inventory.domain.classes import ClassFacts, clashes, parse_class
from inventory.models import KubeObject

if TYPE_CHECKING:
    from inventory.models import Cluster


@dataclass(frozen=True, slots=True)
class ClassRow:
    """A DeviceClass, and the others that map the same extended resource."""

    facts: ClassFacts
    rivals: tuple[str, ...]
    # None where which of them wins is not determined by what is stored.
    winner: str | None


def class_rows(cluster: Cluster) -> list[ClassRow]:
    """Return every DeviceClass by name; one query."""
    found = KubeObject.objects.filter(
        cluster=cluster, kind="DeviceClass", deleted_at=None
    ).order_by("name")
    facts = [
        parse_class(name, body) for name, body in found.values_list("name", "body")
    ]
    oldest = gates.supported_minor(cluster.kubernetes_version) == gates.OLDEST_MINOR
    rivals = clashes(facts)
    rows = []
    for each in facts:
        group = rivals.get(each.extended_resource, [])
        sure = group and not oldest and all(one.created for one in group)
        rows.append(
            ClassRow(
                each,
                tuple(one.name for one in group if one.name != each.name),
                group[0].name if sure else None,
            )
        )
    return rows

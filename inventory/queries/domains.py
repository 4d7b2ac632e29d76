"""The ComputeDomains of a cluster, as far as a person may see their names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inventory.domain.domains import ComputeDomain, parse_domain
from inventory.models import KubeObject

if TYPE_CHECKING:
    from inventory.domain.visibility import Viewer
    from inventory.models import Cluster


@dataclass(frozen=True, slots=True)
class Domains:
    """The domains that may be named, and how many others there are."""

    seen: list[ComputeDomain]
    hidden: int

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.seen) + self.hidden

    @property
    def healthy(self) -> int:
        """How many of those seen are ready with all members."""
        return sum(domain.healthy for domain in self.seen)


def compute_domains(cluster: Cluster, viewer: Viewer) -> Domains:
    """Return the domains of a cluster, by namespace and name; one query."""
    rows = (
        KubeObject.objects.filter(
            cluster=cluster, kind="ComputeDomain", deleted_at=None
        )
        .order_by("namespace", "name")
        .values_list("namespace", "name", "body")
    )
    seen = [parse_domain(*row) for row in rows if viewer.sees(row[0])]
    return Domains(seen, len(rows) - len(seen))

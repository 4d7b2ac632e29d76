"""Which claims and templates ask for which DeviceClass."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from django.db import connection

if TYPE_CHECKING:
    from inventory.domain.visibility import Viewer
    from inventory.models import Cluster

SHOWN = 20


@dataclass(slots=True)
class ClassUsers:
    """Who uses a class; names only where the person may see them.

    Attributes:
        seen: (kind, namespace, name), by kind, namespace and name; at most SHOWN.
    """

    claims: int = 0
    templates: int = 0
    hidden: int = 0
    seen: list[tuple[str, str, str]] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many there are."""
        return self.claims + self.templates


_USERS = """
    SELECT DISTINCT class.value #>> '{}', kind, namespace, name
    FROM inventory_kubeobject
    CROSS JOIN LATERAL jsonb_path_query(
        CASE kind WHEN 'ResourceClaim' THEN body -> 'spec' ELSE body #> '{spec,spec}' END,
        '$.devices.requests[*].*[*].deviceClassName'
    ) AS class(value)
    WHERE cluster_id = %s AND deleted_at IS NULL
      AND kind IN ('ResourceClaim', 'ResourceClaimTemplate')
    ORDER BY 1, 2, 3, 4
"""


def class_users(cluster: Cluster, viewer: Viewer) -> dict[str, ClassUsers]:
    """Return class → the claims and templates that ask for it; one query."""
    found: dict[str, ClassUsers] = defaultdict(ClassUsers)
    with connection.cursor() as cursor:
        cursor.execute(_USERS, [cluster.pk])
        for name, kind, namespace, user in cursor.fetchall():
            users = found[name]
            users.claims += kind == "ResourceClaim"
            users.templates += kind != "ResourceClaim"
            if not viewer.sees(namespace):
                users.hidden += 1
            elif len(users.seen) < SHOWN:
                users.seen.append((kind, namespace, user))
    return dict(found)

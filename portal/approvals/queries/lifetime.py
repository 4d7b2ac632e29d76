"""What is idle, and what is not as the portal made it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from claims.domain.lifecycle import IN_CLUSTER
from claims.domain.manifest import (
    MANAGED_BY,
    MANAGED_BY_LABEL,
    changed_fields,
    request_id_of,
)
from claims.models import ClaimRequest
from claims.queries.requests import visible_to
from inventory.models import KubeObject
from portal.accounts.domain.roles import Permission
from portal.accounts.queries import namespaces_of
from portal.approvals.models import IdleClaim

if TYPE_CHECKING:
    from inventory.models import Cluster
    from portal.accounts.models import User

# A key with a dot in it stands in brackets, as an index does: labels[example.com/x].
_PART = re.compile(r"\[([^\]]+)\]|([^.\[\]]+)")


@dataclass(frozen=True, slots=True)
class Drift:
    """One thing that is not as the portal made it.

    Attributes:
        kind: missing (gone), replaced (another of that name), changed (outside the
            portal), orphan (says it is the portal's, and no open request made it).
        fields: (path, as it was made, as it is) of what was changed.
    """

    kind: str
    object_kind: str
    namespace: str
    name: str
    claim_request: ClaimRequest | None = None
    fields: tuple[tuple[str, str, str], ...] = ()


def idle_of(user: User, cluster: Cluster) -> list[IdleClaim]:
    """Return the idle claims of a cluster that a person may see, longest first."""
    rows = IdleClaim.objects.filter(cluster=cluster).select_related(
        "claim_request__requester"
    )
    if not user.may(Permission.SEE_ALL_CLAIMS):
        rows = rows.filter(namespace__in=namespaces_of(user, cluster.name))
    return list(rows.order_by("since", "namespace", "name")[:500])


def drift_of(user: User, cluster: Cluster) -> list[Drift]:
    """Return what a person may see of what is not as it was made; four queries."""
    requests = {
        str(row.public_id): row
        for row in visible_to(user)
        .filter(plan__cluster=cluster, state__in=list(IN_CLUSTER))
        .exclude(object_uid="")
    }
    objects = KubeObject.objects.filter(
        cluster=cluster,
        kind__in=["ResourceClaim", "ResourceClaimTemplate"],
        deleted_at=None,
    )
    by_name = {
        (kind, namespace, name): (uid, body)
        for kind, namespace, name, uid, body in objects.filter(
            name__in={row.plan.name for row in requests.values()}
        ).values_list("kind", "namespace", "name", "uid", "body")
    }
    found = []
    for row in requests.values():
        plan = row.plan
        uid, body = by_name.get((plan.kind, plan.namespace, plan.name), ("", None))
        place = (plan.kind, plan.namespace, plan.name, row)
        if body is None:
            found.append(Drift("missing", *place))
        elif uid != row.object_uid:
            found.append(Drift("replaced", *place))
        elif paths := changed_fields(plan.manifest, body):
            pairs = tuple(
                (path, _at(plan.manifest, path), _at(body, path)) for path in paths
            )
            found.append(Drift("changed", *place, pairs))
    return [*found, *_orphans(user, cluster, set(requests))]


def _at(body: object, path: str) -> str:
    """Return what stands at a path, as far as it leads; "" for nothing."""
    here = body
    for bracketed, plain in _PART.findall(path):
        part = bracketed or plain
        if isinstance(here, dict) and part in here:
            here = here[part]
        elif isinstance(here, list) and part.isdecimal() and int(part) < len(here):
            here = here[int(part)]
        else:
            break
    return "" if here is body or isinstance(here, dict | list) else str(here)


def _orphans(user: User, cluster: Cluster, known: set[str]) -> list[Drift]:
    """Return objects that say they are the portal's, and that no open request made."""
    rows = KubeObject.objects.filter(
        cluster=cluster,
        kind__in=["ResourceClaim", "ResourceClaimTemplate"],
        deleted_at=None,
        body__metadata__labels__contains={MANAGED_BY_LABEL: MANAGED_BY},
    )
    if not user.may(Permission.SEE_ALL_CLAIMS):
        rows = rows.filter(namespace__in=namespaces_of(user, cluster.name))
    open_ids = known | {
        str(public_id)
        for public_id in ClaimRequest.objects.filter(
            plan__cluster=cluster, state__in=[*IN_CLUSTER, "Applying"]
        ).values_list("public_id", flat=True)
    }
    return [
        Drift("orphan", kind, namespace, name)
        for kind, namespace, name, body in rows.values_list(
            "kind", "namespace", "name", "body"
        )
        if request_id_of(body) not in open_ids
    ]

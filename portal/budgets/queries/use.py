"""What the claims of a tenant hold now, whoever made them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from claims.domain.manifest import request_id_of
from inventory.domain.usage import hold_sizes
from inventory.models import Cluster, KubeObject
from inventory.queries.cards import fleet_of
from portal.accounts.models import TenantNamespace
from portal.budgets.domain.amounts import NOTHING, Amounts

if TYPE_CHECKING:
    from inventory.domain.cards import Card, Part
    from inventory.domain.fleet import Fleet
    from inventory.domain.holds import Hold
    from portal.accounts.models import Tenant


@dataclass(frozen=True, slots=True)
class Held:
    """What one claim holds.

    Attributes:
        request: id of the claim request that it says it comes from, or "". Where
            that is forged, it counts with that request all the same.
        waits: it has no devices yet, and this is what it asks for.
    """

    cluster: str
    namespace: str
    claim: str
    request: str
    amounts: Amounts
    waits: bool = False


def held_by_tenant(tenant: Tenant) -> list[Held]:
    """Return what each claim in a tenant's namespaces holds; a few queries a cluster."""
    spaces: dict[str, set[str]] = defaultdict(set)
    rows = TenantNamespace.objects.filter(tenant=tenant)
    for name, namespace in rows.values_list("cluster", "namespace"):
        spaces[name].add(namespace)
    found: list[Held] = []
    for cluster in Cluster.objects.defer("kubeconfig_encrypted").filter(
        name__in=spaces
    ):
        found += _held_in(cluster, spaces[cluster.name])
    return found


def _held_in(cluster: Cluster, namespaces: set[str]) -> list[Held]:
    amounts = _amounts(fleet_of(cluster), namespaces)
    if not amounts:
        return []
    bodies = KubeObject.objects.filter(
        cluster=cluster,
        kind="ResourceClaim",
        deleted_at=None,
        namespace__in={namespace for namespace, _claim in amounts},
    ).values_list("namespace", "name", "body__metadata")
    requests = {
        (namespace, name): request_id_of({"metadata": metadata or {}})
        for namespace, name, metadata in bodies
    }
    return [
        Held(cluster.name, *key, requests.get(key, ""), held)
        for key, held in amounts.items()
    ]


def _amounts(fleet: Fleet, namespaces: set[str]) -> dict[tuple[str, str], Amounts]:
    found: dict[tuple[str, str], Amounts] = {}
    for occupancy in fleet.occupancies:
        if not occupancy.in_use:
            continue
        parts = {part.key: part for part in occupancy.card.parts}
        here: set[tuple[str, str]] = set()
        for hold, size in hold_sizes(occupancy):
            key = hold.namespace, hold.claim
            if hold.namespace not in namespaces:
                continue
            part = parts.get((hold.driver, hold.pool, hold.device))
            taken = _of_hold(occupancy.card, part, hold, size, is_first=key not in here)
            found[key] = found.get(key, NOTHING) + taken
            here.add(key)
    return found


def _of_hold(
    card: Card, part: Part | None, hold: Hold, size: int | None, *, is_first: bool
) -> Amounts:
    is_share = part is not None and part.shared and bool(hold.consumed)
    is_whole = not is_share and (part is None or part.role != "partition")
    return Amounts(
        vram=size or 0,
        cards=int(is_whole),
        slices=len(part.cells) if part and part.role == "partition" else 0,
        gpus=int(is_first),
        vram_at_least=size is None,
    )

"""What a claim would do to budgets and quotas, with nothing booked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from claims.domain.checks.asks import asked_of
from claims.domain.checks.quota import charges, used_of
from claims.domain.checks.shape import shape_findings
from claims.domain.checks.world import name_of, namespace_of
from claims.services.checking import world_of
from inventory.domain.quantity import quantity_or_zero
from portal.budgets.domain.quotas import QuotaLine, lines_of
from portal.budgets.queries.budgets import budgets_over
from portal.budgets.services.gating import Judged, against
from portal.budgets.services.ledger import counted_claims
from portal.budgets.services.needing import Need, need_in

if TYPE_CHECKING:
    from inventory.models import Cluster
    from portal.accounts.models import Tenant


@dataclass(frozen=True, slots=True)
class Charge:
    """What one claim is charged against one line of a quota."""

    quota: str
    line: QuotaLine
    charged: int
    used: int

    @property
    def left(self) -> int:
        """What is left before it."""
        return max(0, int(quantity_or_zero(self.line.hard)) - self.used)

    @property
    def is_over(self) -> bool:
        """Whether the API server would refuse the claim."""
        return self.charged > self.left


@dataclass(frozen=True, slots=True)
class Asked:
    """What a claim takes, of which budgets, and what Kubernetes charges it."""

    need: Need
    judged: Judged
    charges: tuple[Charge, ...]


def preview_of(
    cluster: Cluster,
    manifest: Mapping[str, Any],
    tenant: Tenant | None,
    *,
    now: datetime,
    until: datetime | None,
) -> Asked:
    """Return what a claim, or each claim of a template, would take."""
    need = need_in(cluster, manifest)
    namespace = str(manifest["metadata"].get("namespace", ""))
    judged: Judged = []
    if tenant is not None:
        budgets = list(budgets_over(tenant, cluster.name, namespace))
        held = counted_claims(tenant) if budgets else []
        judged = against(budgets, need, held, now=now, until=until)
    return Asked(need, judged, tuple(_charges(cluster, dict(manifest))))


def _charges(cluster: Cluster, manifest: dict[str, Any]) -> list[Charge]:
    if shape_findings(manifest):
        return []
    world, asked = world_of(cluster), asked_of(manifest)
    wanted = charges(asked, world)
    return [
        Charge(
            name_of(quota),
            line,
            wanted[line.key],
            used_of(quota, line.key, asked, world),
        )
        for quota in world.objects.get("ResourceQuota", [])
        if namespace_of(quota) == asked.namespace
        for line in lines_of(quota)
        if wanted[line.key]
    ]

"""What the advisor is told, and the exact severity beside its own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from claims.domain.manifest import asks_admin_access, class_names, device_requests
from inventory.domain.domains import parse_domain
from inventory.domain.fragmentation import fragmentation_of
from inventory.domain.needs import needs_of
from inventory.domain.quantity import GIB
from inventory.models import KubeObject
from inventory.queries.cards import fleet_of
from inventory.queries.classes import class_rows
from inventory.services.availability import devices_of_class
from portal.admission.domain.advice import Asked, Resources
from portal.approvals.services.gating import devices_asked
from portal.core.cache_by_content import ContentCache

if TYPE_CHECKING:
    from inventory.domain.occupancy import Occupancy
    from inventory.models import Cluster
    from portal.admission.domain.review import Review

Json = dict[str, Any]

HOPPER = re.compile(r"\b(G?H100|G?H200|H800|H20)\b")
PROFILE = "2g.20gb"

_resources: ContentCache[Resources] = ContentCache(seconds=30, most=100)
_severities: ContentCache[tuple[int | None]] = ContentCache(seconds=30, most=1_000)


def resources_of(cluster: Cluster) -> Resources:
    """Return what a cluster has free, once a revision.

    Pieces are those that can be had now, on cards of every product: what cannot be
    told is not counted, so that these are lower bounds.
    """
    key = [cluster.pk, cluster.revision]
    return _resources.get(key, lambda: _resources_of(cluster))


def _resources_of(cluster: Cluster) -> Resources:
    cards = fleet_of(cluster).occupancies
    rows = KubeObject.objects.filter(
        cluster=cluster, kind="ComputeDomain", deleted_at=None
    ).values_list("namespace", "name", "body")
    return Resources(
        total_hopper_gpus=sum(bool(HOPPER.search(o.card.product)) for o in cards),
        gpus_with_32gi_free=sum((o.largest or 0) >= 32 * GIB for o in cards),
        gpus_with_16gi_free=sum((o.largest or 0) >= 16 * GIB for o in cards),
        mig_2g_20gb_free=sum(free_of_profile(o, PROFILE) for o in cards),
        nvlink_imex_healthy_domains=sum(parse_domain(*row).healthy for row in rows),
    )


def free_of_profile(occupancy: Occupancy, profile: str) -> int:
    """Return how many partitions of a profile one card can give at the same time.

    Placements are taken from the lowest memory slice on, as long as they share none.
    """
    taken: set[int] = set()
    count = 0
    parts = [
        p.part
        for p in occupancy.placements
        if p.state == "possible" and p.part.profile == profile
    ]
    for part in sorted(parts, key=lambda part: part.cells):
        if not taken & set(part.cells):
            taken |= set(part.cells)
            count += 1
    return count


def asked_by(review: Review, tier: str) -> Asked:
    """Return what a claim asks for, as the advisor is told."""
    requests = ((review.body["spec"].get("devices")) or {}).get("requests") or []
    needs = [need for need in needs_of(requests).values() if need is not None]
    return Asked(
        namespace=review.namespace,
        workload_tier=tier,
        requested_class=", ".join(class_names(review.body)),
        requested_count=devices_asked(review.body),
        requested_memory_per_slice=_gi(max(needs)) if needs else "unknown",
        has_prioritized_fallback=any(r.get("firstAvailable") for r in requests),
        requests_admin_access=asks_admin_access(review.body),
    )


def _gi(amount: int) -> str:
    if amount % GIB == 0:
        return f"{amount // GIB}Gi"
    return f"{-(-amount // 1024**2)}Mi"


def exact_severity(cluster: Cluster, review: Review) -> int | None:
    """Return how broken up the cards of a claim's first class are, 0 to 3, or None."""
    first = next(device_requests(review.body), {})
    name = str(first.get("deviceClassName") or "")
    asked = devices_asked(review.body)
    key = [cluster.pk, cluster.revision, name, asked]
    found = _severities.get(
        key,
        lambda: (_severity(cluster, name, asked),),
        # What is not known may be known in a moment, as when the engine was away.
        is_worth=lambda found: found[0] is not None,
    )
    return found[0]


def _severity(cluster: Cluster, name: str, asked: int) -> int | None:
    devices, _why = devices_of_class(cluster, name, class_rows(cluster))
    if devices is None:
        return None
    fleet = fleet_of(cluster)
    found = fragmentation_of(
        fleet.occupancies, fleet.needs, within=devices, asked=asked
    )
    return found.severity

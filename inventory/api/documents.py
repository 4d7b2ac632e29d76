"""What the API says of inventory, as JSON; null where something is unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils import timezone

from portal.core.freshness import freshness_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inventory.domain.fleet import Fleet
    from inventory.domain.fragmentation import Fragmentation
    from inventory.domain.gpus import Taint
    from inventory.domain.totals import Totals
    from inventory.queries.clusters import ClusterRow
    from inventory.queries.devices import DeviceRow
    from inventory.queries.fleet import Overview
    from inventory.queries.nodes import NodeRow
    from inventory.queries.pools import PoolRow
    from inventory.queries.rows import CardRow, Holder, MeterRow, PlacementRow
    from inventory.services.availability import ClassUse

Json = dict[str, Any]

_FRESH = {"good": "live", "warn": "stale", "bad": "unreachable", "info": "loaded"}


def cluster_document(row: ClusterRow) -> Json:
    """Return a cluster, how fresh its picture is and what of it is not seen."""
    cluster = row.cluster
    freshness = freshness_of(cluster, now=timezone.now())
    return {
        "name": cluster.name,
        "kind": cluster.kind,
        "kubernetesVersion": cluster.kubernetes_version or None,
        "revision": cluster.revision,
        "freshness": _FRESH[freshness.kind],
        "heardAt": cluster.heard_at,
        "failure": freshness.reason or None,
        "prometheus": cluster.prometheus_url != "",
        "unseenKinds": [
            {"kind": kind.kind, "state": kind.state or "unknown"} for kind in row.unseen
        ],
    }


def node_document(row: NodeRow) -> Json:
    """Return a node with the sums of its cards."""
    return {
        "name": row.name,
        "ready": row.ready,
        "cordoned": row.cordoned,
        "taints": list(row.taints),
        "labels": row.labels,
        "cards": totals_document(row.totals),
    }


def totals_document(totals: Totals) -> Json:
    """Return sums over cards; bytes."""
    return {
        "count": totals.cards,
        "countAtLeast": not totals.complete,
        "inUse": totals.cards_in_use,
        "free": totals.cards_free,
        "unavailable": totals.cards_unavailable,
        "memoryUnknown": totals.unknown_cards,
        "memory": {
            "total": totals.total,
            "totalAtLeast": totals.at_least,
            "allocated": totals.allocated,
            "allocatedAtLeast": totals.allocated_at_least,
            "available": totals.available,
            "unavailable": totals.unavailable,
            "largest": totals.largest,
        },
    }


def pool_document(row: PoolRow) -> Json:
    """Return a pool and whether it can be used."""
    pool = row.pool
    code, _colon, detail = pool.problem.partition(": ")
    return {
        "driver": pool.driver,
        "name": pool.name,
        "node": pool.node_name or None,
        "generation": pool.generation,
        "expectedSlices": pool.expected_slice_count,
        "seenSlices": pool.seen_slice_count,
        "verdict": pool.verdict,
        "problem": {"code": code, "detail": detail} if code else None,
        "devices": row.devices,
    }


def device_document(row: DeviceRow) -> Json:
    """Return a device as a person may see it."""
    device = row.device
    return {
        "id": f"{device.driver}/{device.pool}/{device.name}",
        "driver": device.driver,
        "pool": device.pool,
        "name": device.name,
        "node": device.node_name or None,
        "slice": device.slice_name,
        "type": row.kind or None,
        "product": row.product or None,
        "memoryBytes": device.memory_bytes,
        "state": row.state,
        "taints": [taint_document(taint) for taint in row.taints],
        "holders": [holder_document(holder) for holder in row.holders],
        "otherHolders": row.hidden,
        "attributes": device.attributes,
        "capacity": device.capacity,
        "consumesCounters": device.consumes_counters,
        "allowMultipleAllocations": device.allow_multiple_allocations,
    }


def taint_document(taint: Taint) -> Json:
    """Return a taint, and the rule that adds it."""
    return {
        "key": taint.key,
        "value": taint.value,
        "effect": taint.effect,
        "rule": taint.rule or None,
    }


def holder_document(holder: Holder) -> Json:
    """Return a claim that holds a device, which this person may see."""
    return {
        "namespace": holder.namespace,
        "claim": holder.claim,
        "request": holder.request,
        "device": holder.device,
        "mine": holder.mine,
        "adminAccess": holder.admin,
        "memoryBytes": holder.memory,
    }


def card_document(node: str, row: CardRow, placements: list[PlacementRow]) -> Json:
    """Return a card and its use."""
    return {
        "node": node or None,
        "driver": row.driver,
        "pool": row.pool,
        "name": row.name,
        "device": row.device or None,
        "product": row.product or None,
        "kind": row.kind,
        "usable": row.usable,
        "inUse": row.in_use,
        "memory": {
            "total": row.total,
            "totalAtLeast": row.at_least,
            "allocated": row.allocated,
            "allocatedAtLeast": not row.metered,
            "available": row.available,
            "unavailable": row.unavailable,
            "largest": row.largest,
        },
        "largestProfile": row.largest_profile or None,
        "memorySlices": {
            "total": row.cell_count,
            "taken": row.cells_taken,
            "unavailable": row.cells_unavailable,
        }
        if row.cell_count
        else None,
        "computeSlices": {"total": row.compute[1], "taken": row.compute[0]}
        if row.compute
        else None,
        "shares": {"total": row.shares[1], "taken": row.shares[0]}
        if row.shares
        else None,
        "doubleAdvertised": row.double_advertised,
        "reasons": [
            {
                "code": reason.code,
                "detail": reason.detail or (reason.taint.key if reason.taint else ""),
            }
            for reason in row.reasons
        ],
        "holders": [holder_document(holder) for holder in row.holders],
        "otherHolders": row.hidden,
        "topology": topology_document(row.topology),
        "measured": _measured(row.meter) if row.meter else None,
        "placements": [_placement(each) for each in placements],
    }


def _measured(meter: MeterRow) -> Json:
    return {
        "memoryUsed": meter.used,
        "utilisation": meter.utilisation,
        "idleSince": meter.idle_since,
    }


def topology_document(places: Iterable[tuple[str, str]]) -> Json:
    """Return full key → values, of where a card sits."""
    found: dict[str, list[str]] = {}
    for key, value in places:
        found.setdefault(key, []).append(value)
    return found


def _placement(row: PlacementRow) -> Json:
    named = [holder for holder in row.holders if holder.named]
    return {
        "device": row.device,
        "driver": row.driver,
        "pool": row.pool,
        "role": row.role,
        "profile": row.profile or None,
        "memoryBytes": row.memory,
        "memorySlices": row.cells or None,
        "computeSlices": row.compute or None,
        "state": row.state,
        "holders": [holder_document(holder) for holder in named],
        "otherHolders": len(row.holders) - len(named),
    }


def class_document(use: ClassUse) -> Json:
    """Return a DeviceClass and how much of it there is; counts null where unknown."""
    facts, found = use.row.facts, use.fragmentation
    return {
        "name": facts.name,
        "selectors": list(facts.selectors),
        "extendedResourceName": facts.extended_resource or None,
        "configDrivers": list(facts.config_drivers),
        "matching": use.match,
        "free": use.free,
        "matchingAtLeast": use.at_least,
        "failing": use.failing,
        "problem": use.problem or None,
        "rivals": list(use.row.rivals),
        "winner": use.row.winner,
        "fragmentation": fragmentation_document(found) if found else None,
    }


def occupancy_document(overview: Overview) -> Json:
    """Return the sums of a cluster, and what is held but not published."""
    return {
        "revision": overview.revision,
        "complete": overview.complete,
        "pools": overview.pools,
        "cards": totals_document(overview.totals),
        "fragmentation": fragmentation_document(overview.fragmentation),
        "products": [
            {
                "product": each.name or None,
                "cards": totals_document(each.totals),
                "fragmentation": fragmentation_document(each.fragmentation),
            }
            for each in overview.products
        ],
        "tenants": [
            {
                "tenant": each.name or None,
                "mine": each.mine,
                "cards": each.usage.cards,
                "allocated": each.usage.allocated,
                "allocatedAtLeast": each.usage.at_least,
            }
            for each in overview.tenants
        ],
        "own": {
            "cards": overview.own.cards,
            "allocated": overview.own.allocated,
            "allocatedAtLeast": overview.own.at_least,
        },
        "idleCards": None
        if overview.idle is None
        else [
            {
                "node": row.node or None,
                "driver": row.driver,
                "pool": row.pool,
                "name": row.name,
                "idleSince": row.meter.idle_since if row.meter else None,
                "holders": [holder_document(holder) for holder in row.holders],
            }
            for row in overview.idle
        ],
        "troubledPools": [
            {
                "driver": each.driver,
                "pool": each.name,
                "verdict": each.verdict,
                "problem": each.problem or None,
            }
            for each in overview.troubled
        ],
        "unpublished": [
            {
                "driver": each.driver,
                "pool": each.pool,
                "device": each.device,
                "holder": holder_document(each.holder) if each.holder.named else None,
            }
            for each in overview.unpublished
        ],
    }


def fleet_fragmentation(fleet: Fleet) -> Json:
    """Return how broken up a cluster's cards are, by product and pool."""
    return {
        "revision": fleet.revision,
        "complete": fleet.complete,
        "cluster": fragmentation_document(fleet.fragmentation),
        "products": [
            {"product": name or None, "fragmentation": fragmentation_document(found)}
            for name, found in fleet.fragmentation_by_product.items()
        ],
        "pools": [
            {
                "driver": driver,
                "pool": pool,
                "fragmentation": fragmentation_document(found),
            }
            for (driver, pool), found in sorted(fleet.fragmentation_by_pool.items())
        ],
    }


def fragmentation_document(found: Fragmentation) -> Json:
    """Return what some cards give in one piece; bytes."""
    whole = found.whole
    return {
        "severity": found.severity,
        "scaled": found.scaled,
        "largest": found.largest,
        "largestCards": found.largest_cards,
        "unplaced": found.unplaced,
        "cards": found.cards,
        "unknownCards": found.unknown_cards,
        "cardsWith40GiB": found.large_cards,
        "cardsWith16GiB": found.small_cards,
        "heldWhole": {
            "cards": whole.cards,
            "unknownCards": whole.unknown_cards,
            "held": whole.held,
            "needed": whole.needed,
            "stranded": whole.stranded,
            "eta": whole.eta,
        },
        "profiles": [
            {"name": each.name, "memoryBytes": each.memory, "cards": each.cards}
            for each in found.profiles
        ],
    }

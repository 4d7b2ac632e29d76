"""What the API says of inventory, as JSON; null where something is unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils import timezone

from portal.core.freshness import freshness_of

if TYPE_CHECKING:
    from inventory.domain.fragmentation import Fragmentation
    from inventory.domain.gpus import Taint
    from inventory.domain.totals import Totals
    from inventory.queries.clusters import ClusterRow
    from inventory.queries.devices import DeviceRow
    from inventory.queries.fleet import Overview
    from inventory.queries.nodes import NodeRow
    from inventory.queries.pools import PoolRow
    from inventory.queries.rows import CardRow, Holder, PlacementRow
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
        "taints": [_taint(taint) for taint in row.taints],
        "holders": [holder_document(holder) for holder in row.holders],
        "otherHolders": row.hidden,
        "attributes": device.attributes,
        "capacity": device.capacity,
        "consumesCounters": device.consumes_counters,
        "allowMultipleAllocations": device.allow_multiple_allocations,
    }


def _taint(taint: Taint) -> Json:
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
            "largest": row.largest,
        },
        "largestProfile": row.largest_profile or None,
        "memorySlices": {"total": row.cell_count, "taken": row.cells_taken}
        if row.cell_count
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
        "placements": [_placement(each) for each in placements],
    }


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
        "state": row.state,
        "holders": [holder_document(holder) for holder in named],
        "otherHolders": len(row.holders) - len(named),
    }


def class_document(use: ClassUse) -> Json:
    """Return a DeviceClass and how much of it there is; counts null where unknown."""
    facts = use.row.facts
    return {
        "name": facts.name,
        "selectors": list(facts.selectors),
        "extendedResourceName": facts.extended_resource or None,
        "configDrivers": list(facts.config_drivers),
        "matching": use.match,
        "free": use.free,
        "failing": use.failing,
        "problem": use.problem or None,
    }


def occupancy_document(overview: Overview) -> Json:
    """Return the sums of a cluster, and what is held but not published."""
    return {
        "revision": overview.revision,
        "complete": overview.complete,
        "pools": overview.pools,
        "cards": totals_document(overview.totals),
        "fragmentation": _fragmentation(overview.fragmentation),
        "products": [
            {
                "product": each.name or None,
                "cards": totals_document(each.totals),
                "fragmentation": _fragmentation(each.fragmentation),
            }
            for each in overview.products
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


def _fragmentation(found: Fragmentation) -> Json:
    return {
        "severity": found.severity,
        "scaled": found.scaled,
        "largest": found.largest,
        "largestCards": found.largest_cards,
        "unplaced": found.unplaced,
        "profiles": [
            {"name": each.name, "memoryBytes": each.memory, "cards": each.cards}
            for each in found.profiles
        ],
    }

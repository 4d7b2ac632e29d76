"""What the API says of one pool, card or class, of the past and of kept views."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inventory.api.documents import (
    card_document,
    class_document,
    fragmentation_document,
    holder_document,
    pool_document,
)
from inventory.queries.pools import PoolRow

if TYPE_CHECKING:
    from inventory.domain.domains import ComputeDomain, DomainDevice
    from inventory.domain.history import Step
    from inventory.models import HistorySample, SavedView
    from inventory.queries.card_detail import CardDetail, Neighbours
    from inventory.queries.class_users import ClassUsers
    from inventory.queries.explorer import Value
    from inventory.queries.history import Series
    from inventory.queries.holdings import Holding
    from inventory.queries.pool_detail import PoolDetail
    from inventory.services.availability import ClassUse

Json = dict[str, Any]


def series_document(series: Series) -> Json:
    """Return one line of history with its samples."""
    return {
        "key": series.key,
        "samples": [_sample(each) for each in series.samples],
    }


def _sample(row: HistorySample) -> Json:
    return {
        "at": row.at,
        "cards": row.cards,
        "total": row.total,
        "allocated": row.allocated,
        "allocatedAtLeast": row.at_least,
        "available": row.available,
    }


def pool_detail_document(detail: PoolDetail) -> Json:
    """Return a pool with its slices and how it was published."""
    found = detail.fragmentation
    return {
        **pool_document(PoolRow(detail.pool, detail.devices)),
        "slices": [
            {
                "name": each.name,
                "generation": each.generation,
                "counts": each.counts,
                "devices": each.devices,
                "seenAt": each.seen_at,
            }
            for each in detail.slices
        ],
        "fragmentation": fragmentation_document(found) if found else None,
        "published": [
            {
                "since": span.since,
                "until": span.until,
                "generation": span.generation,
                "expectedSlices": span.expected_slice_count,
                "seenSlices": span.seen_slice_count,
                "verdict": span.verdict,
                "problem": span.problem or None,
            }
            for span in detail.spans
        ],
    }


def card_detail_document(detail: CardDetail) -> Json:
    """Return a card with who holds what, what fits, and its past."""
    return {
        **card_document(detail.card.node, detail.card, detail.placements),
        "holdings": [_holding(each) for each in detail.holdings],
        "fits": fragmentation_document(detail.fits),
        "neighbours": [_neighbours(each) for each in detail.neighbours],
        "history": [_step(each) for each in detail.steps],
    }


def _holding(each: Holding) -> Json:
    return {
        "device": each.device,
        "holder": holder_document(each.holder) if each.holder.named else None,
        "pods": list(each.pods),
        "since": each.since,
        "claimMadeAt": each.made_at,
    }


def _neighbours(each: Neighbours) -> Json:
    return {
        "kind": each.kind,
        "key": each.key,
        "value": each.value,
        "count": each.count,
        "cards": [
            {
                "node": card.node or None,
                "driver": card.driver,
                "pool": card.pool,
                "name": card.name,
            }
            for card in each.others
        ],
    }


def _step(step: Step) -> Json:
    return {
        "from": step.start,
        "to": step.end,
        "total": step.total,
        "allocated": step.allocated,
        "allocatedAtLeast": step.at_least,
    }


def class_detail_document(use: ClassUse, users: ClassUsers) -> Json:
    """Return a class with what it matches and who asks for it."""
    devices = None if use.devices is None else sorted(map("/".join, use.devices))
    return {
        **class_document(use),
        "devices": devices,
        "usedBy": {
            "claims": users.claims,
            "templates": users.templates,
            "others": users.hidden,
            "objects": [
                {"kind": kind, "namespace": namespace, "name": name}
                for kind, namespace, name in users.seen
            ],
        },
    }


def domain_document(domain: ComputeDomain) -> Json:
    """Return a ComputeDomain with its nodes."""
    return {
        "namespace": domain.namespace,
        "name": domain.name,
        "state": domain.state or None,
        "healthy": domain.healthy,
        "numNodes": domain.wanted or None,
        "template": domain.template or None,
        "channelMode": domain.channels,
        "nodes": [
            {
                "name": node.name,
                "member": node.member is not None,
                "clique": node.clique or None,
                "state": (node.member and node.member.state) or None,
                "channels": [_held(each) for each in node.channels],
                "daemons": [_held(each) for each in node.daemons],
            }
            for node in domain.rows
        ],
    }


def _held(device: DomainDevice) -> Json:
    return {
        "device": device.device,
        "namespace": device.namespace or None,
        "claim": device.claim or None,
    }


def key_document(key: str) -> Json:
    """Return an attribute's key alone."""
    return {"key": key, "value": None, "type": None, "devices": None}


def value_document(key: str, value: Value) -> Json:
    """Return a value of an attribute, and how many devices have it."""
    return {
        "key": key,
        "value": value.text,
        "type": value.type,
        "devices": value.count,
    }


def view_document(row: SavedView) -> Json:
    """Return a view that a person keeps."""
    return {"id": row.pk, "name": row.name, "query": row.query}

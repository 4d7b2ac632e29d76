"""What the API says of claims and of claim requests, as JSON."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from django.urls import reverse
from django.utils import timezone

from claims.domain.binding import binding_of
from claims.domain.lifecycle import State
from claims.domain.manifest import ordered
from claims.domain.operations import FINAL, Status, Work, status_of
from claims.services.origins import change_of
from claims.services.waiting import preemption_words

if TYPE_CHECKING:
    from claims.domain.binding import Binding, BindingCondition
    from claims.domain.follow import FollowedClaim, Following, HeldDevice
    from claims.models import ClaimRequest
    from claims.queries.requests import TimelineEntry
    from claims.services.queueing import Queueing
    from claims.services.waiting import Waiting

Json = dict[str, Any]


def request_document(row: ClaimRequest) -> Json:
    """Return a claim request without its manifest."""
    plan = row.plan
    return {
        "id": str(row.public_id),
        "state": row.state,
        "message": row.shown_message or None,
        "cluster": plan.cluster.name,
        "namespace": plan.namespace,
        "kind": plan.kind,
        "name": plan.name,
        "tenant": row.tenant.name,
        "requester": row.requester.username,
        "justification": row.justification or None,
        "revises": str(row.revises.public_id) if row.revises else None,
        "preset": {
            "name": row.preset_version.preset.name,
            "version": row.preset_version.number,
        }
        if row.preset_version
        else None,
        "expiresAt": row.expires_at,
        "submittedAt": row.submitted_at,
        "changedAt": row.changed_at,
        "digest": plan.digest,
        "objectUid": row.object_uid or None,
        "operation": operation_link(row, Work.APPLY),
    }


def request_detail_document(row: ClaimRequest, entries: list[TimelineEntry]) -> Json:
    """Return a claim request with what was shown and what happened."""
    plan = row.plan
    return {
        **request_document(row),
        "manifest": ordered(plan.manifest),
        "difference": change_of(row) or None,
        "diagnostics": plan.diagnostics,
        "classPins": plan.class_pins,
        "timeline": [
            {
                "at": each.at,
                "state": each.state,
                "message": each.message or None,
                "actor": each.actor or None,
                "reason": each.reason or None,
                "count": each.count,
            }
            for each in entries
        ],
    }


def etag_of(row: ClaimRequest) -> str:
    """Return what changes whenever a claim request does."""
    moment = row.changed_at.timestamp()
    text = f"{row.public_id} {row.state} {moment} {row.ending_pods} {row.message}"
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f'"{digest[:24]}"'


def usage_document(found: Following | None) -> Json:
    """Return what became of a request in its cluster; null before it is there."""
    if found is None:
        return {"object": None, "claims": [], "pods": []}
    return {
        "object": found.state.value,
        "claims": [claim_document(claim) for claim in found.claims],
        "pods": [
            {
                "name": pod.name,
                "uid": pod.uid,
                "phase": pod.phase,
                "node": pod.node or None,
                "terminating": pod.terminating,
                "waiting": pod.waiting or None,
            }
            for pod in found.pods
        ],
    }


def claim_document(claim: FollowedClaim) -> Json:
    """Return a claim of the cluster, what it holds, and what its devices wait for."""
    binding = binding_of(claim.body, now=timezone.now())
    return {
        "namespace": claim.namespace,
        "name": claim.name,
        "uid": claim.uid,
        "state": claim.state.value,
        "node": claim.node or None,
        "pods": list(claim.pods),
        "devices": [_held(device) for device in claim.devices],
        "binding": _binding(binding) if binding else None,
        "waiting": claim.waiting or None,
        "implicit": claim.implicit,
        "resources": list(claim.resources),
    }


def waiting_document(waiting: Waiting) -> Json:
    """Return what a pending claim waits for."""
    queueing = waiting.queueing
    return {
        "pods": [
            {
                "name": pod.name,
                "priority": pod.priority,
                "priorityClass": pod.priority_class or None,
            }
            for pod in waiting.pods
        ],
        "preemption": preemption_words(waiting),
        "fits": None if waiting.fitting is None else list(waiting.fitting),
        "problem": waiting.problem or None,
        "endings": [
            {
                "claim": each.claim or None,
                "message": f"{each.text} {each.where}",
                "lowerPriority": each.lower,
            }
            for each in waiting.endings
        ],
        "kueue": queueing_document(queueing) if queueing else None,
    }


def queueing_document(queueing: Queueing) -> Json:
    """Return what Kueue says of a claim's workload and of its namespace."""
    return {
        "problem": queueing.unread or None,
        "workloads": [
            {
                "name": each.name,
                "state": each.state.value,
                "message": each.message or None,
                "queue": each.queue or None,
                "clusterQueue": each.cluster_queue or None,
                "priority": each.priority,
                "priorityClass": each.priority_class or None,
            }
            for each in queueing.workloads
        ],
        "queues": [
            {
                "name": each.name,
                "clusterQueue": each.cluster_queue or None,
                "pending": each.pending,
                "admitted": each.admitted,
                "active": each.active,
                "message": each.message or None,
            }
            for each in queueing.queues
        ],
        "priorityClasses": None
        if queueing.priorities is None
        else list(queueing.priorities),
        "refused": list(queueing.refused),
    }


def _binding(binding: Binding) -> Json:
    waited = binding.waited
    return {
        "state": binding.state.value,
        "waitedSeconds": None if waited is None else int(waited.total_seconds()),
        "timeoutSeconds": int(binding.timeout.total_seconds()),
        "conditions": [_condition(each) for each in binding.conditions],
    }


def _condition(condition: BindingCondition) -> Json:
    return {
        "device": condition.device,
        "type": condition.type,
        "isFailure": condition.is_failure,
        "state": condition.state.value if condition.state else None,
        "reason": condition.reason or None,
        "message": condition.message or None,
        "since": condition.since,
    }


def _held(device: HeldDevice) -> Json:
    return {
        "request": device.request,
        "driver": device.driver,
        "pool": device.pool,
        "device": device.device,
        "consumed": dict(device.consumed),
        "isShare": device.is_share,
        "adminAccess": device.admin_access,
    }


def operation_id(row: ClaimRequest, work: Work) -> str:
    """Return an operation's id."""
    return f"{work.value}.{row.public_id}"


def operation_link(row: ClaimRequest, work: Work) -> str:
    """Return an operation's address."""
    return reverse("api:operation", args=[operation_id(row, work)])


def operation_document(row: ClaimRequest, work: Work) -> Json | None:
    """Return how far some work is; None where it was never asked for."""
    status = status_of(work, State(row.state), was_made=bool(row.object_uid))
    if status is None:
        return None
    failed = status is Status.FAILED
    return {
        "id": operation_id(row, work),
        "work": work.value,
        "status": status.value,
        "done": status in FINAL,
        "message": row.shown_message or None,
        "problem": {
            "code": f"{work.value}.failed",
            "detail": row.shown_message or row.state,
        }
        if failed
        else None,
        "claimRequest": reverse("api:request-detail", args=[row.public_id]),
        "submittedAt": row.submitted_at,
        "changedAt": row.changed_at,
    }

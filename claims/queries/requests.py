"""Reads about claim requests and what became of them in their clusters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.apps import apps
from django.db.models import Q, QuerySet

from claims.domain.follow import Applied, Following, ObjectState, follow
from claims.domain.lifecycle import WORKED_ON
from claims.domain.manifest import named_by_pods
from claims.models import ClaimRequest
from inventory.models import KubeObject
from portal.accounts.domain.roles import Permission
from portal.core.sentences import shown

if TYPE_CHECKING:
    from portal.accounts.models import User

# So long after applying, an object that the watcher has not shown is not there.
SEEN_WITHIN = timedelta(seconds=10)


@dataclass(frozen=True)
class TimelineEntry:
    """One thing that happened to a request; what repeats is counted."""

    at: datetime
    state: str
    message: str
    actor: str
    reason: str
    count: int = 1


def mine(user: User) -> QuerySet[ClaimRequest]:
    """Return this person's requests, newest first, with plan and cluster fetched."""
    return (
        ClaimRequest.objects.filter(requester=user)
        .select_related("plan__cluster", "tenant")
        .order_by("-submitted_at", "-pk")
    )


def visible_to(user: User) -> QuerySet[ClaimRequest]:
    """Return the requests that a person may look at: theirs, their tenants', or all."""
    rows = ClaimRequest.objects.select_related(
        "plan__cluster",
        "tenant",
        "requester",
        "revises__plan",
        "preset_version__preset",
    )
    if user.may(Permission.SEE_ALL_CLAIMS):
        return rows
    return rows.filter(Q(requester=user) | Q(tenant__in=user.tenants.all()))


def is_due(now: datetime) -> Q:
    """Return the condition of rows that a worker may take now."""
    return (
        Q(state__in=WORKED_ON)
        & (Q(lease_until=None) | Q(lease_until__lte=now))
        & (Q(retry_at=None) | Q(retry_at__lte=now))
    )


def due_keys(now: datetime, limit: int) -> list[int]:
    """Return the keys of at most `limit` rows to work on, longest waiting first."""
    rows = ClaimRequest.objects.filter(is_due(now)).order_by("changed_at")
    return list(rows.values_list("pk", flat=True)[:limit])


def timeline(claim_request: ClaimRequest) -> list[TimelineEntry]:
    """Return what happened, oldest first, from the audit events; one query.

    Attempts that changed neither state nor message are folded into the entry
    before them.
    """
    events = apps.get_model("claims", "ClaimRequestEvent").objects
    rows = events.filter(pgh_obj=claim_request.pk).order_by("pgh_id")
    entries: list[TimelineEntry] = []
    for row in rows.select_related("pgh_context"):
        entry = _entry(row)
        last = entries[-1] if entries else None
        if last and (last.state, last.message) == (entry.state, entry.message):
            entries[-1] = replace(last, count=last.count + 1)
        else:
            entries.append(entry)
    return entries


def _entry(row: Any) -> TimelineEntry:
    context = row.pgh_context.metadata if row.pgh_context else {}
    return TimelineEntry(
        at=row.pgh_created_at,
        state=row.state,
        message=shown(row.message, row.said),
        actor=context.get("actor", ""),
        reason=context.get("reason", ""),
    )


def applied_object(claim_request: ClaimRequest) -> Applied:
    """Return what pods name to use what a request makes, as `follow` wants it."""
    kind, name = named_by_pods(claim_request.plan.manifest)
    return Applied(kind, name, str(claim_request.public_id))


def following(claim_request: ClaimRequest, *, now: datetime) -> Following | None:
    """Return what became of a request in its cluster, or None before it is there.

    Read from what the watcher stored, in two queries.
    """
    if not claim_request.is_in_cluster:
        return None
    plan = claim_request.plan
    rows = KubeObject.objects.filter(
        cluster=plan.cluster, namespace=plan.namespace, deleted_at=None
    )
    claims: list[Any] = []
    pods: list[Any] = []
    for kind, body in rows.filter(kind__in=["ResourceClaim", "Pod"]).values_list(
        "kind", "body"
    ):
        (pods if kind == "Pod" else claims).append(body)
    state = _object_state(claim_request, now=now)
    return follow(applied_object(claim_request), state, claims=claims, pods=pods)


def _object_state(claim_request: ClaimRequest, *, now: datetime) -> ObjectState:
    plan = claim_request.plan
    row = KubeObject.objects.filter(
        cluster=plan.cluster, kind=plan.kind, namespace=plan.namespace, name=plan.name
    ).first()
    if row is None or (row.deleted_at and row.seen_at < claim_request.changed_at):
        heard_at = plan.cluster.heard_at
        late = heard_at and heard_at > claim_request.changed_at + SEEN_WITHIN
        return ObjectState.MISSING if late else ObjectState.UNSEEN
    if row.deleted_at or row.uid != claim_request.object_uid:
        return ObjectState.MISSING
    if row.body["metadata"].get("deletionTimestamp"):
        return ObjectState.TERMINATING
    return ObjectState.PRESENT

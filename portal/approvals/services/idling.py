"""Claims that hold devices and that no pod uses: found, told of, released by policy."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.urls import reverse

from claims.domain.follow import ClaimState, followed, owner_pod_uid
from claims.domain.lifecycle import IN_CLUSTER, State
from claims.domain.manifest import request_id_of
from claims.models import ClaimRequest
from claims.queries.requests import following
from claims.services.ending import release_idle
from claims.services.gate import Wish
from inventory.models import Cluster, KubeObject
from portal.accounts.models import User
from portal.accounts.queries import tenant_of
from portal.approvals.domain.policy import judge
from portal.approvals.models import IdleClaim
from portal.approvals.queries.policies import policy_in_force
from portal.approvals.services.gating import asked_of
from portal.notices.services.announce import announce

if TYPE_CHECKING:
    from collections.abc import Iterator

# Whoever was told has so long to use it again, or to say so.
GRACE = timedelta(hours=1)
HEARD_WITHIN = timedelta(minutes=2)


def note_idle(*, now: datetime) -> int:
    """Note which claims are idle, since when; forget those that are used. Count them."""
    clusters = Cluster.objects.exclude(kind=Cluster.Kind.OFFLINE).filter(
        heard_at__gte=now - HEARD_WITHIN
    )
    return sum(
        _note(cluster, now)
        for cluster in clusters.defer("kubeconfig_encrypted")
        if cluster.sees("ResourceClaim", "Pod")
    )


def _note(cluster: Cluster, now: datetime) -> int:
    idle = dict(_idle_claims(cluster))
    IdleClaim.objects.filter(cluster=cluster).exclude(uid__in=idle).delete()
    by_id = {
        str(row.public_id): row
        for row in ClaimRequest.objects.filter(
            plan__cluster=cluster,
            state__in=list(IN_CLUSTER),
            public_id__in=[u for u in map(request_id_of, idle.values()) if _is_id(u)],
        ).select_related("plan")
    }
    IdleClaim.objects.bulk_create(
        (
            IdleClaim(
                cluster=cluster,
                namespace=body["metadata"]["namespace"],
                name=body["metadata"]["name"],
                uid=uid,
                claim_request=_own(body, by_id),
                since=now,
            )
            for uid, body in idle.items()
        ),
        ignore_conflicts=True,
    )
    return len(idle)


def _is_id(text: str) -> bool:
    return len(text) == 36 and text.count("-") == 4


def _own(body: dict[str, Any], by_id: dict[str, ClaimRequest]) -> ClaimRequest | None:
    row = by_id.get(request_id_of(body))
    same = row is not None and row.plan.namespace == body["metadata"]["namespace"]
    return row if same else None


def _idle_claims(cluster: Cluster) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield uid and body of each claim with devices that nobody is about to use."""
    rows = KubeObject.objects.filter(cluster=cluster, deleted_at=None)
    claims = [
        body
        for body in rows.filter(
            kind="ResourceClaim", body__status__has_key="allocation"
        ).values_list("body", flat=True)
        if not (body.get("status") or {}).get("reservedFor")
    ]
    owners = {owner_pod_uid(body) for body in claims} - {""}
    pods = dict(rows.filter(kind="Pod", uid__in=owners).values_list("uid", "body"))
    for body in claims:
        if followed(body, pods).state is ClaimState.UNRESERVED:
            yield body["metadata"]["uid"], body


def tell_idle(*, now: datetime) -> int:
    """Tell owners of what has been idle for long enough, once; count it."""
    long_ago = now - timedelta(hours=settings.SLICEWISE_IDLE_HOURS)
    rows = IdleClaim.objects.filter(told_at=None, since__lte=long_ago)
    told = 0
    for row in rows.select_related("cluster", "claim_request__requester"):
        if IdleClaim.objects.filter(pk=row.pk, told_at=None).update(told_at=now):
            _tell(row, now)
            told += 1
    return told


def _tell(row: IdleClaim, now: datetime) -> None:
    tenant = tenant_of(row.cluster.name, row.namespace)
    request = row.claim_request
    people = [request.requester] if request else []
    if not people and tenant:
        people = list(User.objects.filter(tenants=tenant, is_active=True))
    hours = release_after(request, now) if request else None
    announce(
        "claim.idle",
        subject=f"{row.namespace}/{row.name} ({row.cluster.name})",
        tenant=tenant,
        people=people,
        payload={
            "cluster": row.cluster.name,
            "namespace": row.namespace,
            "claim": row.name,
            "since": row.since.isoformat(),
            "releasedAfterHours": hours,
        },
        url=reverse(
            "claims:claim-detail", args=[row.cluster.name, row.namespace, row.name]
        ),
        at=now,
    )


def release_after(claim_request: ClaimRequest, now: datetime) -> int | None:
    """Return after how many idle hours policy releases a request; None for never."""
    wish = Wish.again(claim_request, now=now, ends_at=claim_request.expires_at)
    return judge(policy_in_force(), asked_of(wish)).rule.idle_hours


def release_what_is_idle(*, now: datetime) -> int:
    """Release requests whose every claim is idle for as long as policy says; count it."""
    rows = IdleClaim.objects.filter(
        told_at__lte=now - GRACE, claim_request__state=State.ACTIVE
    ).select_related("claim_request__plan__cluster", "claim_request__requester")
    released = 0
    seen: set[int] = set()
    for row in rows.order_by("-since"):
        request = row.claim_request
        if request is None or request.pk in seen:
            continue
        seen.add(request.pk)
        hours = release_after(request, now)
        # By its youngest idle claim: an older one waits for the others.
        if hours is None or row.since > now - timedelta(hours=hours):
            continue
        found = following(request, now=now)
        if found and all(one.state is ClaimState.UNRESERVED for one in found.claims):
            released += release_idle(request, found, hours=hours, now=now)
    return released

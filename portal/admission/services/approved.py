"""adminAccess at the API server: only what was approved, by whom, as it stands.

A template, or a claim of its own, is known by the portal's mark in userInfo.extra
and must be what its request's plan says. A claim that a controller makes from a
template carries no mark: it is known by the digest of its defaulted spec.
Annotations and labels are never looked at.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q

from claims.domain.lifecycle import State
from claims.domain.manifest import digest_of
from claims.models import ClaimRequest
from claims.services.gate import NotApproved
from inventory.models import KubeObject
from portal.admission.domain.guards import DEFAULT_MAX_CLAIMS, Breach
from portal.admission.domain.review import CLAIM, TEMPLATE
from portal.admission.models import AdmittedClaim
from portal.approvals.services.gating import ApprovalGate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from inventory.models import Cluster
    from portal.admission.domain.guards import GuardRule
    from portal.admission.domain.review import Review

# A claim that was let through and is seen nowhere after this long was never made.
UNSEEN = timedelta(minutes=5)
# After this long nothing counts any more that the inventory does not have.
REMEMBERED = timedelta(days=1)
IN_FORCE = (State.APPLYING, State.ACTIVE)


Found = tuple[str, dict[str, Any]] | None


def admin_breaches(
    cluster: Cluster,
    review: Review,
    rule: GuardRule,
    *,
    labelled: bool | None,
    now: datetime,
) -> Iterator[Breach]:
    """Yield why a claim or template with adminAccess is not admitted, at most once."""
    found: Found
    if labelled is False:
        found = "admin.no_label", {}
    elif review.request_id:
        found = _marked(cluster, review, now)
    elif review.kind == CLAIM and review.by_controller:
        found = _generated(cluster, review, rule, now)
    else:
        found = "admin.not_portal", {}
    if found:
        code, values = found
        yield Breach(rule.id, rule.mode, code, values)


def _marked(cluster: Cluster, review: Review, now: datetime) -> Found:
    """Return why what the portal makes does not match its request, or None.

    The portal's own dry run comes before there is a request, and makes nothing.
    """
    if review.dry_run:
        return None
    values: dict[str, Any] = {"id": review.request_id}
    claim_request = _request(cluster, review.request_id)
    if claim_request is None:
        return "admin.unknown_request", values
    if field := _differs(claim_request, review):
        return "admin.other_content", {**values, "field": field}
    if why := _not_approved(claim_request, now):
        return "admin.not_approved", {**values, "why": why}
    return None


def _differs(claim_request: ClaimRequest, review: Review) -> str:
    """Return in what an object is not what its request's plan says, or ""."""
    plan = claim_request.plan
    pairs = (
        ("kind", plan.kind, review.kind),
        ("namespace", plan.namespace, review.namespace),
        ("name", plan.name, review.name),
        ("person", claim_request.requester.username, review.username),
        ("spec", plan.digest, digest_of(review.body)),
    )
    return next((field for field, wanted, is_now in pairs if wanted != is_now), "")


def _not_approved(claim_request: ClaimRequest, now: datetime) -> str:
    if claim_request.state not in IN_FORCE:
        return claim_request.state
    try:
        ApprovalGate().check_apply(claim_request, now=now)
    except NotApproved as error:
        return error.message
    return ""


def _request(cluster: Cluster, request_id: str) -> ClaimRequest | None:
    try:
        public_id = UUID(request_id)
    except ValueError:
        return None
    rows = ClaimRequest.objects.select_related("plan", "requester")
    return rows.filter(plan__cluster=cluster, public_id=public_id).first()


def _generated(
    cluster: Cluster, review: Review, rule: GuardRule, now: datetime
) -> Found:
    """Return why a generated claim is covered by no approved template, or None."""
    covering = list(
        ClaimRequest.objects.filter(
            plan__cluster=cluster,
            plan__kind=TEMPLATE,
            plan__namespace=review.namespace,
            plan__digest=digest_of(review.body),
            approval__digest=digest_of(review.body),
        ).order_by("-expires_at", "pk")
    )
    if not covering:
        return "admin.no_template", {}
    alive = [
        each
        for each in covering
        if each.state in IN_FORCE and (each.expires_at is None or each.expires_at > now)
    ]
    if not alive:
        ended = next((e.expires_at for e in covering if e.expires_at), now)
        return "admin.expired", {"at": f"{ended:%Y-%m-%d %H:%M} UTC"}
    most = int(rule.params.get("maxClaims", DEFAULT_MAX_CLAIMS))
    count = 0
    for each in alive:
        count = _take(cluster, review, each, most=most, now=now)
        if count < most:
            return None
    return "admin.too_many", {"count": count, "most": most}


def is_approved(cluster: Cluster, review: Review) -> bool:
    """Return whether people approved what a claim is made of; one query."""
    digest = digest_of(review.body)
    return ClaimRequest.objects.filter(
        plan__cluster=cluster,
        plan__namespace=review.namespace,
        plan__digest=digest,
        approval__digest=digest,
        state__in=IN_FORCE,
    ).exists()


def _take(
    cluster: Cluster,
    review: Review,
    claim_request: ClaimRequest,
    *,
    most: int,
    now: datetime,
) -> int:
    """Count a claim against an approved template unless it is full; return the count.

    One review at a time, so that two together never exceed the number.
    """
    with transaction.atomic():
        _lock(claim_request)
        rows = AdmittedClaim.objects.filter(claim_request=claim_request)
        counted = rows.exclude(uid=review.object_uid)
        count = counted.filter(Q(pk__in=living(counted, cluster, now))).count()
        if count < most and not review.dry_run and review.object_uid:
            AdmittedClaim.objects.update_or_create(
                cluster=cluster,
                uid=review.object_uid,
                defaults={
                    "namespace": review.namespace,
                    "name": review.name,
                    "claim_request": claim_request,
                    "admitted_at": now,
                },
            )
    return count


def forget_ended(*, now: datetime) -> int:
    """Remove what was let through and is over, or was never made; return how many."""
    there = KubeObject.objects.filter(
        cluster=OuterRef("cluster"), uid=OuterRef("uid"), deleted_at=None
    )
    old = AdmittedClaim.objects.filter(admitted_at__lt=now - REMEMBERED)
    return old.filter(~Exists(there)).delete()[0]


def living(rows: object, cluster: Cluster, now: datetime) -> list[int]:
    """Return the keys of admitted claims that are there, or may be.

    One that the inventory has seen counts until it is deleted, any other for a while.
    """
    admitted = list(rows.values_list("pk", "uid", "admitted_at"))  # type: ignore[attr-defined]
    seen = dict(
        KubeObject.objects.filter(
            cluster=cluster, uid__in=[uid for _pk, uid, _at in admitted]
        ).values_list("uid", "deleted_at")
    )
    return [
        pk
        for pk, uid, at in admitted
        if (seen[uid] is None if uid in seen else at > now - UNSEEN)
    ]


def _lock(claim_request: ClaimRequest) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtext(%s))",
            [f"admission.claims.{claim_request.pk}"],
        )

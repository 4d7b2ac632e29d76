"""Limits of a namespace, counted over its claims as they ask, one review at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import connection, transaction

from inventory.models import KubeObject
from portal.admission.domain.guards import Amounts, Breach, GuardRule, limit_breaches
from portal.admission.domain.review import CLAIM
from portal.admission.models import AdmittedClaim
from portal.admission.services.approved import living
from portal.approvals.services.gating import devices_asked
from portal.budgets.services.needing import need_in
from portal.core.cache_by_content import ContentCache

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from inventory.models import Cluster
    from portal.admission.domain.review import Review

Json = dict[str, Any]

_amounts: ContentCache[Amounts] = ContentCache(seconds=30, most=5_000)


def limits_breached(
    cluster: Cluster, review: Review, rule: GuardRule, *, now: datetime
) -> list[Breach]:
    """Return the limits that a claim would break; else count it, if it is made."""
    needs_vram = rule.params.get("vramGib") is not None
    asked = amounts_of(cluster, review.body, needs_vram=needs_vram)
    with transaction.atomic():
        _lock(cluster, review.namespace)
        held = _held(cluster, review, now, needs_vram=needs_vram)
        breaches = list(limit_breaches(rule, review.namespace, held, asked))
        is_made = review.kind == CLAIM and review.object_uid and not review.dry_run
        if is_made and not breaches:
            columns: Json = {"devices": asked.devices, "vram": asked.vram}
            # Where it was not worked out here, what another rule found stays.
            kept = () if needs_vram else ("vram",)
            count_in(cluster, review, columns, kept=kept, now=now)
    return breaches


def count_in(
    cluster: Cluster,
    review: Review,
    columns: Json,
    *,
    kept: Sequence[str] = (),
    now: datetime,
) -> None:
    """Count a claim that is let through until the inventory sees it; one query.

    Args:
        cluster: where.
        review: of the claim.
        columns: what it takes.
        kept: those of them that stay as they are where it was counted already.
        now: the moment.
    """
    row = AdmittedClaim(
        cluster=cluster,
        uid=review.object_uid,
        namespace=review.namespace,
        name=review.name,
        admitted_at=now,
        **columns,
    )
    AdmittedClaim.objects.bulk_create(
        [row],
        update_conflicts=True,
        unique_fields=["cluster", "uid"],
        update_fields=["name", "admitted_at", *(c for c in columns if c not in kept)],
    )


def amounts_of(cluster: Cluster, body: Json, *, needs_vram: bool) -> Amounts:
    """Return what a claim asks for at most; its memory only where it is needed."""
    key = (cluster.pk, needs_vram, body.get("spec"))
    return _amounts.get(key, lambda: _amounts_of(cluster, body, needs_vram=needs_vram))


def _amounts_of(cluster: Cluster, body: Json, *, needs_vram: bool) -> Amounts:
    devices = devices_asked(body)
    if not needs_vram:
        return Amounts(devices, 0, 1)
    need = need_in(cluster, {**body, "kind": CLAIM}).amounts
    return Amounts(devices, None if need.vram_at_least else need.vram, 1)


def _held(
    cluster: Cluster, review: Review, now: datetime, *, needs_vram: bool
) -> Amounts:
    """Return what a namespace's claims ask for: those seen, and those on their way."""
    bodies = KubeObject.objects.filter(
        cluster=cluster, kind=CLAIM, namespace=review.namespace, deleted_at=None
    ).values_list("uid", "body")
    seen = {uid: body for uid, body in bodies if uid != review.object_uid}
    each = [amounts_of(cluster, body, needs_vram=needs_vram) for body in seen.values()]
    rows = AdmittedClaim.objects.filter(cluster=cluster, namespace=review.namespace)
    rows = rows.exclude(uid__in=[*seen, review.object_uid])
    each += [
        Amounts(row.devices, row.vram if needs_vram else 0, 1)
        for row in rows.filter(pk__in=living(rows, cluster, now))
    ]
    memory = [one.vram for one in each]
    known = [amount for amount in memory if amount is not None]
    return Amounts(
        sum(one.devices for one in each),
        sum(known) if len(known) == len(memory) else None,
        len(each),
    )


def _lock(cluster: Cluster, namespace: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtext(%s))",
            [f"admission.limits.{cluster.pk}.{namespace}"],
        )

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
from portal.budgets.services.needing import need_known, need_lately, needs_lately

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from inventory.models import Cluster
    from portal.admission.domain.review import Review
    from portal.budgets.services.needing import Need

Json = dict[str, Any]


def limits_breached(
    cluster: Cluster, review: Review, rule: GuardRule, *, now: datetime
) -> list[Breach]:
    """Return the limits that a claim would break; else count it, if it is made."""
    needs_vram = rule.params.get("vramGib") is not None
    needs: dict[str, Need] | None = None
    asked = Amounts(devices_asked(review.body), 0, 1)
    if needs_vram:
        asked = _amounts(review.body, need_lately(cluster, review.body))
        needs = _needs(cluster, review)
    with transaction.atomic():
        _lock(cluster, review.namespace)
        held = _held(cluster, review, now, needs)
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


def _amounts(body: Json, need: Need) -> Amounts:
    amounts = need.amounts
    vram = None if amounts.vram_at_least else amounts.vram
    return Amounts(devices_asked(body), vram, 1)


def _needs(cluster: Cluster, review: Review) -> dict[str, Need]:
    """Return what each other claim of a namespace takes, by its uid.

    Asked before the lock is taken: under it nobody is. A claim that the inventory has
    seen since then counts as it says itself.
    """
    seen = _seen(cluster, review)
    return dict(zip(seen, needs_lately(cluster, seen.values()), strict=True))


def _seen(cluster: Cluster, review: Review) -> dict[str, Json]:
    """Return the other claims of a namespace, as the inventory has them, by uid."""
    rows = KubeObject.objects.filter(
        cluster=cluster, kind=CLAIM, namespace=review.namespace, deleted_at=None
    )
    return dict(rows.exclude(uid=review.object_uid).values_list("uid", "body"))


def _held(
    cluster: Cluster,
    review: Review,
    now: datetime,
    needs: Mapping[str, Need] | None,
) -> Amounts:
    """Return what a namespace's claims ask for: those seen, and those on their way.

    Args:
        cluster: where.
        review: of one more, which does not count here.
        now: the moment.
        needs: what claims take; None where their memory is of no interest.
    """
    seen = _seen(cluster, review)
    if needs is None:
        each = [Amounts(devices_asked(body), 0, 1) for body in seen.values()]
    else:
        each = [
            _amounts(body, needs.get(uid) or need_known(cluster, body))
            for uid, body in seen.items()
        ]
    rows = AdmittedClaim.objects.filter(cluster=cluster, namespace=review.namespace)
    rows = rows.exclude(uid__in=[*seen, review.object_uid])
    each += [
        Amounts(row.devices, row.vram if needs is not None else 0, 1)
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

"""Budgets of tenants, what requests book of them, and quotas that were applied.

A booking is never given back by a step of its own: it counts while its request's
state does, so that what ends a request ends its booking in the same transaction.
"""

from __future__ import annotations

import uuid

import pghistory
import pgtrigger
from django.db import models
from django.db.models import F, Q

from claims.models import ClaimRequest
from portal.accounts.models import Tenant
from portal.budgets.domain.amounts import Amounts, Measure
from portal.budgets.domain.limits import Limit

MOST = 10_000_000


def _limit() -> models.PositiveIntegerField[int | None, int | None]:
    return models.PositiveIntegerField(null=True, blank=True)


@pghistory.track(append_only=True, model_name="BudgetEvent")
class Budget(models.Model):
    """What a tenant may take: everywhere, in one cluster, or in one namespace.

    Limits are in GiB, cards, memory slices and hours of cards in a month; null
    for no limit. `version` counts changes, for compare-and-set.
    """

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    tenant = models.ForeignKey(Tenant, models.PROTECT, related_name="budgets")
    cluster = models.CharField(max_length=63, default="", blank=True)
    namespace = models.CharField(max_length=63, default="", blank=True)
    vram_soft = _limit()
    vram_hard = _limit()
    cards_soft = _limit()
    cards_hard = _limit()
    slices_soft = _limit()
    slices_hard = _limit()
    hours_soft = _limit()
    hours_hard = _limit()
    version = models.PositiveIntegerField(default=1)
    changed_by = models.CharField(max_length=150)
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "cluster", "namespace"], name="budgets_budget_scope"
            ),
            models.CheckConstraint(
                condition=Q(namespace="") | ~Q(cluster=""),
                name="budgets_budget_namespace_of_a_cluster",
            ),
            # History is kept by tenant, so hours of one namespace are not known.
            models.CheckConstraint(
                condition=Q(namespace="") | Q(hours_soft=None, hours_hard=None),
                name="budgets_budget_hours_of_a_tenant",
            ),
            *(
                models.CheckConstraint(
                    condition=Q(**{f"{name}_soft": None})
                    | Q(**{f"{name}_hard": None})
                    | Q(**{f"{name}_soft__lte": F(f"{name}_hard")}),
                    name=f"budgets_budget_{name}_soft_below_hard",
                )
                for name in ("vram", "cards", "slices", "hours")
            ),
        ]

    def __str__(self) -> str:
        return " ".join(filter(None, (self.tenant.name, self.cluster, self.namespace)))

    @property
    def limits(self) -> dict[Measure, Limit]:
        """Its limits by measure."""
        return {
            Measure.VRAM: Limit(self.vram_soft, self.vram_hard),
            Measure.CARDS: Limit(self.cards_soft, self.cards_hard),
            Measure.SLICES: Limit(self.slices_soft, self.slices_hard),
            Measure.HOURS: Limit(self.hours_soft, self.hours_hard),
        }

    def covers(self, cluster: str, namespace: str) -> bool:
        """Return whether what is in a namespace of a cluster counts here."""
        return self.cluster in ("", cluster) and self.namespace in ("", namespace)


class Booking(models.Model):
    """What a request may take at most, as it was worked out when it was stored."""

    claim_request = models.OneToOneField(
        ClaimRequest, models.PROTECT, related_name="booking"
    )
    vram = models.BigIntegerField()  # bytes
    vram_at_least = models.BooleanField(default=False)
    cards = models.PositiveIntegerField()
    slices = models.PositiveIntegerField()
    gpus = models.PositiveIntegerField()
    booked_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(vram__gte=0), name="budgets_booking_not_negative"
            )
        ]

    def __str__(self) -> str:
        return f"booking of {self.claim_request_id}"

    @property
    def amounts(self) -> Amounts:
        """What it takes."""
        return Amounts(
            vram=self.vram,
            cards=self.cards,
            slices=self.slices,
            gpus=self.gpus,
            vram_at_least=self.vram_at_least,
        )


@pghistory.track(
    pghistory.InsertEvent(), append_only=True, model_name="AppliedQuotaEvent"
)
class AppliedQuota(models.Model):
    """A ResourceQuota that an admin wrote to a cluster, and what stood there before."""

    budget = models.ForeignKey(Budget, models.PROTECT, related_name="quotas")
    cluster = models.CharField(max_length=63)
    namespace = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    hard_before = models.JSONField(null=True)  # null: there was none
    hard = models.JSONField()
    object_uid = models.CharField(max_length=64)
    applied_by = models.CharField(max_length=150)
    applied_at = models.DateTimeField()

    class Meta:
        triggers = [
            pgtrigger.Protect(
                name="append_only", operation=pgtrigger.Update | pgtrigger.Delete
            )
        ]

    def __str__(self) -> str:
        return f"{self.cluster}/{self.namespace}/{self.name}"

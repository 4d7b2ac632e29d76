"""The shapes of what the API takes and says of budgets and quotas, for its document."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers as s

from portal.budgets.domain.amounts import Measure
from portal.budgets.domain.limits import Level
from portal.budgets.models import MOST


def _number() -> s.FloatField:
    return s.FloatField(allow_null=True)


class Figure(s.Serializer[Any]):
    measure = s.ChoiceField([each.value for each in Measure])
    unit = s.ChoiceField(["GiB", "cards", "slices", "hours"])
    used = s.FloatField(help_text="In use now; of hours, those that are over.")
    counted = s.FloatField(help_text="What counts against the limits.")
    countedAtLeast = s.BooleanField(help_text="More may be taken than is known.")
    soft = _number()
    hard = _number()
    left = _number()
    level = s.ChoiceField([each.value for each in Level])


class AskedFigure(Figure):
    asked = s.FloatField()
    askedUnknown = s.BooleanField(help_text="It may take more than `asked`.")


class Budget(s.Serializer[Any]):
    id = s.UUIDField()
    tenant = s.CharField()
    cluster = s.CharField(allow_null=True, help_text="null: all clusters.")
    namespace = s.CharField(allow_null=True, help_text="null: all namespaces.")
    figures = Figure(many=True)
    changedBy = s.CharField()
    changedAt = s.DateTimeField()


def _limit() -> s.IntegerField:
    return s.IntegerField(
        min_value=0,
        max_value=MOST,
        allow_null=True,
        default=None,
        help_text="null: none.",
    )


class LimitsBody(s.Serializer[Any]):
    vramSoft = _limit()
    vramHard = _limit()
    cardsSoft = _limit()
    cardsHard = _limit()
    slicesSoft = _limit()
    slicesHard = _limit()
    hoursSoft = _limit()
    hoursHard = _limit()
    reason = s.CharField(default="", allow_blank=True, max_length=500)


class BudgetBody(LimitsBody):
    tenant = s.CharField(max_length=63)
    cluster = s.CharField(default="", allow_blank=True, max_length=63)
    namespace = s.CharField(default="", allow_blank=True, max_length=63)


class QuotaLine(s.Serializer[Any]):
    key = s.CharField()
    kind = s.ChoiceField(["claims", "class", "implicit", "extended"])
    subject = s.CharField(allow_null=True)
    used = s.CharField(allow_null=True)
    hard = s.CharField()


class Quota(s.Serializer[Any]):
    namespace = s.CharField()
    name = s.CharField()
    tenant = s.CharField(allow_null=True)
    lines = QuotaLine(many=True)


class Quotas(s.Serializer[Any]):
    known = s.BooleanField(help_text="Whether the cluster lets quotas be read.")
    quotas = Quota(many=True)


class Need(s.Serializer[Any]):
    vramGiB = s.FloatField()
    vramAtLeast = s.BooleanField()
    cards = s.IntegerField()
    slices = s.IntegerField()
    gpus = s.IntegerField(help_text="Cards that it has any part of.")
    problem = s.CharField(allow_null=True)


class JudgedBudget(s.Serializer[Any]):
    id = s.UUIDField()
    tenant = s.CharField()
    cluster = s.CharField(allow_null=True)
    namespace = s.CharField(allow_null=True)
    figures = AskedFigure(many=True)


class Charge(s.Serializer[Any]):
    quota = s.CharField()
    key = s.CharField()
    charged = s.IntegerField()
    used = s.IntegerField()
    hard = s.CharField()
    left = s.IntegerField()
    isOver = s.BooleanField()


class QuotaPreview(s.Serializer[Any]):
    passes = s.BooleanField(help_text="Whether the portal and the API server let it.")
    need = Need()
    budgets = JudgedBudget(many=True)
    charges = Charge(many=True)


class QuotaPreviewBody(s.Serializer[Any]):
    manifest = s.DictField(
        help_text="A ResourceClaim or ResourceClaimTemplate of resource.k8s.io."
    )
    endsAt = s.DateTimeField(default=None, allow_null=True)


class QuotaBody(s.Serializer[Any]):
    budget = s.UUIDField(help_text="The budget that it comes from.")
    namespace = s.CharField(max_length=63)
    devices = s.DictField(
        child=s.IntegerField(min_value=0, max_value=MOST),
        default=dict,
        help_text="Class → devices at most.",
    )
    claims = s.IntegerField(min_value=0, max_value=MOST, allow_null=True, default=None)
    dryRun = s.BooleanField(default=True, help_text="Try it and say what changes.")
    resourceVersion = s.CharField(
        default="",
        allow_blank=True,
        max_length=64,
        help_text="`seen` of the dry run, to write what was shown.",
    )


class QuotaChange(s.Serializer[Any]):
    key = s.CharField()
    before = s.CharField(allow_null=True)
    after = s.CharField(allow_null=True)


class QuotaPlan(s.Serializer[Any]):
    namespace = s.CharField()
    name = s.CharField()
    applied = s.BooleanField()
    seen = s.CharField(allow_blank=True)
    changes = QuotaChange(many=True)

"""The query parameters of the inventory's lists."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers as s

from inventory.models import HistorySample
from inventory.queries.devices import DeviceFilter
from inventory.queries.gpu_filter import GpuFilter
from portal.api.operations import PageParameters

LONGEST_EXPRESSION = 10 * 1024
MOST_ATTRIBUTES = 8


def text(what: str, most: int = 253) -> s.CharField:
    """Return a parameter that is a text and may be left out."""
    return s.CharField(default="", max_length=most, help_text=what)


class NodeParameters(PageParameters):
    """Which nodes."""

    q = text("Part of the name.", 200)


class PoolParameters(PageParameters):
    """Which pools."""

    q = text("Part of the name.", 200)
    driver = text("Of this driver.")
    node = text("Of this node.")
    verdict = s.ChoiceField(["complete", "incomplete", "invalid"], default="")


class SearchParameters(s.Serializer[Any]):
    """Which devices."""

    q = text("Part of the name, the pool or the node.", 200)
    driver = text("Of this driver.")
    pool = text("Of this pool.")
    node = text("Of this node.")
    type = text("Whose driver calls it so, such as `gpu` or `mig`.")
    attribute = s.ListField(
        child=s.CharField(max_length=400),
        default=list,
        max_length=MOST_ATTRIBUTES,
        help_text="`key=value`, repeatable; all must hold. A key without a domain"
        " is the driver's own.",
    )
    cel = text("A CEL selector that must hold, as in a claim.", LONGEST_EXPRESSION)

    def validate_attribute(self, values: list[str]) -> list[str]:
        """Refuse what is no `key=value`."""
        for value in values:
            key, equals, _rest = value.partition("=")
            if not key.strip() or not equals:
                raise s.ValidationError(
                    _("“%(value)s” is no key=value.") % {"value": value[:60]}
                )
        return values


class DeviceParameters(SearchParameters, PageParameters):
    """Which devices, and which page of them."""


class CardParameters(PageParameters):
    """Which cards."""

    q = text("Part of node, pool, name, product, or of a claim that you may see.", 200)
    node = text("On this node.")
    product = text("Of this product.")
    driver = text("Of this driver.")
    deviceClass = text("That this DeviceClass selects a part of.")
    tenant = text("Held by this tenant, whose name you may see.", 63)
    minFreeGiB = s.FloatField(
        min_value=0,
        max_value=1_000_000,
        default=0,
        help_text="With a free piece of at least so many GiB.",
    )
    tainted = s.BooleanField(default=False, help_text="Only those with a taint.")
    mine = s.BooleanField(default=False, help_text="Only those that you hold.")
    placements = s.BooleanField(
        default=False, help_text="Say each way to use the card, too."
    )


class HistoryParameters(s.Serializer[Any]):
    """Which past."""

    by = s.ChoiceField(HistorySample.Scope.values, default="cluster")
    q = text("Part of the key.", 200)
    hours = s.IntegerField(
        min_value=1, max_value=730 * 24, default=24, help_text="Back from now."
    )


class SeriesParameters(HistoryParameters, PageParameters):
    """Which past, and which page of it."""

    limit = s.IntegerField(
        min_value=1, max_value=20, default=10, help_text="How many lines at most."
    )


class AttributeParameters(PageParameters):
    """Which attribute."""

    key = text("A key with its domain, whose values are wanted.", 400)


def filter_of(wanted: dict[str, Any]) -> DeviceFilter:
    """Return the exact values and the text of checked parameters."""
    return DeviceFilter(
        text=wanted["q"],
        driver=wanted["driver"],
        pool=wanted["pool"],
        node=wanted["node"],
        kind=wanted["type"],
    )


def card_filter_of(wanted: dict[str, Any]) -> GpuFilter:
    """Return the filter of cards of checked parameters."""
    return GpuFilter(
        text=wanted["q"],
        node=wanted["node"],
        product=wanted["product"],
        driver=wanted["driver"],
        device_class=wanted["deviceClass"],
        tenant=wanted["tenant"],
        free_gib=wanted["minFreeGiB"],
        tainted=wanted["tainted"],
        mine=wanted["mine"],
    )


def attributes_of(wanted: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the attributes of checked parameters as (key, value)."""
    parts = [value.partition("=") for value in wanted["attribute"]]
    return tuple((key.strip(), value) for key, _equals, value in parts)

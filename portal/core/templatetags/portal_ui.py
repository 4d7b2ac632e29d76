"""Template tags and filters of the whole product."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from django import template
from django.utils import timezone
from django.utils.translation import gettext as _

from portal.core import freshness as ages

if TYPE_CHECKING:
    from datetime import datetime

register = template.Library()


@register.simple_tag
def freshness(cluster: ages.Heard) -> ages.Freshness:
    """Return the freshness badge of a cluster as of now."""
    return ages.freshness_of(cluster, now=timezone.now())


@register.filter
def age(at: datetime | None) -> str:
    """Return how long ago `at` was ("3 s ago"), or that it never was."""
    return ages.age(at, now=timezone.now()) if at else _("never")


@register.filter
def moment(at: datetime | None, precision: str = "minutes") -> str:
    """Return a moment with its time zone, "2026-12-01 06:00 UTC"; nothing for none."""
    if not at:
        return ""
    clock = "%H:%M:%S" if precision == "seconds" else "%H:%M"
    return timezone.localtime(at).strftime(f"%Y-%m-%d {clock} %Z")


@register.simple_tag
def age_patterns() -> str:
    """Return the units and words of ages as JSON, for the script that lets them tick."""
    return json.dumps(ages.age_patterns(), ensure_ascii=False)


@register.filter
def gib(size_bytes: int | None) -> str:
    """Return bytes as "79.6 GiB"; an unknown size is said to be unknown."""
    if size_bytes is None:
        return _("unknown")
    whole = size_bytes / 2**30
    return f"{whole:,.0f} GiB" if whole == int(whole) else f"{whole:,.1f} GiB"

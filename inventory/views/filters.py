"""What a page's address asks for, checked; wrong input is said and left out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

from inventory.queries.devices import DeviceFilter
from inventory.queries.fleet import GpuFilter

if TYPE_CHECKING:
    from django.http import QueryDict

MOST_GIB = 1_000_000


def gpu_filter(query: QueryDict) -> tuple[GpuFilter, str]:
    """Return a filter of cards and one sentence about what was wrong, or ""."""
    free, problem = _gib(query.get("free", ""))
    wanted = GpuFilter(
        text=query.get("q", "").strip()[:200],
        product=query.get("product", ""),
        free_gib=free,
        tainted=query.get("tainted") == "on",
        mine=query.get("mine") == "on",
    )
    return wanted, problem


def device_filter(query: QueryDict) -> DeviceFilter:
    """Return a filter of devices."""
    return DeviceFilter(
        text=query.get("q", "").strip()[:200],
        driver=query.get("driver", "")[:63],
        pool=query.get("pool", "").strip()[:253],
        node=query.get("node", "").strip()[:253],
        kind=query.get("type", "")[:64],
    )


def page_number(query: QueryDict) -> int:
    """Return the number of a page, the first where it is none."""
    text = query.get("page", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 1


def _gib(text: str) -> tuple[float, str]:
    if not text.strip():
        return 0, ""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if 0 <= value <= MOST_GIB:
        return value, ""
    return 0, _(
        "“%(text)s” is no amount of memory: write the free GiB as a number,"
        " for example 40."
    ) % {"text": text[:40]}

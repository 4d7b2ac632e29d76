"""What a page's address asks for, checked; wrong input is said and left out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

from inventory.queries.devices import DeviceFilter
from inventory.queries.gpu_filter import GpuFilter

if TYPE_CHECKING:
    from django.http import QueryDict

MOST_GIB = 1_000_000
MOST_ATTRIBUTES = 12

# (full key, value as text), in the order in which they were chosen.
Attributes = tuple[tuple[str, str], ...]


def text_in(query: QueryDict, name: str, most: int = 253) -> str:
    """Return a parameter's text, cut, without the NUL that Postgres refuses."""
    return query.get(name, "").replace("\0", "").strip()[:most]


def gpu_filter(query: QueryDict) -> tuple[GpuFilter, str]:
    """Return a filter of cards and one sentence about what was wrong, or ""."""
    free, problem = _gib(query.get("free", ""))
    wanted = GpuFilter(
        text=text_in(query, "q", 200),
        product=text_in(query, "product"),
        free_gib=free,
        tainted=query.get("tainted") == "on",
        mine=query.get("mine") == "on",
        device_class=text_in(query, "class"),
        tenant=text_in(query, "tenant", 63),
        driver=text_in(query, "driver", 63),
    )
    return wanted, problem


def device_filter(query: QueryDict) -> DeviceFilter:
    """Return a filter of devices."""
    return DeviceFilter(
        text=text_in(query, "q", 200),
        driver=text_in(query, "driver"),
        pool=text_in(query, "pool"),
        node=text_in(query, "node"),
        kind=text_in(query, "type"),
    )


def chosen_attributes(query: QueryDict) -> Attributes:
    """Return the attribute values of `has=key=value`; what has another shape is left out."""
    pairs = [text.partition("=")[::2] for text in query.getlist("has")]
    kept = [(key[:400], value[:400]) for key, value in pairs if "/" in key and value]
    return tuple(dict.fromkeys(kept))[:MOST_ATTRIBUTES]


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

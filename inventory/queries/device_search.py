"""Devices by attributes and by a set of ids, in pages and in one bounded stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.contrib.postgres.fields import ArrayField
from django.db.models import BooleanField, F, Func, JSONField, Q, TextField, Value
from django.db.models.functions import Concat

from inventory.queries.cards import fleet_of
from inventory.queries.devices import (
    KEY,
    KEY_TYPES,
    DeviceFilter,
    DeviceRow,
    device_row,
    filtered,
    holds_of,
    key_of,
)
from portal.core.keyset import Page, decoded, page_of, rows_after

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.db.models import QuerySet

    from inventory.domain.visibility import Viewer
    from inventory.models import Cluster, Device

CHUNK = 1_000


@dataclass(frozen=True, slots=True)
class DeviceSearch:
    """What is looked for.

    Attributes:
        wanted: exact values, and a text.
        attributes: (key, value as text); a key without a domain is the driver's own.
        among: `driver/pool/device` of the only devices that count; None for all.
    """

    wanted: DeviceFilter
    attributes: tuple[tuple[str, str], ...] = ()
    among: tuple[str, ...] | None = None


def search_page(
    cluster: Cluster, viewer: Viewer, search: DeviceSearch, *, cursor: str, limit: int
) -> Page[DeviceRow]:
    """Return a page of devices; two queries where the cluster is unchanged.

    Raises:
        BadCursor: It is none of this list.
    """
    key = decoded(cursor, KEY_TYPES)
    found = list(rows_after(_searched(cluster, search), KEY, key)[: limit + 1])
    page = page_of(found, limit, key_of)
    return Page(_rows(cluster, viewer, page.items), page.following)


def search_chunks(
    cluster: Cluster, viewer: Viewer, search: DeviceSearch
) -> Iterator[list[DeviceRow]]:
    """Yield all devices, a thousand at a time; no more are held in memory."""
    rows, key = _searched(cluster, search), None
    while True:
        chunk = list(rows_after(rows, KEY, key)[:CHUNK])
        if chunk:
            yield _rows(cluster, viewer, chunk)
        if len(chunk) < CHUNK:
            return
        key = key_of(chunk[-1])


def _rows(cluster: Cluster, viewer: Viewer, found: list[Device]) -> list[DeviceRow]:
    fleet, holds = fleet_of(cluster), holds_of(cluster, found)
    return [device_row(device, fleet, holds, viewer) for device in found]


def _searched(cluster: Cluster, search: DeviceSearch) -> QuerySet[Device]:
    rows = filtered(cluster, search.wanted)
    for number, (key, value) in enumerate(search.attributes):
        name = f"attribute_{number}"
        rows = rows.alias(**{name: _attribute(key)}).filter(_says(name, value))
    if search.among is not None:
        rows = rows.filter(_IsAmong(search.among))
    return rows


def _attribute(key: str) -> Func:
    own = Concat(F("driver"), Value(f"/{key}"), output_field=TextField())
    full = Value(key, output_field=TextField())
    return Func(
        F("attributes"),
        full if "/" in key else own,
        template="(%(expressions)s)",
        arg_joiner=" -> ",
        output_field=JSONField(),
    )


def _says(name: str, text: str) -> Q:
    """Return that an attribute has a value, whatever its type."""
    return Q(**{f"{name}__in": list(_values(text))}) | Q(
        **{f"{name}__contains": {"strings": [text]}}
    )


def _values(text: str) -> Iterator[dict[str, Any]]:
    yield {"string": text}
    yield {"version": text}
    if text in ("true", "false"):
        yield {"bool": text == "true"}
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdigit() and len(digits) < 20:
        yield {"int": int(text)}


class _IsAmong(Func):
    """`driver/pool/name = ANY(ids)`, which Postgres hashes."""

    output_field: Any = BooleanField()
    template = "%(expressions)s"
    arg_joiner = " = ANY"

    def __init__(self, ids: tuple[str, ...]) -> None:
        own = Concat(F("driver"), Value("/"), F("pool"), Value("/"), F("name"))
        listed = Value(list(ids), output_field=ArrayField(TextField()))
        super().__init__(own, Func(listed, template="(%(expressions)s)"))

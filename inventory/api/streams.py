"""All devices as lines: NDJSON or CSV, a thousand rows in memory at a time."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any

import orjson
from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import StreamingHttpResponse

from inventory.api import parameters
from inventory.api.base import ClusterView, reading
from inventory.api.documents import device_document
from inventory.api.searching import search_of
from inventory.queries.device_search import search_chunks
from portal.api.bodies import JsonRenderer
from portal.core.live import release_connections

if TYPE_CHECKING:
    from django.http import HttpRequest
    from rest_framework.request import Request

    from inventory.queries.devices import DeviceRow

Json = dict[str, Any]

COLUMNS = (
    *("id", "driver", "pool", "name", "node", "slice", "type", "product"),
    *("memoryBytes", "state", "otherHolders", "allowMultipleAllocations"),
    *("taints", "holders", "attributes", "capacity"),
)
# A spreadsheet takes what begins with these for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class StreamView(ClusterView):
    """An answer as a stream, in the address's own format."""

    media = ""

    def perform_content_negotiation(
        self,
        request: Request,
        force: bool = False,  # noqa: FBT001, FBT002  the framework's
    ) -> tuple[Any, str]:
        """Answer in the address's own format, whatever is accepted."""
        renderer = JsonRenderer()
        return renderer, renderer.media_type

    def stream(self, request: Request, parts: Iterator[bytes]) -> StreamingHttpResponse:
        """Return the parts as a stream."""
        response = StreamingHttpResponse(
            _streamed(request._request, parts),
            content_type=f"{self.media}; charset=utf-8",
        )
        response["X-Accel-Buffering"] = "no"
        return response


class DeviceStream(StreamView):
    """Every device that the parameters leave, as a stream."""

    def get(self, request: Request, cluster: str) -> StreamingHttpResponse:
        """Return the stream."""
        found = self.cluster()
        chunks = search_chunks(found, self.viewer(), search_of(found, self.wanted))
        return self.stream(request, _lines(chunks, self.lines))

    def lines(self, rows: list[DeviceRow], first: bool) -> bytes:  # noqa: FBT001
        """Return some rows as lines."""
        raise NotImplementedError


class DeviceNdjson(DeviceStream):
    """One JSON object a line."""

    media = "application/x-ndjson"
    operations = {
        "GET": reading(
            id="streamDevicesNdjson",
            summary="Stream the devices, one JSON object a line",
            query=parameters.SearchParameters,
            media=media,
            problems=(422,),
        )
    }

    def lines(self, rows: list[DeviceRow], first: bool) -> bytes:  # noqa: FBT001
        """Return each row as a JSON line."""
        return b"".join(orjson.dumps(device_document(row)) + b"\n" for row in rows)


class DeviceCsv(DeviceStream):
    """A header line, then one line a device; lists and maps as JSON."""

    media = "text/csv"
    operations = {
        "GET": reading(
            id="streamDevicesCsv",
            summary="Stream the devices as a table",
            description="Taints, holders, attributes and capacity are JSON texts.",
            query=parameters.SearchParameters,
            media=media,
            problems=(422,),
        )
    }

    def lines(self, rows: list[DeviceRow], first: bool) -> bytes:  # noqa: FBT001
        """Return each row as a line of a table, the header before the first."""
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\r\n")
        if first:
            writer.writerow(COLUMNS)
        for row in rows:
            document = device_document(row)
            writer.writerow([_cell(document[name]) for name in COLUMNS])
        return buffer.getvalue().encode()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool | dict | list):
        return orjson.dumps(value).decode()
    text = str(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _lines(
    chunks: Iterator[list[DeviceRow]], lines: Callable[[list[DeviceRow], bool], bytes]
) -> Iterator[bytes]:
    first = True
    for rows in chunks:
        yield lines(rows, first)
        first = False
    if first:
        yield lines([], True)


def _streamed(
    request: HttpRequest, parts: Iterator[bytes]
) -> Iterator[bytes] | AsyncIterator[bytes]:
    """Return the parts in the way that this server takes without collecting them."""
    return _in_turn(parts) if isinstance(request, ASGIRequest) else parts


async def _in_turn(parts: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Yield parts that a thread makes, and give its database connection back."""
    following = sync_to_async(lambda: next(parts, b""))
    try:
        while part := await following():
            yield part
    finally:
        await sync_to_async(release_connections)()

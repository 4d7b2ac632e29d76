"""Tables as CSV (RFC 4180), a row at a time."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from django.http import StreamingHttpResponse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# A spreadsheet takes a text that begins so for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class _Line:
    """A file that gives back what is written to it."""

    def write(self, text: str) -> str:
        return text


def csv_response(
    name: str, header: Sequence[str], rows: Iterable[Sequence[object]]
) -> StreamingHttpResponse:
    """Return a download; numbers as they are, None empty, truth as true and false."""
    return StreamingHttpResponse(
        csv_lines(header, rows),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def csv_lines(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield the lines of a table, the header first."""
    writer = csv.writer(_Line())
    yield writer.writerow(header)
    for row in rows:
        yield writer.writerow([_cell(value) for value in row])


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value

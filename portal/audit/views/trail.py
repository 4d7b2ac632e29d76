"""The audit page, and the same as CSV.

Accounts stand above this app, so `portal.urls` says who may see them.
"""

from __future__ import annotations

import csv
import json
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from django.http import StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.views.decorators.http import require_GET

from portal.audit.domain.chain import ROUTINE
from portal.audit.models import Seal
from portal.audit.queries.trail import Filters, trail
from portal.audit.services.sealing import event_models, seal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.http import HttpResponse

    from portal.core.http import PortalRequest

PER_PAGE = 100
COLUMNS = (
    *("number", "at", "actor", "table", "object_id", "reason", "request_id"),
    *("kubernetes_audit_ids", "changes", "digest"),
)
# A spreadsheet takes a cell that begins so for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
# What the page leaves out, for it says nothing to a person; the export has it all.
_HIDDEN = frozenset({"id", "submission_key", "submitted_at", "decided_at", "digest"})


@require_GET
def audit_list(request: PortalRequest) -> HttpResponse:
    """Show what happened, newest first, sealed up to this moment."""
    seal()
    filters = filters_of(request)
    rows = trail(filters)
    before = request.GET.get("before", "")
    if before.isdecimal() and len(before) < 19:
        rows = rows.filter(number__lt=int(before))
    page = list(rows[: PER_PAGE + 1])
    query = request.GET.copy()
    query.pop("before", None)
    context = {
        "nav": "audit",
        "rows": [
            (row, name_of(row), shown_changes(row, is_whole=filters.is_whole))
            for row in page[:PER_PAGE]
        ],
        "following": page[PER_PAGE - 1].number if len(page) > PER_PAGE else None,
        "query": query.urlencode(),
        "filters": filters,
        "since": request.GET.get("since", ""),
        "until": request.GET.get("until", ""),
        "tables": list(event_models()),
        "head": Seal.objects.order_by("-number").first(),
    }
    return render(request, "audit/audit_list.html", context)


@require_GET
def audit_csv(request: PortalRequest) -> StreamingHttpResponse:
    """Answer with all that the filters find, as CSV, row by row."""
    seal()
    rows = trail(filters_of(request)).iterator(chunk_size=1000)
    response = StreamingHttpResponse(_lines(rows), content_type="text/csv")
    name = timezone.now().strftime("slicewise-audit-%Y%m%d-%H%M%S.csv")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def filters_of(request: PortalRequest) -> Filters:
    """Return the filters of an address; a date that is none is left out."""
    get = request.GET.get
    until = _day(get("until", ""))
    return Filters(
        actor=get("actor", "").strip(),
        text=get("q", "").strip()[:200],
        table=get("table", ""),
        since=_day(get("since", "")),
        until=until + timedelta(days=1) if until else None,
        is_whole=bool(get("whole")),
    )


def _day(text: str) -> datetime | None:
    try:
        day = parse_date(text)
    except ValueError:
        return None
    return timezone.make_aware(datetime.combine(day, time())) if day else None


def name_of(row: Seal) -> str:
    """Return what was changed, as `ClaimRequest 7`."""
    model = row.table.rpartition(".")[2].removesuffix("Event")
    return f"{model} {row.object_id}"


def shown_changes(row: Seal, *, is_whole: bool) -> list[tuple[str, str, str]]:
    """Return (column, old, new) of what a person wants to know of a change."""
    return [
        (key, _text(old), _text(new))
        for key, (old, new) in row.changes.items()
        if _text(old) != _text(new)
        and key not in _HIDDEN
        and not key.endswith("_id")
        and (is_whole or key not in ROUTINE)
    ]


def _text(value: Any) -> str:
    if value in (None, "", [], {}):
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class _Echo:
    """What csv.writer writes to: it gives the line back."""

    def write(self, line: str) -> str:
        return line


def _lines(rows: Iterator[Seal]) -> Iterator[str]:
    writer = csv.writer(_Echo())
    yield writer.writerow(COLUMNS)
    for row in rows:
        cells = [row.number, row.at.isoformat(), row.actor, row.table, row.object_id]
        cells += [row.reason, row.request_id, " ".join(row.audit_ids)]
        cells += [json.dumps(row.changes), row.digest]
        yield writer.writerow([_safe(cell) for cell in cells])


def _safe(cell: object) -> str:
    text = str(cell)
    return f"'{text}" if text.startswith(_FORMULA) else text

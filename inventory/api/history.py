"""The past of a cluster over REST: as lines of samples, and as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils import timezone

from inventory.api import detail_documents as documents
from inventory.api import detail_serializers as serializers
from inventory.api import parameters
from inventory.api.base import ClusterView, reading
from inventory.api.streams import StreamView
from inventory.queries.clusters import tenants_seen_by
from inventory.queries.history import HistoryFilter, history_rows, series_page
from inventory.views.csv import csv_lines
from inventory.views.history import COLUMNS, csv_row

if TYPE_CHECKING:
    from django.http import StreamingHttpResponse
    from rest_framework.request import Request
    from rest_framework.response import Response


class HistoryList(ClusterView):
    """What was allocated over time."""

    operations = {
        "GET": reading(
            id="listHistory",
            summary="List what was allocated over time, a line a key, with its samples",
            description="By `cluster`, `product`, `class`, `pool` (`driver/pool`) or"
            " `tenant`; of tenants those whose names you may see. Samples are five"
            " minutes apart for two days, then an hour, then, after 40 days, a day. A"
            " slot without a sample is one in which nobody looked.",
            answer=serializers.Series,
            query=parameters.SeriesParameters,
            listed=True,
        )
    }

    def get(self, request: Request, cluster: str) -> Response:
        """Return a page of lines by key."""
        wanted = self.wanted
        page = series_page(
            self.cluster(),
            HistoryFilter(wanted["by"], wanted["q"], wanted["hours"]),
            tenants_seen_by(self.person),
            timezone.now(),
            cursor=wanted["cursor"],
            limit=wanted["limit"],
        )
        return self.page(page, documents.series_document)


class HistoryCsv(StreamView):
    """The same samples as a table."""

    media = "text/csv"
    operations = {
        "GET": reading(
            id="streamHistoryCsv",
            summary="Stream what was allocated over time as a table",
            query=parameters.HistoryParameters,
            media=media,
        )
    }

    def get(self, request: Request, cluster: str) -> StreamingHttpResponse:
        """Return the stream."""
        wanted = HistoryFilter(
            self.wanted["by"], self.wanted["q"], self.wanted["hours"]
        )
        rows = history_rows(
            self.cluster(), wanted, tenants_seen_by(self.person), timezone.now()
        )
        lines = csv_lines(COLUMNS, map(csv_row, rows))
        return self.stream(request, (line.encode() for line in lines))

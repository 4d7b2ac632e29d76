"""100,000 devices: a late page of the list, and whole streams in bounded memory."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from inventory.models import Device, Pool
from portal.accounts.models import User
from portal.core.keyset import encoded
from tests.bench.serving import serving
from tests.integration.api.sizes import COUNT, begin, fill, peak

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

NAME = "bench-devices"
ROUNDS = 15
LATE = encoded(["net.example.com", "node-0999", "nic-049", 2**62])


@dataclass(frozen=True)
class Streamed:
    """Seconds of a whole stream, its bytes, and the server's memory before and at most."""

    seconds: float
    size: int
    before: int
    most: int

    @property
    def grown(self) -> int:
        """What the stream added, bytes."""
        return self.most - self.before


@dataclass(frozen=True)
class Figures:
    """Seconds of the first and a last page; whole streams by format."""

    first: float
    last: float
    streams: dict[str, Streamed]


def measure() -> Figures:
    """Fill a cluster, measure over REST, and take it all back."""
    cluster = fill(NAME, COUNT, timezone.now())
    try:
        user, _made = User.objects.get_or_create(username="bench")
        client = Client(headers={"host": "localhost"})
        client.force_login(user)
        first, last = _pages(client)
        with serving() as (web, pid):
            streams = {kind: _streamed(web, pid, kind) for kind in ("ndjson", "csv")}
        return Figures(first, last, streams)
    finally:
        for kind in (Device, Pool):
            kind.objects.filter(cluster=cluster).delete()
        cluster.delete()


def _pages(client: Client) -> tuple[float, float]:
    """Return the median seconds of both pages, asked in turn so that both suffer alike."""
    taken: tuple[list[float], list[float]] = ([], [])
    for turn in range(ROUNDS + 1):
        cache.clear()  # limits count nobody's patience here
        for cursor, times in zip(("", LATE), taken, strict=True):
            began = time.perf_counter()
            answer = client.get(
                f"/api/v1/clusters/{NAME}/devices", {"limit": 50, "cursor": cursor}
            )
            assert len(answer.json()["items"]) == 50, answer.content
            if turn:
                times.append(time.perf_counter() - began)
    return statistics.median(taken[0]), statistics.median(taken[1])


def _streamed(client: httpx.Client, pid: int, kind: str) -> Streamed:
    """Read a whole stream over HTTP, after a page that warms what every request needs."""
    path = f"/api/v1/clusters/{NAME}/devices"
    client.get(path, params={"limit": 500}).raise_for_status()
    before, began = begin(pid), time.perf_counter()
    with client.stream("GET", f"{path}.{kind}") as answer:
        lines, size = _counted(answer.iter_raw())
    assert lines >= COUNT, lines
    return Streamed(time.perf_counter() - began, size, before, peak(pid))


def _counted(parts: Iterator[bytes]) -> tuple[int, int]:
    lines = size = 0
    for part in parts:
        lines += part.count(b"\n")
        size += len(part)
    return lines, size

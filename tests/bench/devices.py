"""100,000 devices: a late page of the list, and whole streams in bounded memory."""

from __future__ import annotations

import resource
import statistics
import time
from dataclasses import dataclass

from django.core.cache import cache
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from inventory.models import Cluster
from portal.accounts.models import User
from portal.core.keyset import encoded
from tests.integration.api.test_size import COUNT, DEVICES, PER_POOL, POOLS

NAME = "bench-devices"
ROUNDS = 15
LATE = encoded(["net.example.com", "node-0999", "nic-049", 2**62])


@dataclass(frozen=True)
class Figures:
    """Seconds of the first and a last page; bytes that a stream added, by format."""

    first: float
    last: float
    grown: dict[str, int]


def measure() -> Figures:
    """Fill a cluster, measure over REST, and take it all back."""
    with transaction.atomic():
        _fill()
        user, _made = User.objects.get_or_create(username="bench")
        client = Client(headers={"host": "localhost"})
        client.force_login(user)
        first, last = _pages(client)
        grown = {kind: _grown(client, kind) for kind in ("ndjson", "csv")}
        transaction.set_rollback(True)
    return Figures(first, last, grown)


def _fill() -> None:
    cluster = Cluster.objects.create(
        name=NAME,
        kind="offline",
        kubernetes_version="1.37.2",
        revision=1,
        heard_at=timezone.now(),
    )
    with connection.cursor() as cursor:
        cursor.execute(POOLS, [cluster.pk, COUNT // PER_POOL - 1])
        values = [cluster.pk, PER_POOL, PER_POOL, PER_POOL, COUNT - 1]
        cursor.execute(DEVICES, values)
        cursor.execute("ANALYZE inventory_device")


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


def _grown(client: Client, kind: str) -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answer = client.get(f"/api/v1/clusters/{NAME}/devices.{kind}")
    lines = sum(part.count(b"\n") for part in answer.streaming_content)
    assert lines >= COUNT, lines
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024

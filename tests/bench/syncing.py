"""The first sync of a large cluster, against `kubectl get` of the same API server."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING

from django.conf import settings
from django.db import connection

from inventory.gateways.kubeconfig import standing_alone
from inventory.models import Cluster, Device
from portal.core import secrets
from tests.bench.large_fleet import objects
from tests.cluster.controlplane import ControlPlane

if TYPE_CHECKING:
    from collections.abc import Callable

VERSION = "1.37.2"
SLICES = 2_000
PER_SLICE = 20
TURNS = 3
NAME = "bench-sync"
LONGEST_SECONDS = 120
KUBECTL = Path(sys.executable).with_name("kubectl")


@dataclass(frozen=True)
class Synced:
    """Medians of both, and the median of ratios.

    Ours: seconds from when a watcher takes the cluster up until every device is
    committed; theirs: of the whole command. Bytes at the peak.
    """

    ours: float
    theirs: float
    ratio: float
    our_memory: int
    their_memory: int


def measured() -> Synced:
    """Read one server in turns, by a watcher of its own and by kubectl."""
    with ControlPlane(VERSION) as plane:
        slices = [
            each
            for each in objects(SLICES, PER_SLICE, 0)
            if each["kind"] == "ResourceSlice"
        ]
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(plane.client().create, slices))
        turns = [(_watcher(plane), _kubectl(plane)) for _ in range(TURNS)]
    ours, theirs = zip(*turns, strict=True)
    return Synced(
        ours=statistics.median(seconds for seconds, _ in ours),
        theirs=statistics.median(seconds for seconds, _ in theirs),
        ratio=statistics.median(own / other for (own, _), (other, _) in turns),
        our_memory=max(peak for _, peak in ours),
        their_memory=max(peak for _, peak in theirs),
    )


def _kubectl(plane: ControlPlane) -> tuple[float, int]:
    config = str(plane.kubeconfig())
    command = [str(KUBECTL), "--kubeconfig", config]
    return _timed([*command, "get", "resourceslices", "-o", "json"])


def _watcher(plane: ControlPlane) -> tuple[float, int]:
    """Return seconds until a watcher that leads has committed all, and its peak."""
    Cluster.objects.filter(name=NAME).delete()
    cluster = Cluster.objects.create(
        name=NAME,
        kind="live",
        kubeconfig_encrypted=secrets.encrypt(standing_alone(plane.kubeconfig())),
    )
    devices = Device.objects.filter(cluster=cluster)
    # Devices are counted once something is committed: before, that only takes time.
    seen = Cluster.objects.filter(pk=cluster.pk, revision__gt=0)
    with TemporaryFile("w+") as said:
        try:
            return _timed(
                [sys.executable, "manage.py", "watch", NAME],
                said=said,
                begun=lambda: '"leading"' in _text(said),
                done=lambda: seen.exists() and devices.count() == SLICES * PER_SLICE,
            )
        finally:
            cluster.delete()
            # The next turn begins as this one did.
            with connection.cursor() as cursor:
                cursor.execute("VACUUM inventory_device, inventory_kubeobject")


def _text(said: IO[str]) -> str:
    said.seek(0)
    return said.read()


def _timed(
    command: list[str],
    *,
    said: IO[str] | None = None,
    begun: Callable[[], bool] | None = None,
    done: Callable[[], bool] | None = None,
) -> tuple[float, int]:
    """Run a command; return its seconds and peak bytes.

    Args:
        command: what to run.
        said: takes its stderr.
        begun: from when on time counts; from its start by default.
        done: until when, and it is ended then; until its end by default.
    """
    began, took, peak = time.monotonic(), None, 0
    longest = began + LONGEST_SECONDS
    with subprocess.Popen(
        command, cwd=settings.BASE_DIR, stdout=subprocess.DEVNULL, stderr=said
    ) as process:
        while process.poll() is None and took is None:
            # What wait4 says of memory begins with that of whoever started it.
            peak = _peak(process.pid) or peak
            if time.monotonic() > longest:
                process.kill()
            if begun and begun():
                began, begun = time.monotonic(), None
            if not begun and done and done():
                took = time.monotonic() - began
                process.terminate()
            time.sleep(0.01)
    if done and took is None:
        raise SystemExit(f"{command[1:]} did not read all that there is")
    return took or time.monotonic() - began, peak


def _peak(pid: int) -> int:
    """Return the most bytes that a process had in memory so far; 0 once it is gone."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0

"""How long a large dump takes to load and how much memory, and the world after a change."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings
from django.utils import timezone

from claims.services.explaining import ground_of
from inventory.domain.changes import Change, change_of
from inventory.models import Cluster, KubeObject
from inventory.services.store import apply_changes
from tests.bench.large_fleet import document

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOAD = """
import resource, subprocess, sys
code = subprocess.call([sys.executable, "manage.py", *sys.argv[1:]], stdout=2)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""


def loaded(name: str) -> tuple[float, float]:
    """Load 2,000 slices from a file, as a command; return its seconds and megabytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fleet.json"
        path.write_bytes(document())
        started = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", _LOAD, "load_cluster", name, str(path)],
            cwd=settings.BASE_DIR,
            stdout=subprocess.PIPE,
            check=True,
        )
        return time.perf_counter() - started, int(done.stdout) / 1000


def world_seconds(name: str) -> Iterator[float]:
    """Yield the seconds until checks see a cluster: at first, and after two changes.

    The first change is a claim's end, the second a taint in a slice.
    """
    cluster = Cluster.objects.get(name=name)
    yield _until_seen(cluster)
    claim = KubeObject.objects.filter(cluster=cluster, kind="ResourceClaim")
    gone = claim.values_list("kind", "namespace", "name").first()
    slice_ = KubeObject.objects.filter(cluster=cluster, kind="ResourceSlice").first()
    assert slice_ is not None
    body = {**slice_.body, "kind": slice_.kind}
    body["metadata"]["resourceVersion"] = "changed"
    body["spec"]["devices"][0]["taints"] = [{"key": "a/b", "effect": "NoSchedule"}]
    ended = Change(*gone, None) if gone else Change("ResourceClaim", "x", "x", None)
    for change in (ended, change_of(body)):
        apply_changes(cluster, [change], now=timezone.now())
        cluster.refresh_from_db()
        yield _until_seen(cluster)


def _until_seen(cluster: Cluster) -> float:
    started = time.perf_counter()
    ground_of(cluster)
    return time.perf_counter() - started

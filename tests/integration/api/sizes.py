"""A large cluster in few statements, and how much memory a process takes at most."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from django.db import connection

from inventory.models import Cluster

if TYPE_CHECKING:
    from datetime import datetime

COUNT, PER_POOL = 100_000, 100
POOLS = """
INSERT INTO inventory_pool (cluster_id, driver, name, generation,
  expected_slice_count, seen_slice_count, node_name, verdict, problem)
SELECT %s, 'net.example.com', 'node-' || to_char(n, 'FM0000'), 1, 1, 1,
  'node-' || to_char(n, 'FM0000'), 'complete', ''
FROM generate_series(0, %s) n
"""
DEVICES = """
INSERT INTO inventory_device (cluster_id, driver, pool, name, slice_name, node_name,
  attributes, capacity, consumes_counters, taints, allow_multiple_allocations)
SELECT %s, 'net.example.com', 'node-' || to_char(n / %s, 'FM0000'),
  'nic-' || to_char(n %% %s, 'FM000'), 'slice', 'node-' || to_char(n / %s, 'FM0000'),
  '{"net.example.com/mtu": {"int": 9000}}', '{}', '[]', '[]', false
FROM generate_series(0, %s) n
"""


def fill(name: str, count: int, now: datetime) -> Cluster:
    """Return a new cluster of so many devices, a hundred a pool."""
    cluster = Cluster.objects.create(
        name=name,
        kind="offline",
        kubernetes_version="1.37.2",
        revision=1,
        heard_at=now,
    )
    with connection.cursor() as cursor:
        cursor.execute(POOLS, [cluster.pk, count // PER_POOL - 1])
        values = [cluster.pk, PER_POOL, PER_POOL, PER_POOL, count - 1]
        cursor.execute(DEVICES, values)
        cursor.execute("ANALYZE inventory_device")
    return cluster


def begin(pid: int | str = "self") -> int:
    """Forget how much memory a process ever had; return what it has, bytes."""
    # Linux: see proc_pid_clear_refs(5).
    Path(f"/proc/{pid}/clear_refs").write_text("5")
    return peak(pid)


def peak(pid: int | str = "self") -> int:
    """Return the most memory that a process had since `begin`, bytes."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", text)[1]) * 1024

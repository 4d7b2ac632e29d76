"""How much memory processes take, each but ourselves with what it started (Linux)."""

from __future__ import annotations

import os
from pathlib import Path

PROC = Path("/proc")


def _field(pid: int, file: str, name: str) -> int:
    """Return a size in KiB from a file of /proc, 0 where it cannot be read."""
    try:
        lines = (PROC / str(pid) / file).read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(name)), 0)


def _parents() -> dict[int, int]:
    found = {}
    for entry in PROC.glob("[0-9]*"):
        try:
            stat = (entry / "stat").read_text()
        except OSError:
            continue
        found[int(entry.name)] = int(stat.rsplit(")", 1)[1].split()[1])
    return found


def family(pid: int) -> list[int]:
    """Return a process and all that descend from it."""
    parents = _parents()
    found = [pid]
    for each in found:
        found.extend(child for child, parent in parents.items() if parent == each)
    return found


def table(pids: dict[str, int]) -> str:
    """Return lines of name, processes, resident and proportional size in MiB."""
    lines = [f"{'':<14}{'processes':>10}{'RSS MiB':>10}{'PSS MiB':>10}"]
    total = [0, 0, 0]
    for name, pid in pids.items():
        members = [pid] if pid == os.getpid() else family(pid)
        rss = sum(_field(each, "status", "VmRSS:") for each in members)
        pss = sum(_field(each, "smaps_rollup", "Pss:") for each in members)
        row = (len(members), rss // 1024, pss // 1024)
        total = [a + b for a, b in zip(total, row, strict=True)]
        lines.append(f"{name:<14}{row[0]:>10}{row[1]:>10}{row[2]:>10}")
    lines.append(f"{'all':<14}{total[0]:>10}{total[1]:>10}{total[2]:>10}")
    return "\n".join(lines)

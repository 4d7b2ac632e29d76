"""What the fault tests saw, gathered into docs/faults.md.

Written when `SLICEWISE_WRITE_DOCS=1` is set; rows that this run did not see stay.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

HEALED_SECONDS = 60
PATH = Path(__file__).parents[2] / "docs" / "faults.md"


@dataclass(frozen=True)
class Seen:
    """What came of a fault."""

    count: int
    state: str
    healed_seconds: float
    duplicates: int
    lost: int


seen: dict[str, Seen] = {}


def tell(name: str, found: Seen) -> None:
    """Put a row into the table; fail where something is doubled, lost or late."""
    seen[name] = found
    assert (found.duplicates, found.lost) == (0, 0)
    assert found.healed_seconds <= HEALED_SECONDS


def write() -> None:
    """Write the table with what this run saw, where that is asked for."""
    if os.environ.get("SLICEWISE_WRITE_DOCS") and seen:
        PATH.write_text(_text(), encoding="utf-8")


def _rows() -> dict[str, str]:
    """Return the lines of all rows by what broke, this run's as it saw them."""
    lines = PATH.read_text(encoding="utf-8").splitlines()
    rows = {line.split(" | ")[0].removeprefix("| "): line for line in lines}
    kept = {name: line for name, line in rows.items() if line.startswith("| ")}
    kept.pop("what broke", None)
    return kept | {
        name: f"| {name} | {one.count} | {one.state} | {one.healed_seconds:.1f} s"
        f" | {one.duplicates} | {one.lost} |"
        for name, one in seen.items()
    }


def _text() -> str:
    head = [
        "# What happens when something dies",
        "",
        "Written by `SLICEWISE_WRITE_DOCS=1 pytest tests/faults -p no:randomly`: real",
        "workers, watchers, engines, Postgres, Valkey and API server (the simulated one),",
        "ended by SIGKILL (what hangs: SIGSTOP), Postgres by SIGQUIT; faults of the API server are played in",
        "front of it, by a fixed seed. Healed counts from a process' kill, for the API",
        "server and Postgres from its start, for what is played from its end, until every",
        "request is Active or Released, Postgres equals the cluster again, or the same",
        "question is answered again; starting a new process is part of it. Duplicates",
        "are objects, or moves to Active or Released, beyond the first of a request, or",
        "rows of one object; lost are requests whose recorded uid is not the cluster's,",
        "objects that Postgres lacks, or, where something ends, objects that are left.",
        f"The tests fail above {HEALED_SECONDS} s, or with any duplicate or loss; in the",
        "row of everything at once, with a request that failed and does not say why, or",
        "that failed and made something. The machine was busy with other things. In the",
        "rows of beat, healed is until everybody is told of each request and every event",
        "is sealed, duplicates are notices beyond the first, and lost are faults of the",
        "chain of seals; no other row has a beat: workers sweep requests by themselves.",
        "",
        "| what broke | of | final state | healed within | duplicates | lost |",
        "|---|---|---|---|---|---|",
    ]
    return "\n".join([*head, *_rows().values(), ""])

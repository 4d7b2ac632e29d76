"""`make bench`: each target as a ratio against its reference in the same run.

Exits 1 where a target is missed. `python -m tests.bench ROW…` runs some rows.
A row is a function of `tests.bench.rows` that returns what it measured.
"""

from __future__ import annotations

import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")


def main(names: list[str]) -> int:
    """Run rows by name, all by default; print a line each."""
    django.setup()
    from django.core.management import call_command

    from tests.bench import rows

    call_command("migrate", verbosity=0, interactive=False)
    chosen = {
        name: row for name, row in rows.ROWS.items() if not names or name in names
    }
    missed = 0
    for name, row in chosen.items():
        for found in row():
            missed += not found.holds
            mark = "ok    " if found.holds else "MISSED"
            print(f"{mark} {name}: {found.sentence}", flush=True)
    print(f"{len(chosen)} rows, {missed} missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

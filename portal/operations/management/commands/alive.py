"""`manage.py alive PROCESS`: does this host's web, watcher, worker or beat go on?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand

from portal import alive

if TYPE_CHECKING:
    from django.core.management.base import CommandParser


class Command(BaseCommand):
    """Exit 0: it does; 1: it does not. `python -m portal.alive` is the same, sooner."""

    help = "Say whether this host's web, watcher, worker or beat goes on."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the process."""
        parser.add_argument("process", choices=alive.NAMES)

    def handle(self, *args: Any, process: str, **options: Any) -> None:
        """Look at its last sign; no database is asked."""
        status, sentence = alive.verdict(process)
        (self.stderr if status else self.stdout).write(sentence)
        if status:
            raise SystemExit(status)

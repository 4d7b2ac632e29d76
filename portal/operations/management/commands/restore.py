"""`manage.py restore FILE`, `-` for stdin: the database as copied, brought up to date."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from portal.audit.services.sealing import verify
from portal.core.commands import PortalCommand
from portal.operations.services import copies
from portal.operations.services.keys import unreadable

if TYPE_CHECKING:
    from django.core.management.base import CommandParser


class Command(PortalCommand):
    """Exit 0: restored and sound; 1: restored, not sound; 2: nothing was changed."""

    help = (
        "Fill the database from a copy, - for stdin; stop web, watcher, worker and"
        " beat before."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the file, or -, and the word that data may be lost."""
        parser.add_argument("file", type=Path)
        parser.add_argument("--replace", action="store_true", help="lose what is there")

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        """Restore, then look whether what came back is whole."""
        copies.bring_back(
            None if str(file) == "-" else file, replace=options["replace"]
        )
        found = verify(head="")
        closed = unreadable()
        self.stdout.write(f"Restored; {found.seals} seals of the audit trail.")
        # The newest events of a copy were not sealed yet; beat does it when it starts.
        if any(fault.code != "unsealed" for fault in found.faults):
            self.fail("The audit trail was tampered with: manage.py verify_audit.", 1)
        if closed:
            self.fail(
                f"{len(closed)} secrets cannot be read: add the SECRET_KEY of the time"
                " of the copy to SECRET_KEY_FALLBACKS.",
                1,
            )

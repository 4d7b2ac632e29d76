"""`manage.py backup FILE`, `-` for stdout: the database as it is at one moment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from portal.core.commands import PortalCommand
from portal.operations.services import copies

if TYPE_CHECKING:
    from django.core.management.base import CommandParser


class Command(PortalCommand):
    """Exit 0: the copy is whole; 2: there is none, and why."""

    help = (
        "Copy the database into a file, or - for stdout; it may be in use. Keep"
        " SECRET_KEY elsewhere."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the file, or -."""
        parser.add_argument("file", type=Path)

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        """Copy; only into a file is there anything to say."""
        if str(file) == "-":
            copies.stream()
            return
        self.stdout.write(f"{file}: {copies.make(file):,} bytes.")

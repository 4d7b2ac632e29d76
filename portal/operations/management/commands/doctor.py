"""`manage.py doctor`: is everything there that a deployment needs?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.utils import timezone, translation

from portal.core.commands import PortalCommand
from portal.operations.services.doctor import examine
from portal.operations.services.findings import Answer

if TYPE_CHECKING:
    from django.core.management.base import CommandParser


class Command(PortalCommand):
    """Exit 0: nothing is wrong; 1: something is; --strict: or is not known."""

    help = "Look at everything that a deployment needs, and say what to do."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take a language, a format, and whether what is unknown counts."""
        languages = [code for code, _name in settings.LANGUAGES]
        parser.add_argument(
            "--language", choices=languages, default=settings.LANGUAGE_CODE
        )
        parser.add_argument("--format", choices=("text", "json"), default="text")
        parser.add_argument(
            "--strict", action="store_true", help="end with 1 for what is unknown, too"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Look, and say what was found."""
        with translation.override(options["language"]):
            found = examine(timezone.now())
        if options["format"] == "json":
            self.write_json(
                [
                    {"name": f.name, "ok": f.answer, "found": f.found, "do": f.advice}
                    for f in found
                ]
            )
        else:
            for each in found:
                self.stdout.write(f"{each.answer:8}{each.name}: {each.found}")
                if each.advice:
                    self.stdout.write(f"{'':8}→ {each.advice}")
        wrong = {Answer.NO, *([Answer.UNKNOWN] if options["strict"] else [])}
        if any(each.answer in wrong for each in found):
            raise SystemExit(1)

"""`manage.py verify_audit`: is the record as it was sealed?"""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from portal.audit.services.sealing import verify
from portal.core.commands import PortalCommand

WORDS = {
    "gap": "seals are missing before number {number}: {detail}",
    "previous": "seal {number} does not follow from the one before it",
    "digest": "seal {number} was changed",
    "changed": "the event of seal {number} was changed in: {detail}",
    "removed": "the event of seal {number} was removed: {detail}",
    "context": "who did it, or why, was changed in the event of seal {number}",
    "unsealed": "events were not sealed although they are old: {detail}",
    "head": "no seal has the digest {detail}: the end of the chain was cut off",
}


class Command(PortalCommand):
    """Exit 0: as sealed; 1: tampered with, said on stdout; 3: no database."""

    help = "Check the audit chain against its events; exit 1 where they differ."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the head of an earlier check, and a format."""
        parser.add_argument("--head", default="", help="digest an earlier check gave")
        parser.add_argument("--format", choices=("text", "json"), default="text")

    def handle(self, *args: Any, **options: Any) -> None:
        """Check, and say what was found."""
        found = verify(head=options["head"])
        if options["format"] == "json":
            faults = [vars(fault) for fault in found.faults]
            self.write_json(
                {"seals": found.seals, "head": found.head, "faults": faults}
            )
        else:
            for fault in found.faults:
                words = WORDS[fault.code]
                self.stdout.write(
                    words.format(number=fault.number, detail=fault.detail)
                )
            verdict = "TAMPERED WITH" if found.faults else "as sealed"
            self.stdout.write(f"{found.seals} seals, {verdict}. Head: {found.head}")
        if found.faults:
            raise SystemExit(1)

"""`manage.py policy [FILE]`: show the policy in force, try another, or store it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from portal.approvals.queries.policies import policy_in_force
from portal.approvals.services.policies import (
    PolicyRefused,
    read_rules,
    store_policy,
    would_change,
)
from portal.core.commands import PortalCommand


class Command(PortalCommand):
    """Policy as a JSON list of rules; docs/policy.md says what a rule may hold."""

    help = "Show the policy, or try (--dry-run) or store the rules of a JSON file."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take a file, and whether to only try it."""
        parser.add_argument(
            "file", nargs="?", help="JSON list of rules, or - for stdin"
        )
        parser.add_argument("--dry-run", action="store_true", dest="is_trial")
        parser.add_argument("--by", default="", help="who stores it, for the record")
        parser.add_argument("--note", default="", help="why, for the record")

    def handle(self, *args: Any, **options: Any) -> None:
        """Show, try or store."""
        if not options["file"]:
            policy = policy_in_force()
            document = [rule.document() for rule in policy.rules]
            self.write_json({"version": policy.version, "rules": document})
            return
        rules, now = read_rules(_read(options["file"])), timezone.now()
        total, changed = would_change(rules, now=now)
        lines = {
            str(each.claim_request.public_id): [each.before.name, each.after.name]
            for each in changed
        }
        version = None
        if not options["is_trial"]:
            if not options["by"]:
                raise PolicyRefused("Say who stores it: --by NAME.")
            made = store_policy(rules, by=options["by"], note=options["note"], now=now)
            version = made.version
        self.write_json({"version": version, "requests": total, "wouldDiffer": lines})


def _read(name: str) -> object:
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text()
        return json.loads(text)
    except (OSError, ValueError) as error:
        raise PolicyRefused(f"{name} cannot be read as JSON: {error}") from error

"""`manage.py rotate_keys`: encrypt what is stored with the newest SECRET_KEY."""

from __future__ import annotations

from typing import Any

from portal.core.commands import PortalCommand
from portal.operations.services.keys import rotate_all


class Command(PortalCommand):
    """Exit 0: all has the newest key; 1: something cannot be read, and is named."""

    help = (
        "Encrypt stored kubeconfigs, addresses and keys with SECRET_KEY, where they"
        " still have one of SECRET_KEY_FALLBACKS."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        """Rotate, and say how many."""
        done = rotate_all()
        self.stdout.write(
            f"{done.changed} encrypted anew, {done.newest} had the newest key."
        )
        if done.unreadable:
            names = "\n  ".join(done.unreadable)
            self.fail(
                f"No key opens these; add the earlier SECRET_KEY to"
                f" SECRET_KEY_FALLBACKS:\n  {names}",
                1,
            )

"""`manage.py serve_admission`: the webhooks alone, over TLS."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from portal.admission.serving import HookServer
from portal.core import counting
from portal.core.commands import PortalCommand
from portal.core.errors import PortalError


class NotSwitchedOn(PortalError):
    """Reviews are not answered here."""

    code = "admission.off"


class Command(PortalCommand):
    """Serve until ended; renewed certificates are taken up while it runs."""

    help = "Answer API servers' admission reviews over TLS."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take where to listen."""
        parser.add_argument("--host", default="0.0.0.0")  # noqa: S104  a pod's own
        parser.add_argument("--port", type=int, default=9443)
        parser.add_argument(
            "--client-ca",
            type=Path,
            help="demand a client certificate that this PEM file's authority signed",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Serve."""
        if not settings.SLICEWISE_ADMISSION:
            raise NotSwitchedOn(
                "Admission is switched off here: set SLICEWISE_ADMISSION=true."
            )
        counting.start()
        server = HookServer(
            options["host"], options["port"], client_ca=options["client_ca"], beats=True
        )
        server.run()

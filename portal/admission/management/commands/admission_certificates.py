"""`manage.py admission_certificates`: make, renew and hand out the webhooks' certificates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from inventory.queries.clusters_by_name import cluster_named
from portal.admission.services.certificates import (
    ca_bundle,
    renew,
    serving_certificate,
    write_files,
)
from portal.admission.services.installing import trust_in
from portal.core.commands import PortalCommand


class Command(PortalCommand):
    """Renew what is due; say what is good until when."""

    help = "Renew the admission webhooks' certificates and tell clusters to trust them."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take whether to force, which clusters to tell, and where to write files."""
        parser.add_argument("--force", action="store_true", help="make both anew")
        parser.add_argument(
            "--patch",
            action="append",
            default=[],
            metavar="CLUSTER",
            help="put the caBundle into this cluster's webhook configurations",
        )
        parser.add_argument(
            "--write", metavar="FOLDER", help="write tls.crt and tls.key there"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Renew, tell, write."""
        now = timezone.now()
        done = renew(now=now, force=options["force"])
        row = serving_certificate(now=now)
        if options["write"] and row:
            folder = Path(options["write"])
            folder.mkdir(parents=True, exist_ok=True)
            write_files(folder, row)
        patched = {
            name: trust_in(cluster_named(name), now=now) for name in options["patch"]
        }
        self.write_json(
            {
                "renewed": {"authority": done.authority, "serving": done.serving},
                "names": row.names if row else [],
                "notAfter": row.not_after.isoformat() if row else None,
                "patched": patched,
                "caBundle": ca_bundle(now=now),
            }
        )

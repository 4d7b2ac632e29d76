"""`manage.py load_cluster`: an offline cluster from kubectl output."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from django.utils import timezone
from django.utils.translation import gettext as _

from inventory.domain.gates import BadGates, parse_gates
from inventory.gateways.dumps import objects_in
from inventory.services.loading import BadInput, load_cluster
from portal.core.commands import PortalCommand

if TYPE_CHECKING:
    from django.core.management.base import CommandParser


class Command(PortalCommand):
    """Load an offline cluster from files, whole or not at all."""

    help = (
        "Load an offline cluster from kubectl output (a List or many documents, JSON"
        " or YAML, v1 or older). Replaces NAME atomically, or changes nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the name, the files, and what the server is like."""
        parser.add_argument("name", help="what the cluster is called here")
        parser.add_argument(
            "files", nargs="+", metavar="FILE", help="a path, or - for stdin"
        )
        parser.add_argument(
            "--kubernetes-version", default="1.37", help="1.34 to 1.37, or v1.37.2"
        )
        parser.add_argument(
            "--feature-gates",
            default="",
            help="A=true,B=false over the version's defaults",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Read every file before anything is written."""
        try:
            feature_gates = parse_gates(options["feature_gates"])
        except BadGates as error:
            raise BadInput(str(error)) from error
        objects = (
            body
            for path in options["files"]
            for body in objects_in(path, sys.stdin.buffer)
        )
        loaded = load_cluster(
            options["name"],
            objects,
            kubernetes_version=options["kubernetes_version"],
            feature_gates=feature_gates,
            now=timezone.now(),
        )
        if loaded.left_out:
            left = ", ".join(
                f"{n} {kind}" for kind, n in sorted(loaded.left_out.items())
            )
            self.stderr.write(_("left out: %(left)s") % {"left": left})
        counts = ", ".join(f"{n} {kind}" for kind, n in loaded.counts.items())
        self.stdout.write(f"{options['name']}: {counts or _('nothing')}")

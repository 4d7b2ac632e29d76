"""`manage.py check_claim`: diagnostics and preview of the claims in a file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from django.utils import timezone
from django.utils.translation import gettext as _

from claims.services.check_documents import (
    check_document,
    has_error,
    sarif,
    text_lines,
)
from claims.services.checking import check_file
from claims.services.filed import ITEMS, file_of
from inventory.gateways.files import BadFile, parse_objects, read_bytes
from inventory.gateways.lines import line_finders
from inventory.queries.clusters_by_name import cluster_named
from portal.core.commands import PortalCommand
from portal.core.freshness import stale_sentence

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.core.management.base import CommandParser

Json = dict[str, Any]


class Command(PortalCommand):
    """Check every claim, template and class of a file against a cluster."""

    help = (
        "Check each ResourceClaim, ResourceClaimTemplate and DeviceClass in FILE; every"
        " other object in it overrides the cluster's of that name, or adds to it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the cluster, the file and the format."""
        parser.add_argument("cluster")
        parser.add_argument("file", help="a path, or - for stdin")
        parser.add_argument(
            "--namespace", default="default", help="of objects without one"
        )
        parser.add_argument(
            "--format", choices=["text", "json", "sarif"], default="text"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Exit 1 where there is a finding of level error."""
        cluster = cluster_named(options["cluster"])
        if stale := stale_sentence(cluster, now=timezone.now()):
            self.stderr.write(stale)
        data = read_bytes(options["file"], sys.stdin.buffer)
        found = parse_objects(data, options["file"])
        filed = file_of(found, namespace=options["namespace"])
        if not filed.items and not filed.overlay:
            raise BadFile(
                _("%(file)s holds nothing that could be checked.")
                % {"file": options["file"]}
            )
        document = check_document(*check_file(cluster, filed), _lines(data, found))
        if options["format"] == "json":
            self.write_json(document)
        elif options["format"] == "sarif":
            self.write_json(sarif(document, options["file"]))
        else:
            self.stdout.write("\n".join(text_lines(document, options["file"])))
        if has_error(document):
            raise SystemExit(1)


def _lines(
    data: bytes, found: list[Json]
) -> list[Callable[[str, int], int | None] | None]:
    """Return a line finder for each item, in the file's order."""
    finders = line_finders(data)
    same = len(finders) == len(found)
    return [
        finders[i] if same else None
        for i, body in enumerate(found)
        if body.get("kind") in ITEMS
    ]

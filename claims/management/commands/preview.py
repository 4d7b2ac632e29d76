"""`manage.py preview`: what the scheduler would do with the claims of a file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from django.utils import timezone
from django.utils.translation import gettext as _

from claims.services.filed import file_of, identity_of, item_previews, together
from inventory.gateways.files import BadFile, read_objects
from inventory.queries.clusters_by_name import cluster_named
from portal.core.commands import PortalCommand
from portal.core.freshness import stale_sentence

if TYPE_CHECKING:
    from django.core.management.base import CommandParser

    from claims.services.filed import Filed
    from inventory.models import Cluster

Json = dict[str, Any]


class Command(PortalCommand):
    """Preview each claim of a file by itself, or all of them as one pod's."""

    help = "Say, node by node, what the scheduler would do with the claims in FILE."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the cluster, the file and how to ask."""
        parser.add_argument("cluster")
        parser.add_argument("file", help="a path, or - for stdin")
        parser.add_argument(
            "--together", action="store_true", help="as one pod's claims"
        )
        parser.add_argument(
            "--namespace", default="default", help="of objects without one"
        )
        parser.add_argument("--format", choices=["text", "json"], default="text")

    def handle(self, *args: Any, **options: Any) -> None:
        """Exit 0 even where nothing fits."""
        cluster = cluster_named(options["cluster"])
        if stale := stale_sentence(cluster, now=timezone.now()):
            self.stderr.write(stale)
        objects = read_objects(options["file"], sys.stdin.buffer)
        filed = file_of(objects, namespace=options["namespace"])
        if not filed.items:
            raise BadFile(
                _(
                    "%(file)s holds no ResourceClaim, ResourceClaimTemplate or DeviceClass."
                )
                % {"file": options["file"]}
            )
        items = (
            _together(cluster, filed) if options["together"] else _each(cluster, filed)
        )
        if options["format"] == "json":
            self.write_json({"items": items})
        else:
            self._write_text(items)

    def _write_text(self, items: list[Json]) -> None:
        for item in items:
            name = "/".join(filter(None, (item["namespace"], item["name"])))
            self.stdout.write(f"{item['kind']} {name}")
            if item["preview"] is None:
                self.stdout.write("  " + _("nothing to schedule"))
                continue
            for node, answer in item["preview"]["nodes"].items():
                self.stdout.write(f"  {node}: {_words(answer)}")


def _each(cluster: Cluster, filed: Filed) -> list[Json]:
    return [
        {**identity_of(item), "preview": found.document() if found else None}
        for item, found in zip(filed.items, item_previews(cluster, filed), strict=True)
    ]


def _together(cluster: Cluster, filed: Filed) -> list[Json]:
    if not filed.asked:
        raise BadFile(_("The file holds no claim that could be scheduled."))
    namespace = identity_of(filed.asked[0])["namespace"]
    found = together(cluster, filed)
    return [
        {"kind": "Pod", "namespace": namespace, "name": "", "preview": found.document()}
    ]


def _words(answer: Json) -> str:
    if answer["results"] is None:
        return ": ".join(filter(None, (answer["outcome"], answer["message"])))
    devices = [
        f"{result['request']} = {result['pool']}/{result['device']}"
        for allocation in answer["results"]
        for result in (allocation.get("devices") or {}).get("results") or []
    ]
    return f"{answer['outcome']} {', '.join(devices)}"

"""`manage.py cel`: one CEL expression over a cluster's devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _

from inventory.queries.clusters_by_name import cluster_named
from inventory.services.expressions import expression_document
from portal.core.commands import PortalCommand

if TYPE_CHECKING:
    from django.core.management.base import CommandParser


class Command(PortalCommand):
    """Judge an expression and count the devices that it matches."""

    help = "Compile a CEL expression, estimate its cost and evaluate it over a cluster."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the cluster, the expression and the format."""
        parser.add_argument("cluster")
        parser.add_argument("expression")
        parser.add_argument("--format", choices=["text", "json"], default="text")

    def handle(self, *args: Any, **options: Any) -> None:
        """Exit 1 where the API server or the scheduler would refuse it."""
        cluster = cluster_named(options["cluster"])
        document = expression_document(cluster, options["expression"])
        if options["format"] == "json":
            self.write_json(document)
        else:
            self._write_text(document)
        if not all(verdict["ok"] for verdict in document["compile"].values()):
            raise SystemExit(1)

    def _write_text(self, document: dict[str, Any]) -> None:
        for name, verdict in document["compile"].items():
            place = (
                f" ({verdict['line']}:{verdict['column']})" if verdict["line"] else ""
            )
            word = _("accepts it") if verdict["ok"] else verdict["error"] + place
            self.stdout.write(f"{name}: {word}")
        cost = _("unknown") if document["cost"] is None else f"{document['cost']:,}"
        self.stdout.write(
            _("cost: %(cost)s of %(limit)s")
            % {"cost": cost, "limit": f"{document['limit']:,}"}
        )
        if document["devices"] is None:
            return
        for name, tally in [
            (_("all"), document["devices"]),
            *document["nodes"].items(),
        ]:
            self.stdout.write(
                _("%(name)s: %(match)d match, %(noMatch)d do not, %(error)d fail")
                % {"name": name, **tally}
            )
        for error in document["errors"]:
            self.stdout.write(
                f"{error['count']} × {error['message']} ({error['example']})"
            )

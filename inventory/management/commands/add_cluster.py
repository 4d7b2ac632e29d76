"""`manage.py add_cluster`: a cluster with an API server, by its kubeconfig."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _

from inventory.services.adding import NotAdded, add_cluster
from inventory.services.metering import set_prometheus
from portal.core.commands import PortalCommand
from portal.core.outward import check_address

if TYPE_CHECKING:
    from django.core.management.base import CommandParser


class Command(PortalCommand):
    """Add a live or simulated cluster, or give one a new kubeconfig."""

    help = (
        "Add a cluster by its kubeconfig, which is tried first and stored encrypted."
        " A second time it replaces the kubeconfig of that name."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the name, the kubeconfig and what the server is."""
        parser.add_argument("name", help="what the cluster is called here")
        parser.add_argument("kubeconfig", nargs="?", type=Path, help="its path")
        parser.add_argument("--context", default="", help="its current one by default")
        parser.add_argument(
            "--in-cluster",
            action="store_true",
            help="use the service account of the pod that this runs in",
        )
        parser.add_argument(
            "--simulated", action="store_true", help="the server is the simulated one"
        )

        parser.add_argument(
            "--prometheus",
            metavar="URL",
            help="where the cluster's Prometheus is, for what cards really use;"
            ' "" for none',
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Try the server, store the kubeconfig, say what was done."""
        if bool(options["kubeconfig"]) == options["in_cluster"]:
            raise NotAdded(_("Give either a kubeconfig or --in-cluster."))
        if options["prometheus"]:
            check_address(options["prometheus"])
        added = add_cluster(
            options["name"],
            options["kubeconfig"],
            context=options["context"],
            simulated=options["simulated"],
        )
        if options["prometheus"] is not None:
            set_prometheus(added.cluster, options["prometheus"])
        text = (
            _("%(name)s: %(version)s, replaced")
            if added.replaced
            else _("%(name)s: %(version)s, added")
        )
        values = {
            "name": added.cluster.name,
            "version": added.cluster.kubernetes_version,
        }
        self.stdout.write(text % values)

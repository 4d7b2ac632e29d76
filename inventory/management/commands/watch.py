"""`manage.py watch [CLUSTER…]`: keep the record of clusters as they are."""

from __future__ import annotations

import signal
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _

from inventory.gateways.package import load_package
from inventory.models import Cluster
from inventory.services.watching.fleet import Watchers, accept_removals
from portal.core import counting, logs
from portal.core.commands import PortalCommand
from portal.core.errors import PortalError
from portal.core.garbage import spare_what_is_imported
from portal.core.heartbeats import beat

if TYPE_CHECKING:
    from django.core.management.base import CommandParser


class NotWatched(PortalError):
    """A name that is no cluster with an API server."""

    code = "inventory.not_watched"


class Command(PortalCommand):
    """Watch live and simulated clusters until stopped."""

    help = (
        "Watch clusters and keep their record up to date until stopped. Any number"
        " may run: one leads each cluster, the others wait to take over."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the clusters' names and the one-off."""
        parser.add_argument(
            "clusters", nargs="*", metavar="CLUSTER", help="all, where none is named"
        )
        parser.add_argument(
            "--accept-removals",
            action="store_true",
            help="let a held list be taken over although many devices vanish, and end",
        )

    def handle(self, *args: Any, clusters: list[str], **options: Any) -> None:
        """Watch until SIGTERM or SIGINT."""
        self._check(clusters)
        if options["accept_removals"]:
            return self._accept(clusters)
        logs.configure()
        counting.start()
        # Before it leads: whoever takes a cluster over reads it at once.
        load_package()
        spare_what_is_imported()
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        Watchers(clusters).run(stop, sign=partial(beat, "watcher"))
        return None

    def _check(self, names: list[str]) -> None:
        kinds = dict(Cluster.objects.filter(name__in=names).values_list("name", "kind"))
        for name in names:
            if name not in kinds:
                text = _(
                    "There is no cluster %(name)s: add it with manage.py add_cluster."
                )
                raise NotWatched(text % {"name": name})
            if kinds[name] == Cluster.Kind.OFFLINE:
                text = _(
                    "%(name)s was loaded from files: load it again with manage.py"
                    " load_cluster."
                )
                raise NotWatched(text % {"name": name})

    def _accept(self, names: list[str]) -> None:
        if not names:
            raise NotWatched(_("Name the clusters whose removals you accept."))
        for cluster in Cluster.objects.filter(name__in=names):
            kinds = accept_removals(cluster)
            self.stdout.write(
                f"{cluster.name}: {', '.join(kinds) or _('nothing is held')}"
            )

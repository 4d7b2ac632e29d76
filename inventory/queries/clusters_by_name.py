"""A cluster by the name that a person typed."""

from __future__ import annotations

from django.utils.translation import gettext as _

from inventory.models import Cluster
from portal.core.errors import PortalError


class NoSuchCluster(PortalError):
    """No cluster has that name."""

    code = "inventory.no_such_cluster"


def cluster_named(name: str) -> Cluster:
    """Return a cluster by name; one query, two where there is none.

    Raises:
        NoSuchCluster: There is none; the sentence lists those that there are.
    """
    cluster = Cluster.objects.filter(name=name).first()
    if cluster is None:
        known = ", ".join(
            Cluster.objects.order_by("name").values_list("name", flat=True)
        )
        raise NoSuchCluster(
            _("There is no cluster %(name)s. Known: %(known)s.")
            % {"name": name, "known": known or _("none; load one with load_cluster")}
        )
    return cluster

"""What every view of a cluster begins with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import Http404
from django.utils.translation import gettext as _

from inventory.queries.clusters import find_cluster, viewer_of
from portal.accounts.domain.roles import Permission
from portal.accounts.domain.scopes import Scope
from portal.api.operations import Operation
from portal.api.views import ApiView

if TYPE_CHECKING:
    from inventory.domain.visibility import Viewer
    from inventory.models import Cluster


def reading(**more: Any) -> Operation:
    """Return an operation that reads inventory."""
    return Operation(
        scope=Scope.INVENTORY_READ,
        permission=Permission.SEE_INVENTORY,
        tag="inventory",
        **more,
    )


class ClusterView(ApiView):
    """A view of one cluster."""

    def cluster(self) -> Cluster:
        """Return the address's cluster.

        Raises:
            Http404: There is none of that name.
        """
        name = self.kwargs["cluster"]
        found = find_cluster(name)
        if found is None:
            raise Http404(
                _("There is no cluster of the name “%(name)s”.") % {"name": name}
            )
        return found

    def viewer(self) -> Viewer:
        """Return what the caller may see of the cluster's holders."""
        return viewer_of(self.person, self.kwargs["cluster"])

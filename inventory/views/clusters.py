"""The clusters, and what an admin sets of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from inventory.queries.clusters import cluster_rows
from inventory.queries.meters import meters_of
from inventory.services.metering import read, set_prometheus
from inventory.views.base import answer, cluster_named, page
from inventory.views.filters import text_in
from portal.accounts.decorators import requires
from portal.accounts.domain.roles import Permission
from portal.core.outward import LONGEST, AddressRefused

if TYPE_CHECKING:
    from django.http import HttpResponse

    from inventory.models import Cluster
    from portal.core.http import PortalRequest


@page
def cluster_list(request: PortalRequest) -> HttpResponse:
    """Show every cluster, how fresh its picture is, and what of it is not seen."""
    now = timezone.now()
    rows = [(row, meters_of(row.cluster, now)) for row in cluster_rows()]
    context = {"nav": "clusters", "rows": rows}
    return answer(request, "cluster_list.html", "cluster-table", context)


@require_POST
@requires(Permission.MANAGE_CLUSTERS)
def prometheus_set(request: PortalRequest, cluster: str) -> HttpResponse:
    """Keep where a cluster's Prometheus is, and ask it at once."""
    found = cluster_named(cluster)
    try:
        set_prometheus(found, text_in(request.POST, "url", LONGEST + 1))
    except AddressRefused as error:
        messages.error(request, error.message)
    else:
        _say(request, found.prometheus_url, answered=_is_answered(found))
    return HttpResponseRedirect(reverse("inventory:cluster-list"))


def _is_answered(cluster: Cluster) -> bool:
    return bool(cluster.prometheus_url) and read(cluster, now=timezone.now())


def _say(request: PortalRequest, url: str, *, answered: bool) -> None:
    if not url:
        messages.success(request, _("What cards use is not asked for any more."))
    elif answered:
        messages.success(request, _("The address is kept, and Prometheus answers."))
    else:
        messages.warning(
            request,
            _("The address is kept, but Prometheus does not answer; see below."),
        )

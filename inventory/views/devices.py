"""The list of devices, and one device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import Http404
from django.utils.translation import gettext as _

from inventory.queries import devices
from inventory.queries.clusters import viewer_of
from inventory.views.base import answer, cluster_named, page, without
from inventory.views.filters import device_filter

if TYPE_CHECKING:
    from django.http import HttpResponse

    from portal.core.http import PortalRequest


@page
def device_list(request: PortalRequest, cluster: str) -> HttpResponse:
    """Show the devices that a filter leaves, a page at a time."""
    found = cluster_named(cluster)
    wanted = device_filter(request.GET)
    viewer = viewer_of(request.user, cluster)
    context = {
        "cluster": found,
        "nav": "devices",
        "wanted": wanted,
        "page": devices.device_page(
            found, viewer, wanted, request.GET.get("after", "")
        ),
        "after": request.GET.get("after", ""),
        "query": without(request.GET, "after"),
    }
    return answer(request, "device_list.html", "device-rows", context)


@page
def device_detail(
    request: PortalRequest, cluster: str, driver: str, pool: str, name: str
) -> HttpResponse:
    """Show one device with everything that is known of it."""
    found = cluster_named(cluster)
    viewer = viewer_of(request.user, cluster)
    detail = devices.device_detail(found, viewer, (driver, pool, name))
    if detail is None:
        raise Http404(
            _(
                "No slice of “%(cluster)s” publishes the device %(driver)s/%(pool)s/%(name)s now."
            )
            % {"cluster": cluster, "driver": driver, "pool": pool, "name": name}
        )
    context = {"cluster": found, "nav": "devices", "detail": detail}
    return answer(request, "device_detail.html", "device-live", context)

"""The list of devices, and one device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _

from inventory.queries import devices
from inventory.queries.clusters import viewer_of
from inventory.queries.history import card_history
from inventory.views.base import answer, cluster_named, page, without
from inventory.views.filters import device_filter, text_in

if TYPE_CHECKING:
    from django.http import HttpResponse

    from portal.core.http import PortalRequest


@page
def device_list(request: PortalRequest, cluster: str) -> HttpResponse:
    """Show the devices that a filter leaves, a page at a time."""
    found = cluster_named(cluster)
    wanted = device_filter(request.GET)
    viewer = viewer_of(request.user, cluster)
    after = text_in(request.GET, "after", 1_000)
    context = {
        "cluster": found,
        "nav": "devices",
        "wanted": wanted,
        "page": devices.device_page(found, viewer, wanted, after),
        "after": after,
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
    key = driver, pool, name
    named = not any("\0" in part for part in key)
    detail = devices.device_detail(found, viewer, key) if named else None
    if detail is None:
        raise Http404(
            _(
                "No slice of “%(cluster)s” publishes the device %(driver)s/%(pool)s/%(name)s now."
            )
            % {"cluster": cluster, "driver": driver, "pool": pool, "name": name}
        )
    card = detail.card
    key = (card.driver, card.pool, card.name) if card else key
    context = {
        "cluster": found,
        "nav": "devices",
        "detail": detail,
        "charts": card_history(found, key, timezone.now()) if card else [],
    }
    return answer(request, "device_detail.html", "device-live", context)

"""The list of devices, and one device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _

from inventory.domain.selectors import selector_of
from inventory.queries import devices
from inventory.queries.clusters import viewer_of
from inventory.queries.device_search import DeviceSearch
from inventory.queries.explorer import explorer_page, keys_seen, values_seen
from inventory.queries.history import card_history
from inventory.services.explorer import ask
from inventory.views.base import answer, cluster_named, page, without
from inventory.views.filters import chosen_attributes, device_filter, text_in

if TYPE_CHECKING:
    from django.http import HttpResponse, QueryDict

    from inventory.models import Cluster
    from inventory.queries.devices import DevicePage
    from inventory.services.explorer import Asked
    from inventory.views.filters import Attributes
    from portal.core.http import PortalRequest

# As long as a selector may be.
LONGEST_EXPRESSION = 10 * 1024


@page
def device_list(request: PortalRequest, cluster: str) -> HttpResponse:
    """Show the devices that a filter leaves, a page at a time."""
    found = cluster_named(cluster)
    wanted = device_filter(request.GET)
    chosen = chosen_attributes(request.GET)
    asked = ask(found, text_in(request.GET, "cel", LONGEST_EXPRESSION))
    search = DeviceSearch(wanted, chosen, asked.matches if asked else None)
    after = text_in(request.GET, "after", 4_000)
    viewer = viewer_of(request.user, cluster)
    shown = explorer_page(found, viewer, search, after)
    context = {
        "cluster": found,
        "nav": "devices",
        "wanted": wanted,
        "asked": asked,
        "active": wanted.active or bool(asked or chosen),
        "chosen": _chips(request.GET, chosen),
        "page": shown,
        "after": after,
        "query": without(request.GET, "after"),
        "selector": _selector(wanted.driver, chosen, asked, shown),
        **_values(found, request.GET),
    }
    return answer(request, "device_list.html", "device-rows", context)


def _chips(query: QueryDict, chosen: Attributes) -> list[dict[str, str]]:
    """Return the chosen attribute values, each with the address without it."""
    chips = []
    for key, value in chosen:
        others = [f"{k}={v}" for k, v in chosen if (k, v) != (key, value)]
        rest = query.copy()
        rest.setlist("has", others)
        rest.pop("after", None)
        chips.append({"key": key, "value": value, "without": rest.urlencode()})
    return chips


def _values(cluster: Cluster, query: QueryDict) -> dict[str, Any]:
    """Return what the panel of attributes needs, where it is open."""
    if "attribute" not in query:
        return {"browsing": False}
    key = text_in(query, "attribute", 400)
    rest = query.copy()
    rest.pop("after", None)
    return {
        "browsing": True,
        "attribute": key,
        "keys": keys_seen(cluster),
        "values": values_seen(cluster, key) if key else [],
        "query_values": rest.urlencode(),
        "query_keys": without(query, "after", "attribute"),
    }


def _selector(
    driver: str, chosen: Attributes, asked: Asked | None, shown: DevicePage
) -> str:
    """Return the filter as a selector, "" where there is none or nothing is found.

    The type of an attribute is that of the first device that is shown.
    """
    if not shown.rows or (asked and asked.matches is None):
        return ""
    published = shown.rows[0].device.attributes
    entries = [(key, published.get(key)) for key, _value in chosen]
    return selector_of(driver, entries, asked.expression if asked else "")


@page
def device_detail(
    request: PortalRequest, cluster: str, driver: str, pool: str, name: str
) -> HttpResponse:
    """Show one device with everything that is known of it."""
    found = cluster_named(cluster)
    viewer = viewer_of(request.user, cluster)
    key = driver, pool, name
    named = not any("\0" in part for part in key)
    now = timezone.now()
    detail = devices.device_detail(found, viewer, key, now) if named else None
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
        "charts": card_history(found, key, now) if card else [],
    }
    return answer(request, "device_detail.html", "device-live", context)

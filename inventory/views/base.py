"""What every page of a cluster begins with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.http import Http404
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET
from django.views.decorators.vary import vary_on_headers

from inventory.queries.clusters import find_cluster
from portal.core.http import PortalRequest, fragment

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpResponse, QueryDict

    from inventory.models import Cluster

    View = Callable[..., HttpResponse]


def page(view: View) -> View:
    """Make a view a GET page of which htmx gets the live part alone."""
    return require_GET(vary_on_headers("HX-Request")(view))


def cluster_named(name: str) -> Cluster:
    """Return a cluster, or answer 404 in words."""
    cluster = None if "\0" in name else find_cluster(name)
    if cluster is None:
        raise Http404(_("There is no cluster of the name “%(name)s”.") % {"name": name})
    return cluster


def answer(
    request: PortalRequest, template: str, part: str, context: dict[str, Any]
) -> HttpResponse:
    """Render a page, or its live part."""
    return render(request, fragment(f"inventory/{template}", part, request), context)


def without(query: QueryDict, *names: str) -> str:
    """Return a query string without some parameters and without empty ones."""
    kept = [
        (key, value)
        for key, values in query.lists()
        for value in values
        if key not in names and value
    ]
    return urlencode(kept)

"""Parts of the composer that are asked for alone: the builder, and what is free."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from django.http import HttpResponseBadRequest
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from claims.services.available import free_now, quotas_of
from claims.services.building import started
from claims.services.catalogue import seen_keys
from claims.services.composing import offers_of
from inventory.models import Cluster
from portal.accounts.decorators import requires
from portal.accounts.domain.roles import Permission

if TYPE_CHECKING:
    from django.http import HttpResponse

    from portal.core.http import PortalRequest

_CAPACITY = re.compile(
    r"(?P<place>requests-\d{1,3}-alternatives-\d{1,3})-capacity-(?P<k>\d{1,3})-value"
)


@requires(Permission.COMPOSE)
@require_POST
def compose_builder(request: PortalRequest, cluster: str) -> HttpResponse:
    """Answer with the builder of the alternative that `at` names, as in "0:1"."""
    row = get_object_or_404(Cluster, name=cluster)
    place = request.POST.get("at", "")
    if not all(part.isdecimal() for part in place.split(":", 1)):
        return HttpResponseBadRequest(_("“at” names no alternative of this form."))
    context = {
        "cluster": row,
        "place": place,
        "slot": place.replace(":", "-"),
        "built": started(row, dict(request.POST.lists()), place),
        "words": seen_keys(row),
    }
    return render(request, "claims/compose_builder.html", context)


@requires(Permission.COMPOSE)
@require_POST
def compose_given(request: PortalRequest, cluster: str) -> HttpResponse:
    """Answer with what a device's policy makes of the amount in the field `judge`."""
    row = get_object_or_404(Cluster, name=cluster)
    name = request.POST.get("judge", "")
    found = _CAPACITY.fullmatch(name)
    if not found:
        return HttpResponseBadRequest(_("“judge” names no capacity of this form."))
    asked = request.POST.get(name, "").strip()
    chosen = request.POST.get(f"{found['place']}-class", "")
    key = request.POST.get(f"{found['place']}-capacity-{found['k']}-key", "")
    offer = offers_of(row, [chosen]).by_class.get(chosen)
    known = [each for each in (offer.capacity if offer else ()) if each.key == key]
    given = known[0].given_for(asked) if known and asked else ()
    context = {"asked": asked, "given": given}
    return render(request, "claims/compose_given.html", context)


@requires(Permission.COMPOSE)
@require_GET
def compose_availability(request: PortalRequest, cluster: str) -> HttpResponse:
    """Answer with what is free of each class, and what quota leaves."""
    row = get_object_or_404(Cluster, name=cluster)
    namespace = request.GET.get("namespace", "")
    context = {
        "uses": free_now(row),
        "quotas": quotas_of(request.user, row, namespace),
        "namespace": namespace,
    }
    return render(request, "claims/compose_availability.html", context)

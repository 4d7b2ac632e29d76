"""What workloads need of their cards: admins ask, owners tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from inventory.domain.quantity import GIB
from inventory.views.base import cluster_named
from portal.accounts.decorators import requires
from portal.accounts.domain.roles import Permission
from portal.adoption.services.needs import (
    MOST_ASKED,
    NeedChanged,
    NeedRefused,
    WorkloadUse,
    ask_owners,
    gib_of,
    own_workload_uses,
    tell_need,
    workload_uses,
)
from portal.core.errors import PortalError
from portal.core.problems import status_of

if TYPE_CHECKING:
    from django.http import HttpResponse

    from inventory.models import Cluster
    from portal.adoption.domain.savings import Workload
    from portal.core.http import PortalRequest


@requires(Permission.COMPOSE)
@require_http_methods(["GET", "POST"])
def needs_page(request: PortalRequest, cluster: str) -> HttpResponse:
    """Show a person's workloads on whole cards; keep what they tell of them."""
    found = cluster_named(cluster)
    context: dict[str, Any] = {"cluster": found, "nav": "convert"}
    status = 200
    if request.method == "POST":
        try:
            count = _told(request, found)
        except PortalError as error:
            context["problem"], status = error.message, status_of(error)
        else:
            messages.success(request, _said(count))
            return HttpResponseRedirect(reverse("adoption:needs", args=[found.name]))
    uses = own_workload_uses(found, request.user)
    context["rows"] = [(each, _written(request, each)) for each in uses]
    context["is_seen"] = found.sees("Pod", "Node")
    context["open"] = sum(_is_open(each) for each in uses)
    return render(request, "adoption/needs.html", context, status=status)


@requires(Permission.MANAGE_CLUSTERS)
@require_POST
def needs_ask(request: PortalRequest, cluster: str) -> HttpResponse:
    """Ask the owners of what is ticked, or of all that nobody was asked about."""
    found = cluster_named(cluster)
    keys = [_key(text) for text in request.POST.getlist("workload")]
    if request.POST.get("action") == "all":
        rows = workload_uses(found, request.user)
        open_ones = [use for use in rows if not use.source and not use.row]
        keys = [_key(use.key) for use in open_ones[:MOST_ASKED]]
    try:
        count, orphans = ask_owners(
            found,
            keys,
            user=request.user,
            request_id=request.request_id,
            now=timezone.now(),
        )
    except PortalError as error:
        messages.error(request, error.message)
    else:
        _say_asked(request, count, orphans)
    return HttpResponseRedirect(reverse("adoption:savings", args=[found.name]))


def _told(request: PortalRequest, cluster: Cluster) -> int:
    """Keep every field that says something new, or none of them; return how many."""
    count = 0
    with transaction.atomic():
        for each in own_workload_uses(cluster, request.user):
            text = _written(request, each)
            if not text or text == _stored(each):
                continue
            try:
                tell_need(
                    cluster,
                    _key(each.key),
                    gib_of(text),
                    version=_version(request, each),
                    user=request.user,
                    request_id=request.request_id,
                    now=timezone.now(),
                )
            except (NeedRefused, NeedChanged) as error:
                text = f"{each.key}: {error.message}"
                raise type(error)(text, code=error.code) from error
            count += 1
    return count


def _version(request: PortalRequest, use: WorkloadUse) -> int:
    text = request.POST.get(f"version:{use.key}", "")
    if not (text.isascii() and text.isdecimal()):
        raise NeedRefused(_("Fill the form of this page in, and send it from there."))
    return int(text)


def _written(request: PortalRequest, use: WorkloadUse) -> str:
    """Return what stands in a workload's field: what was typed, else what is kept."""
    typed = request.POST.get(f"gib:{use.key}")
    return _stored(use) if typed is None else typed.strip()


def _stored(use: WorkloadUse) -> str:
    memory = use.row.memory if use.row else None
    return "" if memory is None else f"{memory / GIB:.10g}"


def _is_open(use: WorkloadUse) -> bool:
    return bool(use.row and use.row.memory is None)


def _key(text: str) -> Workload:
    namespace, _slash, rest = text.partition("/")
    kind, _slash, name = rest.partition("/")
    return namespace, kind, name


def _said(count: int) -> str:
    if not count:
        return _("Nothing new was filled in.")
    return ngettext(
        "The need of %(n)d workload is kept.",
        "The needs of %(n)d workloads are kept.",
        count,
    ) % {"n": count}


def _say_asked(request: PortalRequest, count: int, orphans: tuple[str, ...]) -> None:
    if count:
        text = ngettext(
            "The owner of %(n)d workload is asked.",
            "The owners of %(n)d workloads are asked.",
            count,
        )
        messages.success(request, text % {"n": count})
    if orphans:
        text = _("Nobody to ask, since these namespaces are no tenant’s: %(names)s.")
        messages.error(request, text % {"names": ", ".join(orphans)})

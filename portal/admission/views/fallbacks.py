"""Fallbacks on pages of their own: make one, change one, switch one off; for admins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from portal.accounts.decorators import requires
from portal.accounts.domain.roles import Permission
from portal.admission.forms import FallbackForm
from portal.admission.models import Fallback
from portal.admission.services.editing import change_fallback, make_fallback
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from datetime import datetime

    from django.http import HttpResponse

    from portal.core.http import PortalRequest

may_manage = requires(Permission.MANAGE_ADMISSION)


@require_http_methods(["GET", "POST"])
@may_manage
def fallback_new(request: PortalRequest) -> HttpResponse:
    """Show an empty form; on POST make a fallback."""
    is_sent = request.method == "POST"
    start = {"needs_advice": True, "is_enabled": True}
    form = FallbackForm(request.POST if is_sent else None, initial=start)
    if is_sent and form.is_valid():
        try:
            make_fallback(
                name=form.cleaned_data["name"],
                cluster=form.cleaned_data["cluster"],
                fields=form.columns(),
                by=request.user.username,
                now=timezone.now(),
            )
        except PortalError as error:
            form.add_error(None, error.message)
        else:
            return _back(request)
    return _shown(request, form, None)


@require_http_methods(["GET", "POST"])
@may_manage
def fallback_detail(request: PortalRequest, name: str) -> HttpResponse:
    """Show a fallback to change; on POST change it, unless somebody did meanwhile."""
    row = get_object_or_404(Fallback.objects.select_related("cluster"), name=name)
    is_sent = request.method == "POST"
    form = FallbackForm(request.POST if is_sent else None, initial=_start(row), row=row)
    if is_sent and form.is_valid():
        fields = {**form.columns(), "cluster": form.cleaned_data["cluster"]}
        try:
            _change(request, row, form.cleaned_data["seen"], fields)
        except PortalError as error:
            form.add_error(None, error.message)
        else:
            return _back(request)
    return _shown(request, form, row)


@require_POST
@may_manage
def fallback_switch(request: PortalRequest, name: str) -> HttpResponse:
    """Switch a fallback off or on."""
    row = get_object_or_404(Fallback, name=name)
    fields = {"is_enabled": request.POST.get("is_enabled") == "true"}
    try:
        _change(request, row, request.POST.get("seen", ""), fields)
    except PortalError as error:
        messages.error(request, error.message)
        return HttpResponseRedirect(reverse("admission:overview"))
    return _back(request)


def _change(
    request: PortalRequest, row: Fallback, seen: str, fields: dict[str, Any]
) -> None:
    change_fallback(
        row,
        seen=_moment(seen) or row.changed_at.min.replace(tzinfo=row.changed_at.tzinfo),
        fields=fields,
        by=request.user.username,
        now=timezone.now(),
    )


def _moment(text: str) -> datetime | None:
    try:
        found = parse_datetime(text)
    except ValueError:
        return None
    return found if found and found.tzinfo else None


def _start(row: Fallback) -> dict[str, Any]:
    return {
        "name": row.name,
        "cluster": row.cluster.name if row.cluster else "",
        "device_class": row.device_class,
        "alternatives": row.alternatives,
        "namespaces": ", ".join(row.namespaces),
        "needs_advice": row.needs_advice,
        "is_enabled": row.is_enabled,
        "seen": row.changed_at.isoformat(),
    }


def _shown(
    request: PortalRequest, form: FallbackForm, row: Fallback | None
) -> HttpResponse:
    context = {"nav": "admission", "form": form, "fallback": row}
    status = 422 if form.is_bound else 200
    return render(request, "admission/fallback_form.html", context, status=status)


def _back(request: PortalRequest) -> HttpResponse:
    messages.success(request, _("Saved."))
    return HttpResponseRedirect(reverse("admission:overview"))

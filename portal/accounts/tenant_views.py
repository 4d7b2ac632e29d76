"""Tenants: their members and namespaces, seen by members and changed by administrators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from portal.accounts.decorators import requires
from portal.accounts.domain.roles import Permission
from portal.accounts.models import Tenant
from portal.accounts.people_forms import TenantForm
from portal.accounts.tenants import (
    TenantRefused,
    change_tenant,
    make_tenant,
    remove_tenant,
    tenants_for,
)
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from django.http import HttpResponse

    from portal.core.http import PortalRequest

may_manage = requires(Permission.MANAGE_PEOPLE)


@require_GET
def tenant_list(request: PortalRequest) -> HttpResponse:
    """Show one's own teams, or all to whoever may see them."""
    context = {
        "nav": "tenants",
        "tenants": tenants_for(request.user),
        "may_change": request.user.may(Permission.MANAGE_PEOPLE),
    }
    return render(request, "accounts/tenant_list.html", context)


@may_manage
@require_http_methods(["GET", "POST"])
def tenant_new(request: PortalRequest) -> HttpResponse:
    """Show the form of a new team, or make it."""
    form = TenantForm(None, request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            made = make_tenant(
                form.cleaned_data["name"],
                form.wanted,
                actor=request.user,
                request_id=request.request_id,
            )
        except TenantRefused as error:
            form.add_error(error.field or None, error.message)
        else:
            messages.success(request, _("The team is there."))
            return _to(made)
    return _form(request, form, None, status=422 if form.is_bound else 200)


@require_GET
def tenant_detail(request: PortalRequest, name: str) -> HttpResponse:
    """Show who is in a team, which namespaces are its own, and its group."""
    tenant = get_object_or_404(tenants_for(request.user), name=name)
    people = tenant.members.filter(is_active=True).order_by("username")
    context = {
        "nav": "tenants",
        "tenant": tenant,
        "people": people,
        "places": tenant.namespaces.order_by("cluster", "namespace"),
        "may_change": request.user.may(Permission.MANAGE_PEOPLE),
        "mappings": tenant.mappings.order_by("group"),
    }
    return render(request, "accounts/tenant_detail.html", context)


@may_manage
@require_http_methods(["GET", "POST"])
def tenant_edit(request: PortalRequest, name: str) -> HttpResponse:
    """Show the form of a team, or change it, unless somebody did so meanwhile."""
    tenant = get_object_or_404(Tenant, name=name)
    form = TenantForm(tenant, request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            change_tenant(
                tenant,
                form.wanted,
                version=form.cleaned_data["version"] or 0,
                reason=form.cleaned_data["reason"],
                actor=request.user,
                request_id=request.request_id,
            )
        except TenantRefused as error:
            form.add_error(error.field or None, error.message)
        except PortalError as error:
            return _form(request, form, tenant, status=409, problem=error.message)
        else:
            messages.success(request, _("The team is changed."))
            return _to(tenant)
    return _form(request, form, tenant, status=422 if form.is_bound else 200)


@may_manage
@require_POST
def tenant_remove(request: PortalRequest, name: str) -> HttpResponse:
    """Remove a team that nothing was ever asked for."""
    tenant = get_object_or_404(Tenant, name=name)
    version = request.POST.get("version", "")
    try:
        remove_tenant(
            tenant,
            version=int(version) if version.isdecimal() and len(version) < 9 else 0,
            reason="",
            actor=request.user,
            request_id=request.request_id,
        )
    except PortalError as error:
        form = TenantForm(tenant)
        return _form(request, form, tenant, status=409, problem=error.message)
    messages.success(request, _("The team is removed."))
    return HttpResponseRedirect(reverse("accounts:tenant-list"))


def _form(
    request: PortalRequest,
    form: TenantForm,
    tenant: Tenant | None,
    *,
    status: int,
    **more: Any,
) -> HttpResponse:
    context = {"nav": "tenants", "form": form, "tenant": tenant, **more}
    return render(request, "accounts/tenant_form.html", context, status=status)


def _to(tenant: Tenant) -> HttpResponseRedirect:
    return HttpResponseRedirect(reverse("accounts:tenant-detail", args=[tenant.name]))

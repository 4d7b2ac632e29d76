"""Service accounts of one's tenants, and their tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import Http404, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from portal.accounts.forms import ServiceAccountForm, TokenForm
from portal.accounts.queries import service_accounts_of
from portal.accounts.services import end_service_account, make_service_account
from portal.accounts.tokens import make_token, revoke_token, tokens_of
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpResponse

    from portal.accounts.models import User
    from portal.core.http import PortalRequest


@require_http_methods(["GET", "POST"])
def service_list(request: PortalRequest) -> HttpResponse:
    """Show the service accounts of one's tenants; on POST make one."""
    form = ServiceAccountForm(request.user, request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            made = make_service_account(**form.cleaned_data)
        except PortalError as error:
            form.add_error("name", error.message)
        else:
            return _to(made)
    context = {
        "nav": "tokens",
        "form": form,
        "accounts": service_accounts_of(request.user),
    }
    status = 422 if form.is_bound else 200
    return render(request, "accounts/service_list.html", context, status=status)


@never_cache
@require_http_methods(["GET", "POST"])
def service_detail(request: PortalRequest, pk: int) -> HttpResponse:
    """Show an account's tokens; on POST make one and show it, this once."""
    account = _own(request, pk)
    made = ""
    form = TokenForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        _row, made = make_token(user=account, **given, now=timezone.now())
        form = TokenForm()
    status = 422 if form.is_bound else 200
    context = {
        "nav": "tokens",
        "account": account,
        "form": form,
        "made": made,
        "tokens": tokens_of(account),
        "now": timezone.now(),
    }
    return render(request, "accounts/service_detail.html", context, status=status)


@require_POST
def service_end(request: PortalRequest, pk: int) -> HttpResponse:
    """End an account of one's tenant, with its tokens."""
    end_service_account(_own(request, pk), now=timezone.now())
    messages.success(request, _("The account was ended; its tokens work no longer."))
    return HttpResponseRedirect(reverse("accounts:service-list"))


@require_POST
def service_revoke(request: PortalRequest, pk: int, public_id: UUID) -> HttpResponse:
    """End one token of an account."""
    account = _own(request, pk)
    if not revoke_token(user=account, public_id=public_id, now=timezone.now()):
        raise Http404
    messages.success(request, _("The token was revoked; it works no longer."))
    return _to(account)


def _own(request: PortalRequest, pk: int) -> User:
    return get_object_or_404(service_accounts_of(request.user), pk=pk)


def _to(account: User) -> HttpResponseRedirect:
    return HttpResponseRedirect(reverse("accounts:service-detail", args=[account.pk]))

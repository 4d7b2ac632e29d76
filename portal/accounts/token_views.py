"""The page of one's own API tokens: make one, see them, end one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import Http404, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from portal.accounts.forms import TokenForm
from portal.accounts.tokens import make_token, revoke_token, tokens_of

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpResponse

    from portal.core.http import PortalRequest


@never_cache
@require_http_methods(["GET", "POST"])
def token_list(request: PortalRequest) -> HttpResponse:
    """Show one's tokens; on POST make one and show it, this once."""
    made = ""
    form = TokenForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        _row, made = make_token(
            user=request.user,
            name=given["name"],
            scopes=given["scopes"],
            days=given["days"],
            addresses=given["addresses"],
            now=timezone.now(),
        )
        form = TokenForm()
    status = 422 if form.is_bound else 200
    context = {
        "nav": "tokens",
        "form": form,
        "made": made,
        "tokens": tokens_of(request.user),
        "now": timezone.now(),
    }
    return render(request, "accounts/tokens.html", context, status=status)


@require_POST
def token_revoke(request: PortalRequest, public_id: UUID) -> HttpResponse:
    """End one of one's own tokens."""
    if not revoke_token(user=request.user, public_id=public_id, now=timezone.now()):
        raise Http404
    messages.success(request, _("The token was revoked; it works no longer."))
    return HttpResponseRedirect(reverse("accounts:token-list"))

"""Signed in, or sent to sign in, and with a second factor where a role demands one.

Fragments and streams are told in their own way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.auth import middleware
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import resolve_url
from django.urls import reverse
from django.utils.deprecation import MiddlewareMixin
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django_htmx.http import HttpResponseClientRedirect

from portal.accounts import second_factor
from portal.core.errors import PortalError
from portal.core.problems import API, problem_response

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest


class LoginRequiredMiddleware(middleware.LoginRequiredMiddleware):
    """Django's own, but never a sign-in page inside a fragment or an event stream."""

    def handle_no_permission(self, request: HttpRequest, view_func: Any) -> Any:
        """Redirect a page, make htmx redirect the whole page, refuse a stream (401)."""
        if request.headers.get("Accept") == "text/event-stream":
            return HttpResponse(status=401)
        if request.headers.get("HX-Request") == "true":
            here = request.headers.get("HX-Current-URL", "/")
            query = urlencode({"next": here})
            return HttpResponseClientRedirect(
                f"{resolve_url(self.get_login_url(view_func))}?{query}"
            )
        return super().handle_no_permission(request, view_func)


# What one does to get a second factor, or to leave.
_OPEN = frozenset(
    f"accounts:{name}"
    for name in (
        *("account", "password-change", "factor-begin", "factor", "factor-image"),
        *("sign-out", "language", "theme"),
    )
) | {"api:openapi"}


class SecondFactorMiddleware(MiddlewareMixin):
    """Leads whoever must have a second factor, and has none, to where one gets it."""

    def __init__(self, get_response: Callable[[Any], Any]) -> None:
        if not settings.SLICEWISE_SECOND_FACTOR_ROLES:
            raise MiddlewareNotUsed
        super().__init__(get_response)

    def process_view(
        self, request: HttpRequest, view: Any, args: Any, kwargs: Any
    ) -> HttpResponse | None:
        """Let pass, or refuse in the way that whoever asks understands."""
        match = request.resolver_match
        if match and match.view_name in _OPEN:
            return None
        # Views of the API look themselves who calls, and so count as open to all.
        is_open = not getattr(view, "login_required", True)
        if is_open and not request.path.startswith(API):
            return None
        user = request.user
        if not user.is_authenticated or not second_factor.is_demanded(user):
            return None
        return None if second_factor.is_on(user) else _to_account(request)


def _to_account(request: HttpRequest) -> HttpResponse:
    if request.path.startswith(API):
        detail = _(
            "Your role demands a second factor: set one up on the page “Your account”."
        )
        error = PortalError(detail, code="auth.second_factor")
        return problem_response(request, error)
    if request.headers.get("Accept") == "text/event-stream":
        return HttpResponse(status=403)
    account = reverse("accounts:account")
    if request.headers.get("HX-Request") == "true":
        return HttpResponseClientRedirect(account)
    return HttpResponseRedirect(account)

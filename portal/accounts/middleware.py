"""Signed in, or sent to sign in; fragments and streams are told in their own way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib.auth import middleware
from django.http import HttpResponse
from django.shortcuts import resolve_url
from django.utils.http import urlencode
from django_htmx.http import HttpResponseClientRedirect

if TYPE_CHECKING:
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

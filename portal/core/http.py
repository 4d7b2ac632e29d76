"""The request type that views see, and the choice between page and fragment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpRequest

if TYPE_CHECKING:
    from django_htmx.middleware import HtmxDetails

    from portal.accounts.models import User


class PortalRequest(HttpRequest):
    """A request after our middleware: signed in, with htmx details and an id."""

    htmx: HtmxDetails
    user: User
    request_id: str


def fragment(template: str, name: str, request: PortalRequest) -> str:
    """Return `template#name` when htmx asks for a part, else the whole template."""
    htmx = request.htmx
    if htmx and not htmx.boosted and not htmx.history_restore_request:
        return f"{template}#{name}"
    return template

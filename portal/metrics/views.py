"""/metrics, for a token with the use metrics:read, or from this host where it is set."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST

from portal.accounts.domain.roles import Permission
from portal.accounts.domain.scopes import Scope
from portal.accounts.tokens import use_token, works_from
from portal.api.authentication import CHALLENGE
from portal.metrics.collector import exposition

if TYPE_CHECKING:
    from django.http import HttpRequest

# A proxy sets one of them: then the request is none of this host's own.
_FORWARDED = ("X-Forwarded-For", "Forwarded", "X-Real-IP")


@login_not_required
@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """Answer in Prometheus' text format, ten seconds old at most."""
    refused = None if _is_loopback(request) else _refusal(request)
    return refused or HttpResponse(exposition.text(), content_type=CONTENT_TYPE_LATEST)


def _is_loopback(request: HttpRequest) -> bool:
    if not settings.SLICEWISE_METRICS_LOOPBACK:
        return False
    if any(name in request.headers for name in _FORWARDED):
        return False
    try:
        return ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False


def _refusal(request: HttpRequest) -> HttpResponse | None:
    kind, _space, token = request.headers.get("Authorization", "").partition(" ")
    row = None
    if kind.lower() == "bearer":
        row = use_token(token.strip(), now=timezone.now())
    if row is None:
        text = _("Send `Authorization: Bearer` with a token with the use metrics:read.")
        answer = HttpResponse(f"{text}\n", status=401, content_type="text/plain")
        answer["WWW-Authenticate"] = CHALLENGE
        return answer
    from_here = works_from(row, request.META.get("REMOTE_ADDR", ""))
    allowed = Scope.METRICS_READ in row.scopes and row.user.may(Permission.SEE_METRICS)
    if from_here and allowed:
        return None
    text = _("This token may not read the metrics, or not from your address.")
    return HttpResponse(f"{text}\n", status=403, content_type="text/plain")

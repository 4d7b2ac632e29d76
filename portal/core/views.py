"""The event stream of a page, error pages, and whether this process is ready."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import psycopg
import structlog
from asgiref.sync import sync_to_async
from django.contrib.auth.decorators import login_not_required
from django.core.cache import cache
from django.db import DatabaseError, InterfaceError, OperationalError, connection
from django.http import Http404, HttpResponse, JsonResponse, StreamingHttpResponse
from django.template.loader import render_to_string
from django.utils import translation
from django.views import defaults
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_safe

from portal.core import live
from portal.core.kept import AWAY as CACHE_AWAY
from portal.core.problems import (
    API,
    DATABASE_AWAY,
    DATABASE_CODE,
    RETRY_SECONDS,
    problem_json,
    refusal,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from django.http import HttpRequest

logger = structlog.get_logger(__name__)

_AWAY = (OperationalError, InterfaceError, psycopg.OperationalError)
_STATUSES: dict[Callable[..., HttpResponse], int] = {
    defaults.bad_request: 400,
    defaults.permission_denied: 403,
    defaults.page_not_found: 404,
}


def _number(text: str) -> int:
    """Return a revision that a browser sent, 0 where it is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


@require_GET
async def events(
    request: HttpRequest, cluster: str, newest: Callable[[str], Awaitable[int | None]]
) -> StreamingHttpResponse:
    """Stream a cluster's and this person's news; `newest` reads a cluster's revision."""
    if await newest(cluster) is None:
        raise Http404
    person = await request.auser()
    last_seen = request.headers.get("Last-Event-ID", "") or request.GET.get("since", "")
    response = StreamingHttpResponse(
        live.stream(
            cluster=cluster,
            person_id=int(person.pk or 0),
            since=_number(last_seen),
            newest=lambda: newest(cluster),
        ),
        content_type="text/event-stream",
    )
    response["Cache-Control"] = "no-cache, no-transform"
    response["X-Accel-Buffering"] = "no"
    return response


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 400 in words; see `_told`."""
    return _told(defaults.bad_request, request, exception)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 403 in words; see `_told`."""
    return _told(defaults.permission_denied, request, exception)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 404 in words; see `_told`."""
    return _told(defaults.page_not_found, request, exception)


def _told(
    view: Callable[[HttpRequest, Exception], HttpResponse],
    request: HttpRequest,
    exception: Exception,
) -> HttpResponse:
    """Render an error page and give its database connection back; below /api/ a problem.

    Under ASGI Django renders it in a thread of the default executor, whose
    connection it never closes: it would outlive a restart of Postgres, broken.
    """
    try:
        if request.path.startswith(API):
            return refusal(request, _STATUSES[view])
        return view(request, exception)
    finally:
        live.release_connections()


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer 503 where the database is away, as the API does; else 500."""
    error = sys.exc_info()[1]
    if not isinstance(error, _AWAY):
        return defaults.server_error(request)
    logger.error("the database cannot be used", error=str(error).strip())
    with translation.override(translation.get_language_from_request(request)):
        response = _away(request)
    response["Retry-After"] = str(RETRY_SECONDS)
    # One line is enough: Django would log a traceback for each.
    response._has_been_logged = True  # type: ignore[attr-defined]
    return response


def _away(request: HttpRequest) -> HttpResponse:
    """Say that the database is away; asks no session, for that is in the database."""
    code, message = DATABASE_CODE, str(DATABASE_AWAY)
    if request.path.startswith(API):
        return problem_json(request, status=503, code=code, detail=message)
    fragment = request.headers.get("HX-Request") == "true"
    name = "components/problem.html" if fragment else "problem.html"
    told = {"message": message, "code": code}
    return HttpResponse(render_to_string(name, told), status=503)


@login_not_required
@require_safe
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    """Answer 200 as long as this process answers at all."""
    return HttpResponse("ok\n", content_type="text/plain")


@login_not_required
@require_safe
@never_cache
async def readyz(request: HttpRequest) -> JsonResponse:
    """Answer 200 when Postgres answers, else 503; Redis is told but not demanded."""
    found = {"postgres": await sync_to_async(_postgres_answers)()}
    ready = all(found.values())
    found["redis"] = await sync_to_async(_redis_answers)()
    return JsonResponse(
        {"ready": ready, "answers": found}, status=200 if ready else 503
    )


def _postgres_answers() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return False
    return True


def _redis_answers() -> bool:
    try:
        cache.get("ready")
    except CACHE_AWAY:
        return False
    return True

"""A request id on every request: in the logs, the audit trail and the answer."""

from __future__ import annotations

import re
import time
import uuid
from typing import TYPE_CHECKING, Any

import structlog
from asgiref.sync import iscoroutinefunction
from django.core.exceptions import BadRequest
from django.utils.decorators import sync_and_async_middleware

from portal.core.counting import count, observe

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_GIVEN = re.compile(r"[A-Za-z0-9._-]{8,64}\Z")


@sync_and_async_middleware
def request_id_middleware(get_response: Callable[[HttpRequest], Any]) -> Any:
    """Take over a well-formed X-Request-ID, or make one; answer with it."""
    if iscoroutinefunction(get_response):

        async def answer_async(request: HttpRequest) -> Any:
            _begin(request)
            return _end(request, await get_response(request))

        return answer_async

    def answer(request: HttpRequest) -> Any:
        _begin(request)
        return _end(request, get_response(request))

    return answer


@sync_and_async_middleware
def counting_middleware(get_response: Callable[[HttpRequest], Any]) -> Any:
    """Count every request by view, method and status, and how long it takes."""
    if iscoroutinefunction(get_response):

        async def answer_async(request: HttpRequest) -> Any:
            began = time.perf_counter()
            return _counted(request, await get_response(request), began)

        return answer_async

    def answer(request: HttpRequest) -> Any:
        began = time.perf_counter()
        return _counted(request, get_response(request), began)

    return answer


def _counted(request: HttpRequest, response: Any, began: float) -> Any:
    """Count an answer; a stream takes as long as it takes to begin."""
    match = request.resolver_match
    view = (match.view_name if match else "") or "none"
    method = request.method if request.method in _METHODS else "other"
    count(
        "slicewise_http_requests_total",
        view=view,
        method=str(method),
        code=str(response.status_code),
    )
    took = time.perf_counter() - began
    observe("slicewise_http_request_duration_seconds", took, view=view)
    return response


@sync_and_async_middleware
def plain_address_middleware(get_response: Callable[[HttpRequest], Any]) -> Any:
    """Refuse an address with a NUL, which no name has and Postgres cannot be asked."""
    if iscoroutinefunction(get_response):

        async def answer_async(request: HttpRequest) -> Any:
            _refuse_nul(request)
            return await get_response(request)

        return answer_async

    def answer(request: HttpRequest) -> Any:
        _refuse_nul(request)
        return get_response(request)

    return answer


def _refuse_nul(request: HttpRequest) -> None:
    if "\x00" in request.path_info or "%00" in request.META.get("QUERY_STRING", ""):
        raise BadRequest("NUL in the address")


def _begin(request: HttpRequest) -> None:
    given = request.headers.get("X-Request-ID", "")
    request_id = given if _GIVEN.match(given) else uuid.uuid4().hex
    request.request_id = request_id  # type: ignore[attr-defined]
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(request_id=request_id)


def _end(request: HttpRequest, response: Any) -> Any:
    response["X-Request-ID"] = request.request_id  # type: ignore[attr-defined]
    return response

"""A request id on every request: in the logs, the audit trail and the answer."""

from __future__ import annotations

import re
import uuid
from typing import TYPE_CHECKING

import structlog
from asgiref.sync import iscoroutinefunction, markcoroutinefunction

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from django.http import HttpRequest, HttpResponseBase

_GIVEN = re.compile(r"[A-Za-z0-9._-]{8,64}\Z")


class RequestIdMiddleware:
    """Take over a well-formed X-Request-ID, or make one; works sync and async."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], object]) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(
        self, request: HttpRequest
    ) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        """Answer the request with its id in the X-Request-ID header."""
        if iscoroutinefunction(self):
            return self._call_async(request)
        self._begin(request)
        return self._end(request, self.get_response(request))

    async def _call_async(self, request: HttpRequest) -> HttpResponseBase:
        self._begin(request)
        return self._end(request, await self.get_response(request))  # type: ignore[misc]

    def _begin(self, request: HttpRequest) -> None:
        given = request.headers.get("X-Request-ID", "")
        request_id = given if _GIVEN.match(given) else uuid.uuid4().hex
        request.request_id = request_id  # type: ignore[attr-defined]
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)

    def _end(self, request: HttpRequest, response: object) -> HttpResponseBase:
        response["X-Request-ID"] = request.request_id  # type: ignore[index, attr-defined]
        return response  # type: ignore[return-value]

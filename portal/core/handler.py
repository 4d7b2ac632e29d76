"""Serves each request with as few turns between the event loop and threads as it needs.

Django's own handler runs every middleware on the loop, and sends each that is written
for threads to one and back: nineteen turns, which cost a short answer more than its
work. A view that is written for threads gets its whole chain in one; views that wait
on the loop, for the engine or for changes, keep Django's way.
"""

from __future__ import annotations

from inspect import iscoroutinefunction
from typing import TYPE_CHECKING

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.base import BaseHandler
from django.http import Http404
from django.urls import get_resolver

if TYPE_CHECKING:
    from django.http import HttpRequest
    from django.http.response import HttpResponseBase


class Handler(ASGIHandler):
    """Django's handler, with another chain for views that run in threads."""

    def __init__(self) -> None:
        super().__init__()
        self._in_thread = BaseHandler()
        self._in_thread.load_middleware()

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        """Return the answer to a request."""
        if _waits_on_the_loop(request):
            return await super().get_response_async(request)
        answer = sync_to_async(self._in_thread.get_response, thread_sensitive=True)
        return await answer(request)


def _waits_on_the_loop(request: HttpRequest) -> bool:
    try:
        view = get_resolver().resolve(request.path_info).func
    except Http404:
        return False
    return iscoroutinefunction(view)

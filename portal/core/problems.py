"""Anticipated errors that no view answered itself: one page, or one fragment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog
from django.shortcuts import render
from django.utils.deprecation import MiddlewareMixin

from portal.core.errors import PortalError

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

logger = structlog.get_logger(__name__)


class ProblemMiddleware(MiddlewareMixin):
    """Turn a PortalError into its sentence: 409, or 503 where trying again may help.

    A fragment's place takes the sentence, and the page around it stays as it is.
    """

    def process_exception(
        self, request: HttpRequest, exception: Exception
    ) -> HttpResponse | None:
        """Answer a PortalError; leave every other exception to Django."""
        if not isinstance(exception, PortalError):
            return None
        logger.info("refused", code=exception.code, error=exception.message)
        fragment = request.headers.get("HX-Request") == "true"
        return render(
            request,
            "components/problem.html" if fragment else "problem.html",
            {"message": exception.message, "code": exception.code},
            status=409 if exception.permanent else 503,
        )

"""Anticipated errors, translated once: a page or a fragment, or a problem document.

Source of the document: RFC 9457, with our codes and, for each error, the place
that it is about: a JSON pointer into the body, a query parameter or a header.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import structlog
from django.http import JsonResponse
from django.shortcuts import render
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy

from portal.core.errors import PortalError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.http import HttpRequest, HttpResponse

logger = structlog.get_logger(__name__)

Json = dict[str, Any]

API = "/api/"
PROBLEM_JSON = "application/problem+json"
RETRY_SECONDS = 2
# What is said, by pages and by the API, while the database is away.
DATABASE_CODE = "portal.database"
DATABASE_AWAY = _lazy("The database cannot be used now: try again in a moment.")

# Codes that are neither 422 (permanent) nor 503 (try again).
_STATUSES = {
    "inventory.no_such_cluster": 404,
    "submit.namespace": 403,
    "submit.name_taken": 409,
    "check.namespace": 403,
    "cluster.forbidden": 403,
    "cluster.not_found": 404,
    "cluster.already_exists": 409,
    "cluster.conflict": 409,
    "release.nothing_to_release": 409,
    "request.not_endable": 409,
    "approval.too_late": 409,
    "approval.not_yours": 403,
    "policy.changed": 409,
    "extension.refused": 409,
    "budget.changed": 409,
    "person.changed": 409,
    "tenant.changed": 409,
    "auth.second_factor": 403,
    "tenant.in_use": 409,
    "preset.changed": 409,
    "quota.changed": 409,
    "mapping.changed": 409,
    "migration.changed": 409,
    "migration.refused": 409,
    "need.changed": 409,
    "need.not_yours": 403,
    "quota.namespace": 403,
    "request.not_retryable": 409,
    "pod.request_not_active": 409,
    "outward.unknown_host": 422,
}


def status_of(error: PortalError) -> int:
    """Return the HTTP status that an anticipated error stands for."""
    return _STATUSES.get(error.code, 422 if error.permanent else 503)


def problem(
    request: HttpRequest,
    *,
    status: int,
    code: str,
    detail: str,
    errors: Iterable[Json] = (),
) -> Json:
    """Return a problem document.

    Args:
        request: what was asked; its path and id are told.
        status: HTTP status.
        code: ours, stable, dotted.
        detail: one sentence that says what to do.
        errors: each with "code", "detail" and "pointer", "parameter" or "header".
    """
    return {
        "type": f"urn:slicewise:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "instance": request.path,
        "code": code,
        "requestId": getattr(request, "request_id", ""),
        "errors": list(errors),
    }


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
        if request.path.startswith(API):
            return problem_response(request, exception)
        fragment = request.headers.get("HX-Request") == "true"
        return render(
            request,
            "components/problem.html" if fragment else "problem.html",
            {"message": exception.message, "code": exception.code},
            status=409 if exception.permanent else 503,
        )


def problem_json(
    request: HttpRequest, *, status: int, code: str, detail: str
) -> JsonResponse:
    """Return a problem document as an HTTP response, outside the REST framework."""
    document = problem(request, status=status, code=code, detail=detail)
    return JsonResponse(document, status=status, content_type=PROBLEM_JSON)


def refusal(request: HttpRequest, status: int) -> JsonResponse:
    """Return a refusal from before any view was reached as a problem document."""
    code, detail = {
        400: ("request.unreadable", _("The address or a header cannot be used.")),
        403: ("request.forbidden", _("This account may not do that.")),
        404: ("request.not_found", _("There is nothing at this address: check it.")),
    }[status]
    return problem_json(request, status=status, code=code, detail=detail)


def problem_response(request: HttpRequest, error: PortalError) -> JsonResponse:
    """Return an anticipated error as an HTTP response, outside the REST framework."""
    status = status_of(error)
    return problem_json(request, status=status, code=error.code, detail=error.message)

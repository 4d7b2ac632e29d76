"""Every error of the API as a problem document: the framework's and our own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import structlog
from django.core.exceptions import RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import Http404, UnreadablePostError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy
from drf_standardized_errors.formatter import flatten_errors
from drf_standardized_errors.handler import ExceptionHandler
from rest_framework import exceptions

from portal.core.errors import PortalError
from portal.core.keyset import BadCursor
from portal.core.problems import (
    DATABASE_AWAY,
    DATABASE_CODE,
    PROBLEM_JSON,
    RETRY_SECONDS,
    problem,
    status_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from django.http import HttpRequest
    from django.utils.functional import _StrPromise
    from rest_framework.response import Response

logger = structlog.get_logger(__name__)

Json = dict[str, Any]


class ApiProblem(exceptions.APIException):
    """An answer that is a problem document.

    Attributes:
        code: ours, stable, dotted.
        errors: each with "code", "detail" and "pointer", "parameter" or "header".
        headers: of the response.
    """

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        errors: Iterable[Json] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail, code)
        self.status_code = status
        self.code = code
        self.errors = list(errors)
        self.headers = dict(headers or {})


class BadParameters(exceptions.ValidationError):
    """Query parameters that are unknown or of no use."""


def refused_at(member: str, code: str, detail: str) -> ApiProblem:
    """Return a 422 that names the member of the body that it is about; "" for all."""
    place = error_at("pointer", f"#/{member}" if member else "#", code, detail)
    return ApiProblem(422, code, detail, errors=[place])


def error_at(
    place: str, where: str, code: str, detail: str, **more: int | None
) -> Json:
    """Return one entry of a problem's `errors`.

    Args:
        place: "pointer", "parameter" or "header".
        where: the JSON pointer, or the name.
        code: ours, or the framework's.
        detail: one sentence.
        more: further members, such as a line; those that are None are left out.
    """
    known = {name: value for name, value in more.items() if value is not None}
    return {place: where, "code": code, "detail": detail, **known}


_FAILURES: dict[type[Exception], tuple[int, str, _StrPromise]] = {
    RequestDataTooBig: (
        413,
        "request.too_large",
        _lazy("The body is too large: send less of it."),
    ),
    UnreadablePostError: (400, "request.unreadable", _lazy("The body broke off.")),
    OperationalError: (503, DATABASE_CODE, DATABASE_AWAY),
    InterfaceError: (503, DATABASE_CODE, DATABASE_AWAY),
}


class ProblemHandler(ExceptionHandler):
    """Turns an exception of a view into a response with a problem document."""

    def convert_known_exceptions(self, exc: Exception) -> Exception:
        """Return anticipated errors as exceptions that carry a status."""
        if isinstance(exc, PortalError):
            return _of_portal_error(exc)
        if isinstance(exc, Http404):
            text = str(exc.args[0]) if exc.args else _nothing_there()
            return ApiProblem(404, "request.not_found", text)
        if isinstance(exc, OperationalError | InterfaceError):
            logger.error("the database cannot be used", error=str(exc))
        for kind, (status, code, sentence) in _FAILURES.items():
            if isinstance(exc, kind):
                return ApiProblem(status, code, str(sentence))
        return super().convert_known_exceptions(exc)

    def format_exception(self, exc: exceptions.APIException) -> Json:
        """Return the problem document."""
        code, errors = _code_and_errors(exc)
        return problem(
            _django_request(self.context),
            status=exc.status_code,
            code=code,
            detail=_detail(exc, errors),
            errors=errors,
        )

    def get_response(self, exc: exceptions.APIException, data: Json) -> Response:
        """Return the document under its own media type."""
        response = super().get_response(exc, data)
        response.content_type = PROBLEM_JSON
        for name, value in getattr(exc, "headers", {}).items():
            response[name] = value
        if exc.status_code == 503 and "Retry-After" not in response:
            response["Retry-After"] = str(RETRY_SECONDS)
        return response

    def report_exception(
        self, exc: exceptions.APIException, response: Response
    ) -> None:
        """Log defects with their traceback, and anticipated errors as a line."""
        if isinstance(exc, ApiProblem):
            logger.info("refused", code=exc.code, error=str(exc.detail))
        else:
            super().report_exception(exc, response)


def _django_request(context: Any) -> HttpRequest:
    request = context["request"]
    return getattr(request, "_request", request)  # type: ignore[no-any-return]


def _nothing_there() -> str:
    return _("There is nothing at this address for you: check it.")


def _of_portal_error(error: PortalError) -> ApiProblem:
    if isinstance(error, BadCursor):
        place = error_at("parameter", "cursor", error.code, error.message)
        return ApiProblem(400, error.code, error.message, errors=[place])
    status = status_of(error)
    headers = {}
    if status == 503:
        seconds = max(1, round(getattr(error, "retry_after", RETRY_SECONDS)))
        headers["Retry-After"] = str(seconds)
    return ApiProblem(status, error.code, error.message, headers=headers)


_CODES: dict[type[exceptions.APIException], str] = {
    exceptions.ParseError: "request.unreadable",
    exceptions.AuthenticationFailed: "auth.failed",
    exceptions.NotAuthenticated: "auth.missing",
    exceptions.PermissionDenied: "request.forbidden",
    exceptions.NotFound: "request.not_found",
    exceptions.MethodNotAllowed: "request.method",
    exceptions.NotAcceptable: "request.not_acceptable",
    exceptions.UnsupportedMediaType: "request.media_type",
    exceptions.Throttled: "request.too_many",
    BadParameters: "request.parameters",
    exceptions.ValidationError: "request.invalid",
}


def _code_and_errors(exc: exceptions.APIException) -> tuple[str, list[Json]]:
    if isinstance(exc, ApiProblem):
        return exc.code, exc.errors
    code = _CODES.get(type(exc), "portal.defect")
    if isinstance(exc, BadParameters):
        return code, [
            error_at("parameter", str(e.attr), e.code, e.detail)
            for e in flatten_errors(exc.detail)
        ]
    if isinstance(exc, exceptions.ValidationError):
        return code, [
            error_at("pointer", _pointer(e.attr), e.code, e.detail)
            for e in flatten_errors(exc.detail)
        ]
    return code, []


def _pointer(attr: str | None) -> str:
    if not attr or attr == "non_field_errors":
        return "#"
    return "#/" + attr.removesuffix("/non_field_errors")


def _detail(exc: exceptions.APIException, errors: list[Json]) -> str:
    if isinstance(exc, exceptions.ValidationError):
        first = errors[0] if errors else {}
        where = first.get("parameter") or first.get("pointer", "").removeprefix("#/")
        return f"{where}: {first.get('detail', '')}".removeprefix(": ")
    if type(exc) is exceptions.APIException:
        return _(
            "Something went wrong on our side; the request id names it in the log."
        )
    return str(exc.detail)

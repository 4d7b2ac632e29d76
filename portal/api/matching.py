"""ETag and If-Match: nobody changes what they have not seen as it now is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.http import parse_etags
from django.utils.translation import gettext as _
from rest_framework.response import Response

from portal.api.problems import ApiProblem, error_at

if TYPE_CHECKING:
    from rest_framework.request import Request


def demand_match(request: Request, etag: str) -> None:
    """Refuse a change of what is not as the caller saw it.

    Raises:
        ApiProblem: 428 without If-Match, 412 where it names another state.
    """
    given = request.headers.get("If-Match")
    if given is None:
        raise _refused(
            428, "request.match_missing", _("Send If-Match with the ETag that you saw.")
        )
    tags = parse_etags(given)
    if "*" not in tags and etag not in tags:
        raise _refused(
            412,
            "request.match_failed",
            _("It has changed since you read it: read it again, then decide."),
        )


def _refused(status: int, code: str, detail: str) -> ApiProblem:
    place = error_at("header", "If-Match", code, detail)
    return ApiProblem(status, code, detail, errors=[place])


def unchanged(request: Request, etag: str) -> Response | None:
    """Return a 304 where the caller has this state already, else None."""
    given = parse_etags(request.headers.get("If-None-Match", ""))
    if etag in given or "*" in given:
        return Response(status=304, headers={"ETag": etag})
    return None

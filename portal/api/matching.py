"""ETag and If-Match: nobody changes what they have not seen as it now is."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from django.utils.http import parse_etags
from django.utils.translation import gettext as _
from rest_framework.response import Response

from portal.api.problems import ApiProblem, error_at

if TYPE_CHECKING:
    from rest_framework.request import Request

# What a GET tells whoever goes on to change a thing.
ETAG = (("ETag", "For If-Match of a change."),)


def tag_of(*parts: object) -> str:
    """Return an ETag that changes whenever one of the parts does."""
    text = "\0".join(map(str, parts))
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:24]}"'


def demand_match(request: Request, etag: str) -> None:
    """Refuse a change of what is not as the caller saw it.

    Raises:
        ApiProblem: 428 without If-Match, 412 where it names another state.
    """
    given = request.headers.get("If-Match")
    demand_tag(given, etag, at=("header", "If-Match"))


def demand_tag(given: str | None, etag: str, *, at: tuple[str, str]) -> None:
    """Refuse a change of what is not as somebody saw it.

    Args:
        given: the ETags that were sent, as in If-Match.
        etag: of the thing as it now is.
        at: where they were sent: "header" or "pointer", and its name.

    Raises:
        ApiProblem: 428 where none was sent, 412 where they name another state.
    """
    if given is None:
        text = _("Send the ETag that you saw, as If-Match.")
        raise _refused(428, "request.match_missing", text, at)
    tags = parse_etags(given)
    if "*" not in tags and etag not in tags:
        text = _("It has changed since you read it: read it again, then decide.")
        raise _refused(412, "request.match_failed", text, at)


def _refused(status: int, code: str, detail: str, at: tuple[str, str]) -> ApiProblem:
    return ApiProblem(status, code, detail, errors=[error_at(*at, code, detail)])


def unchanged(request: Request, etag: str) -> Response | None:
    """Return a 304 where the caller has this state already, else None."""
    given = parse_etags(request.headers.get("If-None-Match", ""))
    if etag in given or "*" in given:
        return Response(status=304, headers={"ETag": etag})
    return None

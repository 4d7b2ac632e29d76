"""The webhooks: an AdmissionReview in, one out; no session, no cookie, no token.

The API server calls with a certificate that it trusts us by, not we it: what is
answered is a verdict on what was sent, and nothing that a caller could not have
found out by sending the same to the API server.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import orjson
import structlog
from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig
from django.db import Error as DatabaseError
from django.db import close_old_connections
from django.http import Http404, HttpResponse, JsonResponse
from django.http.request import UnreadablePostError
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from portal.admission.domain.review import BadReview, Review, Verdict, read_review
from portal.admission.services.reviewing import NoSuchCluster, mutate, validate
from portal.core.counting import timed
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from django.http import HttpRequest

logger = structlog.get_logger(__name__)

# An object of etcd is at most 1.5 MiB; a review holds it, and on an update twice.
MOST_BYTES = 4 * 1024 * 1024
DURATION = "slicewise_admission_review_duration_seconds"

Judge = Callable[[Review], Verdict]


@csrf_exempt
@login_not_required
@require_POST
async def validate_review(
    request: HttpRequest, cluster: str = "", failure: str = ""
) -> HttpResponse:
    """Answer whether an object is admitted."""

    def judge(review: Review) -> Verdict:
        return validate(cluster, review, failure=failure, now=timezone.now())

    with timed(DURATION, webhook="validate"):
        return await _answer(request, judge)


@csrf_exempt
@login_not_required
@require_POST
async def mutate_review(request: HttpRequest, cluster: str = "") -> HttpResponse:
    """Answer with what is to be changed in an object before it is stored."""

    def judge(review: Review) -> Verdict:
        return mutate(cluster, review, now=timezone.now())

    with timed(DURATION, webhook="mutate"):
        return await _answer(request, judge)


async def _answer(request: HttpRequest, judge: Judge) -> HttpResponse:
    """Return the verdict, or a status by which failurePolicy decides."""
    if not settings.SLICEWISE_ADMISSION:
        raise Http404
    try:
        review = read_review(_document(request))
        verdict = await sync_to_async(_judged, thread_sensitive=False)(judge, review)
    except _Refused as error:
        return _refused(error.status, str(error))
    except BadReview as error:
        return _refused(400, str(error))
    return JsonResponse(verdict.document(review.uid))


class _Refused(Exception):
    """No verdict can be given; the text says why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def _document(request: HttpRequest) -> object:
    if request.content_type != "application/json":
        raise BadReview("Send the review as application/json.")
    try:
        length = int(request.headers.get("Content-Length") or 0)
        body = b"" if length > MOST_BYTES else request.body
    except RequestDataTooBig:
        length, body = MOST_BYTES + 1, b""
    except (ValueError, UnreadablePostError) as error:
        raise BadReview("The body cannot be read: send it whole.") from error
    if max(length, len(body)) > MOST_BYTES:
        raise _Refused(413, f"A review has at most {MOST_BYTES} bytes.")
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadReview(f"The body is no JSON: {error}") from error


def _judged(judge: Judge, review: Review) -> Verdict:
    """Judge in a thread of the pool; most verdicts are kept and need no database."""
    try:
        return judge(review)
    except NoSuchCluster as error:
        raise _Refused(404, error.message) from error
    except PortalError as error:
        logger.warning("a review was not judged", code=error.code, why=error.message)
        raise _Refused(503, error.message) from error
    except DatabaseError as error:
        logger.exception("a review was not judged")
        raise _Refused(
            503, "The database cannot be used: see the portal's log."
        ) from error
    finally:
        close_old_connections()


def _refused(status: int, message: str) -> HttpResponse:
    return HttpResponse(message + "\n", status=status, content_type="text/plain")

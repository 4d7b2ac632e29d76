"""The webhooks: an AdmissionReview in, one out; no session, no cookie, no token.

The API server calls with a certificate that it trusts us by, not we it: what is
answered is a verdict on what was sent, and nothing that a caller could not have
found out by sending the same to the API server.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import orjson
import structlog
from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig
from django.db import Error as DatabaseError
from django.db import close_old_connections
from django.http import Http404, HttpResponse
from django.http.request import UnreadablePostError
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from portal.admission.domain.review import BadReview, Review, Verdict, read_review
from portal.admission.services.reviewing import (
    NoSuchCluster,
    mutate,
    mutate_at_once,
    validate,
    validate_at_once,
)
from portal.core.counting import timed
from portal.core.errors import PortalError

if TYPE_CHECKING:
    from django.http import HttpRequest

logger = structlog.get_logger(__name__)

# An object of etcd is at most 1.5 MiB; a review holds it, and on an update twice.
MOST_BYTES = 4 * 1024 * 1024
MOST_TOLD = 400  # characters
DURATION = "slicewise_admission_review_duration_seconds"


@dataclass(frozen=True, slots=True)
class Judge:
    """What answers reviews of one address.

    Attributes:
        webhook: validate or mutate.
        cluster: "" for the only one.
        failure: "" for the rules of both failure policies.
    """

    webhook: str
    cluster: str = ""
    failure: str = ""

    def at_once(self, review: Review) -> Verdict | None:
        """Return the verdict where it needs no database, else None."""
        if self.webhook == "mutate":
            return mutate_at_once(self.cluster, review)
        return validate_at_once(self.cluster, review, failure=self.failure)

    def judged(self, review: Review) -> Verdict:
        """Return the verdict, however long it takes."""
        now = timezone.now()
        if self.webhook == "mutate":
            return mutate(self.cluster, review, now=now)
        return validate(self.cluster, review, failure=self.failure, now=now)


@dataclass(frozen=True, slots=True)
class Answer:
    """A verdict, or a status by which failurePolicy decides."""

    status: int
    body: bytes
    content_type: str = "application/json"


@csrf_exempt
@login_not_required
@require_POST
async def validate_review(
    request: HttpRequest, cluster: str = "", failure: str = ""
) -> HttpResponse:
    """Answer whether an object is admitted."""
    return await _answer(request, Judge("validate", cluster, failure))


@csrf_exempt
@login_not_required
@require_POST
async def mutate_review(request: HttpRequest, cluster: str = "") -> HttpResponse:
    """Answer with what is to be changed in an object before it is stored."""
    return await _answer(request, Judge("mutate", cluster))


async def _answer(request: HttpRequest, judge: Judge) -> HttpResponse:
    if not settings.SLICEWISE_ADMISSION:
        raise Http404
    try:
        body = _body(request)
    except (ValueError, UnreadablePostError):
        found = refused(400, "The body cannot be read: send it whole.")
    else:
        found = await answer(judge, request.content_type or "", body)
    return HttpResponse(
        found.body, status=found.status, content_type=found.content_type
    )


def _body(request: HttpRequest) -> bytes | None:
    """Return what was sent; None where it is too much."""
    try:
        length = int(request.headers.get("Content-Length") or 0)
        body = b"" if length > MOST_BYTES else request.body
    except RequestDataTooBig:
        return None
    return None if max(length, len(body)) > MOST_BYTES else body


async def answer(judge: Judge, content_type: str, body: bytes | None) -> Answer:
    """Return the answer to what was sent; a body of None was too much."""
    with timed(DURATION, webhook=judge.webhook):
        try:
            review = read_review(_document(content_type, body))
            verdict = judge.at_once(review)
            if verdict is None:
                wait = sync_to_async(_judged, thread_sensitive=False)
                verdict = await wait(judge, review)
        except _Refused as error:
            return refused(error.status, str(error))
        except BadReview as error:
            return refused(400, str(error))
    return Answer(200, orjson.dumps(verdict.document(review.uid)))


class _Refused(Exception):
    """No verdict can be given; the text says why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def _document(content_type: str, body: bytes | None) -> object:
    if content_type.partition(";")[0].strip().lower() != "application/json":
        raise BadReview("Send the review as application/json.")
    if body is None:
        raise _Refused(413, f"A review has at most {MOST_BYTES} bytes.")
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadReview(f"The body is no JSON: {error}") from error


def _judged(judge: Judge, review: Review) -> Verdict:
    """Judge in a thread of the pool, whose connection ends with it."""
    try:
        return judge.judged(review)
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


def refused(status: int, message: str) -> Answer:
    """Return why there is no verdict, in a line; what was sent may be quoted in it."""
    told = message if len(message) <= MOST_TOLD else f"{message[:MOST_TOLD]}…"
    return Answer(status, f"{told}\n".encode(), "text/plain")

"""The webhooks: an AdmissionReview in, one out; no session, no cookie, no token.

Whoever reaches them is believed: a review books budgets, uses approvals up and is
written down. So they are no addresses of the portal, and only `manage.py
serve_admission` serves them, to whom it is let: see `portal.admission.serving`.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import orjson
import structlog
from asgiref.sync import sync_to_async
from django.db import Error as DatabaseError
from django.db import close_old_connections
from django.utils import timezone

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

logger = structlog.get_logger(__name__)

# An object of etcd is at most 1.5 MiB; a review holds it, and on an update twice.
MOST_BYTES = 4 * 1024 * 1024
MOST_TOLD = 400  # characters
# Each has a connection to the database while it judges; docs/admin.md counts them.
THREADS = 8
_pool = ThreadPoolExecutor(THREADS, thread_name_prefix="review")
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


async def answer(judge: Judge, content_type: str, body: bytes | None) -> Answer:
    """Return the answer to what was sent; a body of None was too much."""
    with timed(DURATION, webhook=judge.webhook):
        try:
            review = read_review(_document(content_type, body))
            verdict = judge.at_once(review)
            if verdict is None:
                wait = sync_to_async(_judged, thread_sensitive=False, executor=_pool)
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

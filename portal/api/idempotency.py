"""Carry a request out once, however often it is sent with one Idempotency-Key.

The key belongs to whoever sends it (a token, or a person in a browser) and is
kept for a day with its answer. An answer that is an error is not kept: the next
attempt is a first one.

Source: draft-ietf-httpapi-idempotency-key-header.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import orjson
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.response import Response

from portal.api.bodies import JsonRenderer
from portal.api.models import KeptAnswer
from portal.api.problems import ApiProblem, error_at
from portal.api.throttling import client_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.db.models import QuerySet
    from rest_framework.request import Request

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
KEPT_FOR = timedelta(hours=24)
# Longer than the slowest request; then whoever sent it is taken to have died.
HELD_FOR = timedelta(seconds=60)
KEPT_HEADERS = ("Location", "Retry-After", "ETag")
_KEY = re.compile(r"[\x21-\x7e]{1,255}\Z")


@dataclass(frozen=True, slots=True)
class _Sent:
    """A request as its key knows it."""

    client: str
    key: str
    digest: str


def once(
    request: Request,
    do: Callable[[uuid.UUID], Response],
    *,
    keep: Callable[[Response], bool] = lambda _answer: True,
) -> Response:
    """Carry `do` out, or answer what it answered to the same key before.

    Args:
        request: with an Idempotency-Key, or without: then each is its own.
        do: takes an id that is the same for the same client and key.
        keep: whether an answer is the last word, so that it is kept.

    Raises:
        ApiProblem: 400 for a key of another form, 409 where the first request is
            still in flight, 422 where the key came with another request.
    """
    key = request.headers.get(HEADER)
    if key is None:
        return do(uuid.uuid4())
    if not _KEY.match(key):
        raise refused_key(_("A key is 1 to 255 visible ASCII characters."))
    sent = _Sent(client_of(request), key, _digest(request))
    kept = _take(sent, now=timezone.now())
    if kept is not None:
        return _replay(kept)
    # The key outlives the row: the same one gives the same id after a crash, too.
    try:
        response = do(uuid.uuid5(uuid.NAMESPACE_URL, f"{sent.client}/{sent.key}"))
    except BaseException:
        _rows(sent).delete()
        raise
    if keep(response):
        _keep(sent, response)
    else:
        _rows(sent).delete()
    return response


def _digest(request: Request) -> str:
    content = request.headers.get("Content-Type", "")
    head = f"{request.method} {request.get_full_path()}\0{content}\0"
    return hashlib.sha256(head.encode() + request._request.body).hexdigest()


def _rows(sent: _Sent) -> QuerySet[KeptAnswer]:
    return KeptAnswer.objects.filter(client=sent.client, key=sent.key)


def _take(sent: _Sent, *, now: datetime) -> KeptAnswer | None:
    """Take the key for this request, or return the answer that is kept for it."""
    KeptAnswer.objects.filter(expires_at__lte=now).delete()
    try:
        with transaction.atomic():
            KeptAnswer.objects.create(
                client=sent.client,
                key=sent.key,
                request_digest=sent.digest,
                held_until=now + HELD_FOR,
                expires_at=now + KEPT_FOR,
            )
    except IntegrityError:
        return _earlier(sent, now=now)
    return None


def _earlier(sent: _Sent, *, now: datetime) -> KeptAnswer | None:
    kept = _rows(sent).first()
    if kept is not None and kept.request_digest != sent.digest:
        raise _problem(
            422,
            _("This key was used for another request: take a new one for this."),
            "reused",
        )
    if kept is not None and kept.status is not None:
        return kept
    # Whoever held it died: exactly one of those who ask again goes on.
    dead = _rows(sent).filter(status=None, held_until__lte=now)
    if dead.update(held_until=now + HELD_FOR):
        return None
    raise _problem(
        409, _("The first request with this key is still being answered."), "in_flight"
    )


def refused_key(detail: str) -> ApiProblem:
    """Return the refusal of a key that cannot be taken."""
    return _problem(400, detail, "key")


def _problem(status: int, detail: str, what: str) -> ApiProblem:
    code = f"idempotency.{what}"
    headers = {"Retry-After": "1"} if status == 409 else {}
    place = error_at("header", HEADER, code, detail)
    return ApiProblem(status, code, detail, errors=[place], headers=headers)


def _keep(sent: _Sent, response: Response) -> None:
    _rows(sent).update(
        status=response.status_code,
        document=JsonRenderer().render(response.data).decode(),
        headers={
            name: response[name] for name in KEPT_HEADERS if response.has_header(name)
        },
    )


def _replay(kept: KeptAnswer) -> Response:
    headers = {**kept.headers, REPLAYED: "true"}
    document = orjson.loads(kept.document) if kept.document else None
    return Response(document, status=kept.status, headers=headers)

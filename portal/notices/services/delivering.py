"""Take deliveries from their queue and send them, at least once each.

Nothing is sent inside a transaction. Whoever takes a row holds it for a while; what
is recorded counts only while the row is still held by the same attempt.
"""

from __future__ import annotations

import random
import time
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import orjson
import structlog
from django.conf import settings
from django.db.models import F, Q
from django.utils import translation

from portal.core.secrets import SecretUnreadable, decrypt
from portal.notices.domain.messages import (
    Facts,
    email_text,
    slack_body,
    teams_body,
    webhook_body,
)
from portal.notices.domain.retrying import GONE, is_success, pause_after
from portal.notices.domain.signing import signed_headers
from portal.notices.gateways.sending import NotSent, post, send_mail
from portal.notices.models import Delivery, Notice, Subscription
from portal.notices.services.numbering import number_new
from portal.notices.services.wording import facts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

logger = structlog.get_logger(__name__)

Channel = Subscription.Channel
Status = Delivery.Status

# Longer than one attempt takes at its slowest: see `portal.notices.gateways.sending`.
LEASE = timedelta(seconds=60)
# One receiver that is away, or takes this long, must not keep the others waiting.
RECEIVER_PAUSE = timedelta(seconds=20)
SLOW_SECONDS = 2.0
SWEEP_LIMIT = 100
# A sweep begins no attempt after this; the next one begins with those that do well.
SWEEP_TIME = timedelta(seconds=5)
THIN_LIMIT = 5_000
_BODIES: dict[str, Callable[[Facts], dict[str, object]]] = {
    Channel.WEBHOOK: webhook_body,
    Channel.SLACK: slack_body,
    Channel.TEAMS: teams_body,
}


def _is_due(now: datetime) -> Q:
    return (
        Q(status=Status.WAITING)
        & (Q(retry_at=None) | Q(retry_at__lte=now))
        & (Q(lease_until=None) | Q(lease_until__lte=now))
        & (Q(subscription__paused_until=None) | Q(subscription__paused_until__lte=now))
    )


def sweep(*, clock: Callable[[], datetime]) -> int:
    """Number what is new, send what is due, thin what is old; return what was sent.

    Receivers that answered last time come first: those that let us wait, however many,
    keep nobody else's waiting.
    """
    number_new()
    begun = clock()
    well = F("subscription__paused_until").asc(nulls_first=True)
    longest = F("retry_at").asc(nulls_first=True)
    due = Delivery.objects.filter(_is_due(begun)).order_by(well, longest, "pk")
    sent = 0
    for pk in list(due.values_list("pk", flat=True)[:SWEEP_LIMIT]):
        if clock() - begun > SWEEP_TIME:
            break
        sent += deliver(pk, now=clock())
    thin(now=clock())
    return sent


def thin(*, now: datetime) -> int:
    """Delete the oldest notices that are kept no longer; return how many rows went."""
    limit = now - timedelta(days=settings.SLICEWISE_NOTICE_DAYS)
    old = Notice.objects.filter(at__lt=limit).order_by("at")
    keys = list(old.values_list("pk", flat=True)[:THIN_LIMIT])
    return Notice.objects.filter(pk__in=keys).delete()[0] if keys else 0


def deliver(pk: int, *, now: datetime) -> bool:
    """Send one due delivery; return False where it is not due or another has it."""
    due = Delivery.objects.filter(pk__in=Delivery.objects.filter(_is_due(now), pk=pk))
    # Looked at again after waiting for whoever has the row.
    free = due.filter(Q(lease_until=None) | Q(lease_until__lte=now))
    if not free.filter(status=Status.WAITING).update(
        lease_until=now + LEASE, attempt_count=F("attempt_count") + 1
    ):
        return False
    rows = Delivery.objects.select_related(
        "subscription__person", "subscription__tenant", "notice__tenant"
    )
    row = rows.get(pk=pk)
    begun = time.monotonic()
    try:
        code, problem = _attempt(row, now)
    except Exception:
        logger.exception("a delivery met a defect", delivery=str(row.public_id))
        code, problem = None, "defect"
    _record(row, code, problem, now)
    is_slow = time.monotonic() - begun > SLOW_SECONDS
    _record_receiver(row.subscription, problem, now, is_slow=is_slow)
    return True


def _attempt(row: Delivery, now: datetime) -> tuple[int | None, str]:
    """Send it; return the answer's status, where one came, and what was wrong."""
    subscription = row.subscription
    person = subscription.person
    if subscription.off_because or (person is not None and not person.is_active):
        return None, "off"
    try:
        with translation.override(settings.LANGUAGE_CODE):
            return _send(row, now)
    except SecretUnreadable:
        return None, "secret"
    except NotSent as error:
        return None, error.code


def _send(row: Delivery, now: datetime) -> tuple[int | None, str]:
    subscription, facts = row.subscription, facts_of(row.notice)
    address = decrypt(subscription.address_encrypted)
    if subscription.channel == Channel.EMAIL:
        send_mail(address, *email_text(facts))
        return None, ""
    body = orjson.dumps(_BODIES[subscription.channel](facts))
    status = post(address, body, _signed(row, body, now))
    if is_success(status):
        return status, ""
    return status, "gone" if status == GONE else "status"


def _signed(row: Delivery, body: bytes, now: datetime) -> Mapping[str, str]:
    subscription = row.subscription
    held = [decrypt(subscription.secret_encrypted)]
    if subscription.earlier_ends_at and subscription.earlier_ends_at > now:
        held.append(decrypt(subscription.earlier_secret_encrypted))
    if not held[0]:
        return {}
    message_id = f"msg_{row.public_id.hex}"
    return signed_headers(held, message_id, int(now.timestamp()), body)


def _record(row: Delivery, code: int | None, problem: str, now: datetime) -> None:
    """Write down how an attempt went, unless another holds the row by now."""
    held = Delivery.objects.filter(pk=row.pk, attempt_count=row.attempt_count)
    told = {"response_code": code, "problem": problem, "lease_until": None}
    pause = pause_after(row.attempt_count, jitter=random.random())  # noqa: S311
    if not problem:
        held.update(**told, status=Status.DELIVERED, retry_at=None, changed_at=now)
    elif pause is None or problem in ("gone", "off"):
        held.update(**told, status=Status.FAILED, retry_at=None, changed_at=now)
    else:
        held.update(**told, retry_at=now + pause, changed_at=now)


def _record_receiver(
    row: Subscription, problem: str, now: datetime, *, is_slow: bool
) -> None:
    rows = Subscription.objects.filter(pk=row.pk)
    if problem == "gone":
        rows.update(off_because=problem)
    elif is_slow or problem in ("timeout", "unreachable", "unknown-host", "mail"):
        rows.update(paused_until=now + RECEIVER_PAUSE)
    elif row.paused_until is not None:
        rows.update(paused_until=None)

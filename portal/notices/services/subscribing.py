"""Make, change and end subscriptions."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import httpx
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.urls import reverse
from django.utils.translation import gettext as _

from portal.core.errors import PortalError
from portal.core.outward import check_address
from portal.core.secrets import encrypt
from portal.core.wake import wake
from portal.notices.domain.events import EVENTS, TEST
from portal.notices.domain.signing import new_secret
from portal.notices.models import Delivery, Notice, Receipt, Subscription

if TYPE_CHECKING:
    from collections.abc import Collection

    from portal.accounts.models import Tenant, User

Channel = Subscription.Channel
# For so long after a rotation the secret before signs, too.
EARLIER_FOR = timedelta(hours=24)
MOST_OF_ONE_OWNER = 50


class SubscriptionRefused(PortalError):
    """A subscription that cannot be as it was asked for.

    Attributes:
        field: which of its fields is wrong; "" for none in particular.
    """

    code = "subscription.refused"

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


@transaction.atomic
def subscribe(  # noqa: PLR0913  each is one field of the subscription
    person: User,
    *,
    tenant: Tenant | None,
    name: str,
    channel: str,
    address: str,
    events: Collection[str],
    now: datetime,
) -> tuple[Subscription, str]:
    """Make a subscription; return it with its secret, which nobody can show again.

    Args:
        person: who makes it; it is theirs where there is no tenant.
        tenant: whose it is; one of the person's.
        name: what it is for, in their words.
        channel: one of Subscription.Channel.
        address: an e-mail address, or an http(s) one out there.
        events: names of events.
        now: the moment of asking.

    Raises:
        SubscriptionRefused: A field is of no use.
        AddressRefused: The address is not one that the portal calls.
    """
    shown = _checked_address(channel, address)
    _check_events(events)
    owner = {"tenant": tenant} if tenant else {"person": person}
    if Subscription.objects.filter(**owner).count() >= MOST_OF_ONE_OWNER:
        text = _("There are %(count)d already: remove one that is not needed.")
        raise SubscriptionRefused("", text % {"count": MOST_OF_ONE_OWNER})
    secret = new_secret() if channel == Channel.WEBHOOK else ""
    row = Subscription.objects.create(
        **owner,
        name=name,
        channel=channel,
        address_encrypted=encrypt(address.strip()),
        address_shown=shown,
        events=sorted(set(events)),
        secret_encrypted=encrypt(secret),
        created_by=person,
        created_at=now,
    )
    return row, secret


def _check_events(events: Collection[str]) -> None:
    unknown = sorted(set(events) - set(EVENTS) | ({TEST} & set(events)))
    if unknown:
        text = _("There is no event %(name)s to subscribe to.") % {"name": unknown[0]}
        raise SubscriptionRefused("events", text)
    if not events:
        raise SubscriptionRefused("events", _("Choose at least one event."))


def _checked_address(channel: str, address: str) -> str:
    """Return what may be shown of an address; the rest of it may be a secret."""
    if channel == Channel.EMAIL:
        return _checked_email(address.strip())
    check_address(address.strip(), public=True)
    url = httpx.URL(address.strip())
    shown = str(url.copy_with(path="/", query=None))
    return shown[:240] + ("…" if url.raw_path != b"/" else "")


def _checked_email(address: str) -> str:
    if not settings.SLICEWISE_EMAIL_URL:
        text = _("This portal has no mail server: choose another way of sending.")
        raise SubscriptionRefused("channel", text)
    try:
        validate_email(address)
    except ValidationError as error:
        text = _("“%(address)s” is no e-mail address.") % {"address": address[:80]}
        raise SubscriptionRefused("address", text) from error
    return address[:255]


@transaction.atomic
def rotate(row: Subscription, *, now: datetime) -> str:
    """Give a webhook a new secret and return it; the old one signs for a day more.

    Raises:
        SubscriptionRefused: It is no webhook.
    """
    found = Subscription.objects.select_for_update().get(pk=row.pk)
    if found.channel != Channel.WEBHOOK:
        raise SubscriptionRefused("", _("Only a signed webhook has a secret."))
    secret = new_secret()
    found.earlier_secret_encrypted = found.secret_encrypted
    found.earlier_ends_at = now + EARLIER_FOR
    found.secret_encrypted = encrypt(secret)
    found.save()
    return secret


def switch_on(row: Subscription) -> None:
    """Switch a subscription on again that its receiver had ended."""
    Subscription.objects.filter(pk=row.pk).update(off_because="", paused_until=None)


def unsubscribe(row: Subscription) -> None:
    """End a subscription, with its log of deliveries."""
    row.delete()


@transaction.atomic
def send_test(row: Subscription, *, person: User, now: datetime) -> Delivery:
    """Send a test to one subscription alone."""
    notice = Notice.objects.create(
        event=TEST,
        subject=row.name,
        tenant=row.tenant,
        payload={"subscription": str(row.public_id)},
        url=reverse("notices:subscription-detail", args=[row.public_id]),
        at=now,
    )
    Receipt.objects.create(notice=notice, person=person, is_quiet=True)
    made = Delivery.objects.create(
        notice=notice, subscription=row, created_at=now, changed_at=now
    )
    wake("notices.deliver", delivery_id=made.pk)
    return made


@transaction.atomic
def redeliver(row: Delivery, *, now: datetime) -> bool:
    """Send once more what was sent, or given up; return whether it is to be."""
    ended = [Delivery.Status.DELIVERED, Delivery.Status.FAILED]
    moved = Delivery.objects.filter(pk=row.pk, status__in=ended).update(
        status=Delivery.Status.WAITING,
        attempt_count=0,
        retry_at=None,
        lease_until=None,
        problem="",
        changed_at=now,
    )
    if moved:
        wake("notices.deliver", delivery_id=row.pk)
    return bool(moved)

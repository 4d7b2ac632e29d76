"""What is sent arrives, signed, at least once, and nowhere that it should not."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from datetime import timedelta
from pathlib import Path

import pytest

from portal.core.outward import AddressRefused
from portal.notices import tasks
from portal.notices.models import Delivery, Notice, Subscription
from portal.notices.services import delivering, subscribing
from portal.notices.services.announce import announce
from portal.notices.services.delivering import deliver, sweep, thin
from portal.notices.services.subscribing import SubscriptionRefused


def tell(event="claim.active", *, tenant=None, people=(), at=None):
    return announce(
        event,
        subject="ai-serving/notebook & <co> (demo)",
        tenant=tenant,
        people=people,
        payload={"state": "Active"},
        url="/requests/1/",
        at=at,
    )


def verified(headers, body, secret):
    """Return whether a signature holds, checked as a receiver would."""
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    key = base64.b64decode(secret.removeprefix("whsec_"))
    mac = hmac.new(key, signed, hashlib.sha256).digest()
    expected = "v1," + base64.b64encode(mac).decode()
    return expected in headers["webhook-signature"].split(" ")


def test_a_webhook_is_signed_so_that_its_receiver_can_tell(
    ada, receiver, subscribed, now, settings
):
    settings.SLICEWISE_PUBLIC_URL = "https://gpus.example.com"
    row, secret = subscribed(ada)
    notice = tell(people=[ada])
    assert secret not in Subscription.objects.get().secret_encrypted
    assert "secret-part" not in row.address_encrypted + row.address_shown

    assert sweep(clock=lambda: now) == 1

    ((headers, body),) = receiver.received
    assert verified(headers, body, secret)
    assert not verified(headers, body + b" ", secret)
    assert headers["webhook-timestamp"] == str(int(now.timestamp()))
    found = json.loads(body)
    assert found["type"] == "claim.active"
    assert found["data"]["id"] == str(notice.public_id)
    assert found["data"]["url"] == "https://gpus.example.com/requests/1/"
    delivery = Delivery.objects.get()
    assert (delivery.status, delivery.response_code) == ("delivered", 204)
    assert sweep(clock=lambda: now) == 0


def test_the_check_that_the_document_shows_is_right(
    ada, receiver, subscribed, now, monkeypatch
):
    text = (Path(__file__).parents[3] / "docs" / "api.md").read_text()
    (code,) = re.findall(r"```python\n(import base64.*?)```", text, re.DOTALL)
    shown = {}
    exec(code, shown)
    _row, secret = subscribed(ada)
    tell(people=[ada])
    sweep(clock=lambda: now)
    headers, body = receiver.received[0]

    monkeypatch.setattr("time.time", lambda: now.timestamp() + 10)
    assert shown["is_genuine"](secret, headers, body)
    assert not shown["is_genuine"](secret, headers, body + b" ")
    monkeypatch.setattr("time.time", lambda: now.timestamp() + 1000)
    assert not shown["is_genuine"](secret, headers, body)


def test_a_rotated_secret_and_the_one_before_both_hold_for_a_day(
    ada, receiver, subscribed, now
):
    row, old = subscribed(ada)
    new = subscribing.rotate(row, now=now)
    for hours in (1, 25):
        tell(people=[ada])
        sweep(clock=lambda hours=hours: now + timedelta(hours=hours))

    (first, second) = receiver.received
    assert verified(*first, new)
    assert verified(*first, old)
    assert verified(*second, new)
    assert not verified(*second, old)


def test_what_fails_is_tried_again_later_under_the_same_id(
    ada, receiver, subscribed, now
):
    subscribed(ada)
    tell(people=[ada])
    receiver.statuses = [500, 302]
    moment = now
    for attempt, status in ((1, 500), (2, 302)):
        assert sweep(clock=lambda: moment) == 1  # noqa: B023
        row = Delivery.objects.get()
        assert (row.status, row.response_code) == ("waiting", status)
        assert row.attempt_count == attempt
        assert sweep(clock=lambda: moment) == 0  # noqa: B023
        moment = row.retry_at
    sweep(clock=lambda: moment)

    assert Delivery.objects.get().status == "delivered"
    assert len({headers["webhook-id"] for headers, _body in receiver.received}) == 1


def test_it_is_given_up_after_ten_attempts_and_sent_again_on_demand(
    ada, receiver, subscribed, now
):
    subscribed(ada)
    tell(people=[ada])
    receiver.statuses = [503] * 10
    moment = now
    while (row := Delivery.objects.get()).status == "waiting":
        deliver(row.pk, now=moment)
        moment += timedelta(hours=24)
    assert (row.status, row.attempt_count) == ("failed", 10)
    assert len(receiver.received) == 10

    assert subscribing.redeliver(row, now=moment)
    assert not subscribing.redeliver(row, now=moment)  # it is on its way
    sweep(clock=lambda: moment)
    assert Delivery.objects.get().status == "delivered"


def test_a_receiver_that_is_gone_is_switched_off(ada, receiver, subscribed, now):
    row, _secret = subscribed(ada)
    tell(people=[ada])
    tell(people=[ada])
    receiver.statuses = [410]
    sweep(clock=lambda: now)

    assert len(receiver.received) == 1
    assert {d.problem for d in Delivery.objects.all()} == {"gone", "off"}
    tell(people=[ada])
    assert Delivery.objects.count() == 2
    subscribing.switch_on(row)
    tell(people=[ada])
    assert Delivery.objects.count() == 3


def test_a_receiver_that_does_not_answer_keeps_nobody_waiting(
    ada, receiver, subscribed, now
):
    subscribed(ada, address="http://127.0.0.1:9/")
    for _turn in range(20):
        tell(people=[ada])

    assert sweep(clock=lambda: now) == 1  # the others were not even tried
    assert Delivery.objects.get(attempt_count=1).problem == "unreachable"
    assert sweep(clock=lambda: now + timedelta(seconds=21)) == 1


def test_receivers_that_answered_last_time_come_first(
    ada, cleo, receiver, subscribed, now
):
    subscribed(ada, address="http://127.0.0.1:9/")
    tell(people=[ada])
    sweep(clock=lambda: now)
    tell(people=[ada])
    subscribed(cleo)
    tell(people=[cleo])
    times = iter([now + timedelta(minutes=9)] * 2 + [now + timedelta(minutes=10)] * 9)

    assert sweep(clock=lambda: next(times)) == 1  # then its time was over

    assert len(receiver.received) == 1


def test_a_receiver_that_is_slow_keeps_nobody_waiting(
    ada, receiver, subscribed, now, monkeypatch
):
    subscribed(ada)
    for _turn in range(3):
        tell(people=[ada])
    monkeypatch.setattr(delivering, "SLOW_SECONDS", 0)

    assert sweep(clock=lambda: now) == 1
    monkeypatch.undo()
    assert sweep(clock=lambda: now + timedelta(seconds=21)) == 2
    assert Subscription.objects.get().paused_until is None


def test_one_thread_sends_and_one_sweeps_so_that_the_others_go_on(
    ada, receiver, subscribed
):
    subscribed(ada)
    tell(people=[ada])
    key = Delivery.objects.get().pk
    with tasks._sending, tasks._sweeping:
        tasks.deliver_one(delivery_id=key)
        tasks.sweep_due()
    assert receiver.received == []

    tasks.deliver_one(delivery_id=key)
    assert len(receiver.received) == 1
    tell(people=[ada])
    tasks.sweep_due()
    assert len(receiver.received) == 2


def test_of_two_workers_one_sends(ada, receiver, subscribed, now):
    subscribed(ada)
    tell(people=[ada])
    pk = Delivery.objects.get().pk
    Delivery.objects.update(lease_until=now + timedelta(seconds=60))

    assert not deliver(pk, now=now)
    assert deliver(pk, now=now + timedelta(seconds=61))  # whoever had it died
    assert len(receiver.received) == 1


def test_only_those_whose_event_it_is_are_sent_it(ada, cleo, receiver, subscribed, now):
    orchid, maple = ada.tenants.get(), cleo.tenants.get()
    subscribed(cleo)
    subscribed(cleo, tenant=maple)
    subscribed(ada, "claim.denied")
    subscribed(ada, tenant=orchid)
    tell(tenant=orchid, people=[ada])

    delivery = Delivery.objects.get()
    assert delivery.subscription.tenant == orchid


def test_nobody_is_sent_anything_once_they_have_left(ada, receiver, subscribed, now):
    subscribed(ada)
    tell(people=[ada])
    ada.is_active = False
    ada.save()

    sweep(clock=lambda: now)
    assert receiver.received == []
    assert Delivery.objects.get().problem == "off"


def test_an_address_inside_is_refused_when_given_and_when_sent_to(
    ada, receiver, subscribed, now, settings
):
    subscribed(ada)
    tell(people=[ada])
    settings.SLICEWISE_OUTWARD_ALLOW = []

    sweep(clock=lambda: now)
    assert receiver.received == []
    assert Delivery.objects.get().problem == "refused"
    for inside in (
        receiver.address,
        "http://169.254.169.254/latest",
        "http://10.0.0.1",
    ):
        with pytest.raises(AddressRefused):
            subscribed(ada, address=inside)


@pytest.mark.parametrize("channel", ["slack", "teams"])
def test_chat_messages_have_their_shape_and_no_signature(
    channel, ada, receiver, subscribed, now
):
    subscribed(ada, channel=channel)
    tell(people=[ada])
    sweep(clock=lambda: now)

    ((headers, body),) = receiver.received
    assert "webhook-signature" not in headers
    found = json.loads(body)
    if channel == "slack":
        assert "notebook &amp; &lt;co&gt;" in found["text"]
    else:
        card = found["attachments"][0]["content"]
        assert card["body"][0]["text"].startswith("ai-serving/notebook & <co>")


def test_an_email_arrives_at_a_mail_server(ada, subscribed, mailbox, now):
    subscribed(ada, channel="email", address="ada@example.com")
    tell(people=[ada])
    sweep(clock=lambda: now)

    (message,) = mailbox
    assert message["To"] == "ada@example.com"
    assert "ai-serving/notebook" in message["Subject"]
    assert message["Auto-Submitted"] == "auto-generated"
    assert Delivery.objects.get().status == "delivered"


def test_email_is_refused_where_no_mail_server_is_named(ada, subscribed):
    with pytest.raises(SubscriptionRefused, match="no mail server"):
        subscribed(ada, channel="email", address="ada@example.com")


def test_notices_are_kept_for_so_many_days(ada, now, settings):
    settings.SLICEWISE_NOTICE_DAYS = 30
    tell(people=[ada], at=now - timedelta(days=31))
    kept = tell(people=[ada], at=now - timedelta(days=29))

    thin(now=now)
    assert Notice.objects.get() == kept


def test_an_event_that_nobody_declared_is_a_defect(ada):
    with pytest.raises(ValueError, match=r"claim\.dancing"):
        tell("claim.dancing")

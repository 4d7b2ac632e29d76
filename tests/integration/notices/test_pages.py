"""The bell, the page of notices, and the pages of subscriptions."""

from __future__ import annotations

import re

import pytest

from portal.core import live
from portal.notices.models import Delivery, Subscription
from portal.notices.services.announce import announce
from portal.notices.services.delivering import sweep


def tell(person, event="claim.active"):
    return announce(
        event,
        subject="ai-serving/notebook (demo)",
        tenant=None,
        people=[person],
        payload={},
        url="/requests/",
    )


def test_the_bell_counts_and_its_page_marks_as_read(client, ada, cleo):
    client.force_login(ada)
    first = tell(ada)
    tell(ada)
    tell(ada, "claim.applying")  # passes in a moment: not at the bell
    tell(cleo)

    page = client.get("/notices/").content.decode()
    assert page.count("ai-serving/notebook (demo) is in the cluster now.") == 4
    assert '<b>2</b> <span class="visually-hidden">unread</span>' in page

    opened = client.post(f"/notices/{first.public_id}")
    assert opened["Location"] == "/requests/"
    assert "<b>1</b>" in client.get("/notices/bell").content.decode()
    client.post("/notices/read")
    assert "unread" not in client.get("/notices/bell").content.decode()


def test_the_bell_is_rung_on_open_pages_of_those_who_are_told():
    feed = live.Feed(cluster="demo", person_id=1)
    feed.offer({"notice": 7, "people": [2]})
    assert feed._waiting == {}
    feed.offer({"notice": 7, "people": [1, 2]})
    assert feed._waiting == {"notice": {}}


@pytest.fixture
def form(receiver):
    """Return a form that is right."""
    return {
        "name": "chat",
        "owner": "",
        "channel": "webhook",
        "address": receiver.address,
        "events": ["claim.active", "claim.denied"],
    }


def test_a_webhook_is_made_tested_rotated_and_removed(
    client, ada, cleo, form, receiver, now
):
    client.force_login(ada)
    made = client.post("/subscriptions/", form).content.decode()
    (secret,) = re.findall(r"whsec_[\w+/=]+", made)
    row = Subscription.objects.get()
    path = f"/subscriptions/{row.public_id}/"
    assert secret not in client.get("/subscriptions/").content.decode()

    client.post(f"{path}test")
    sweep(clock=lambda: now)
    page = client.get(path).content.decode()
    assert "This is a test of chat." in page
    assert "delivered" in page
    assert "secret-part" not in page
    client.post(f"/deliveries/{Delivery.objects.get().public_id}/again")
    sweep(clock=lambda: now)
    assert len(receiver.received) == 2

    rotated = client.post(f"{path}rotate").content.decode()
    assert re.findall(r"whsec_[\w+/=]+", rotated) != [secret]
    other = client.__class__()
    other.force_login(cleo)
    for below in ("rotate", "test", "on", "remove"):
        assert other.post(path + below).status_code == 404
    client.post(f"{path}remove")
    assert not Subscription.objects.exists()


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("address", "hooks.example.com", "is no address"),
        ("address", "http://169.254.169.254/", "does not speak to"),
        ("events", [], "Choose at least one event."),
        ("name", "", "Say what the subscription is for."),
        ("owner", "maple", "Select a valid choice"),
    ],
)
def test_a_wrong_field_is_told_beside_it_and_nothing_is_lost(
    client, ada, form, field, value, words
):
    client.force_login(ada)
    answer = client.post("/subscriptions/", {**form, field: value})

    page = answer.content.decode()
    assert answer.status_code == 422
    assert words in page
    assert field == "name" or 'value="chat"' in page
    assert not Subscription.objects.exists()


def test_a_team_shares_its_subscriptions(client, ada, cleo, form):
    client.force_login(ada)
    client.post("/subscriptions/", {**form, "owner": "orchid"})

    row = Subscription.objects.get()
    assert (row.person, row.tenant) == (None, ada.tenants.get())


def test_rest_does_what_the_pages_do(call, ada, cleo, receiver, now):
    caller = call(ada)
    body = {
        "name": "ci",
        "tenant": "orchid",
        "channel": "webhook",
        "address": receiver.address,
        "events": ["claim.active"],
    }
    made = caller.post("subscriptions", body)
    assert made.status_code == 201, made.content
    assert made.json()["secret"].startswith("whsec_")
    path = f"subscriptions/{made.json()['id']}"
    assert "secret" not in caller.get(path).json()
    assert caller.post(f"{path}/test", None).status_code == 202
    sweep(clock=lambda: now)
    (delivery,) = caller.items(f"{path}/deliveries?status=delivered")
    assert delivery["responseCode"] == 204
    again = caller.post(f"deliveries/{delivery['id']}/redeliver", None)
    assert (again.status_code, again.json()["status"]) == (202, "waiting")
    assert (
        caller.post(f"deliveries/{delivery['id']}/redeliver", None).status_code == 409
    )
    assert call(cleo).get(path).status_code == 404

    for wrong, pointer in (
        ({"tenant": "maple"}, "#/tenant"),
        ({"address": "http://10.0.0.1/"}, "#/address"),
        ({"events": ["claim.dancing"]}, "#/events/0"),
        ({"channel": "email", "address": "a@example.com"}, "#/channel"),
    ):
        answer = caller.post("subscriptions", {**body, **wrong})
        assert answer.status_code in (400, 422)
        assert answer.json()["errors"][0]["pointer"] == pointer
    assert caller.send("DELETE", path).status_code == 204


def test_rest_reads_and_marks_ones_own_notices(call, ada, cleo):
    notice = tell(ada)
    tell(cleo)
    caller = call(ada)

    (found,) = caller.items("notices?unread=true")
    assert found["sentence"] == "ai-serving/notebook (demo) is in the cluster now."
    marked = caller.post("notices/read", {"ids": [str(notice.public_id)]})
    assert marked.json() == {"marked": 1}
    assert caller.items("notices?unread=true") == []
    assert len(caller.items("notices")) == 1

"""Events are told in order, replayed from where a reader left, and to nobody else."""

from __future__ import annotations

import json
import threading

import pytest
from django.db import connection, connections, transaction

from claims.domain.lifecycle import State
from portal.accounts.models import ApiToken
from portal.notices.domain.events import EVENTS, claim_event
from portal.notices.models import Notice, Receipt
from portal.notices.queries.log import span
from portal.notices.services.announce import announce
from portal.notices.services.numbering import number_new
from portal.notices.services.wording import PROBLEMS, WORDS


def tell(event="claim.active", subject="x", *, tenant=None, people=()):
    return announce(
        event, subject=subject, tenant=tenant, people=people, payload={}, url="/x/"
    )


def events_of(answer):
    """Return [(event, number or None, data)] of a stream."""
    assert answer.status_code == 200, answer.content
    assert answer["Content-Type"] == "text/event-stream"
    found = []
    for block in b"".join(answer.streaming_content).decode().split("\n\n"):
        lines = dict(
            line.split(": ", 1) for line in block.splitlines() if ": " in line[1:]
        )
        if "event" in lines:
            number = int(lines["id"]) if "id" in lines else None
            found.append((lines["event"], number, json.loads(lines["data"])))
    return found


def test_every_state_has_its_event_and_every_event_its_words():
    assert {claim_event(state) for state in State} <= set(EVENTS)
    assert set(WORDS) == set(EVENTS)
    assert all(str(text) for text in PROBLEMS.values())


def test_a_reader_gets_what_it_missed_once_and_in_order(call, ada):
    orchid = ada.tenants.get()
    _first, before = span()
    for subject in "abcde":
        tell(subject=subject, tenant=orchid)
    caller = call(ada)

    first = events_of(caller.get(f"events?after={before}"))
    again = events_of(caller.get("events", Last_Event_ID=str(first[1][1])))

    assert [data["subject"] for _e, _n, data in first] == list("abcde")
    assert [data["subject"] for _e, _n, data in again] == list("cde")
    assert events_of(caller.get("events")) == []  # only new ones


def test_what_is_kept_no_longer_is_told_as_a_reset(call, ada):
    orchid = ada.tenants.get()
    for _turn in range(3):
        tell(tenant=orchid)
    number_new()
    newest = max(Notice.objects.values_list("number", flat=True))
    Notice.objects.exclude(number=newest).delete()
    caller = call(ada)

    for after, reason in ((newest - 3, "expired"), (newest + 7, "unknown")):
        (event,) = events_of(caller.get("events", Last_Event_ID=str(after)))
        assert event == ("reset", newest, {"reason": reason})
    kept = events_of(caller.get("events", Last_Event_ID=str(newest - 1)))
    assert [event for event, _n, _data in kept] == ["claim.active"]
    Notice.objects.all().delete()
    assert events_of(caller.get("events", Last_Event_ID=str(newest))) == []


def test_nobody_sees_events_of_others(call, ada, cleo, dora):
    _first, before = span()
    tell(subject="orchid's", tenant=ada.tenants.get())
    tell(subject="ada's", people=[ada])

    def seen(caller):
        told = events_of(caller.get(f"events?after={before}"))
        return [data["subject"] for _e, _n, data in told]

    assert seen(call(ada)) == ["orchid's", "ada's"]
    assert seen(call(cleo)) == []
    assert seen(call(dora)) == ["orchid's", "ada's"]
    # An admin's token that is not made for others' names sees none of them.
    assert seen(call(dora, "claims:read")) == []


def test_a_token_without_the_use_gets_no_stream(call, ada):
    assert call(ada, "inventory:read").get("events").status_code == 403
    answer = call(ada, "claims:read").get("events?cluster=demo")
    assert answer.status_code == 400
    assert call(ada).get("events", Last_Event_ID="-1").status_code == 400


def test_a_stream_ends_for_whom_it_may_no_longer_be(call, ada):
    _first, before = span()
    tell(tenant=ada.tenants.get())
    answer = call(ada).get(f"events?after={before}")
    ApiToken.objects.update(revoked_at="2026-11-30T00:00:00Z")

    assert events_of(answer) == []


@pytest.mark.django_db(transaction=True)
def test_an_event_that_commits_late_is_missed_by_nobody(ada):
    """One transaction begins first and ends last: its event still comes behind."""
    orchid = ada.tenants.get()
    written, go_on = threading.Event(), threading.Event()

    def slowly():
        with transaction.atomic():
            tell(subject="slow", tenant=orchid)
            written.set()
            go_on.wait(20)
        connections.close_all()

    thread = threading.Thread(target=slowly)
    thread.start()
    assert written.wait(20)
    tell(subject="quick", tenant=orchid)
    number_new()
    quick = Notice.objects.get(subject="quick")
    assert quick.number is not None
    go_on.set()
    thread.join()
    number_new()

    slow = Notice.objects.get(subject="slow")
    assert slow.pk < quick.pk
    assert slow.number > quick.number


def test_a_state_is_told_to_pages_bell_and_log_in_one_transaction(
    ada, fleet_cluster, now
):
    from claims.models import ClaimRequest
    from claims.services.moving import move
    from tests.integration.api.stored import make_request

    make_request("0b8d3a52-0000-4000-8000-000000000001", ada, fleet_cluster, now)
    row = ClaimRequest.objects.get()
    with transaction.atomic():
        move(row, State.REVOKED, actor="dora@platform", now=now)
        transaction.set_rollback(True)
    assert not Notice.objects.exists()
    row.refresh_from_db()
    move(row, State.REVOKED, actor="dora@platform", now=now)

    notice = Notice.objects.get()
    assert notice.event == "claim.revoked"
    assert notice.subject == "ai-training/orchid-whole (demo)"
    assert Receipt.objects.get().person == ada
    assert connection.in_atomic_block

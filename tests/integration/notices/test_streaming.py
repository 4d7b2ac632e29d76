"""An open stream hears at once, over HTTP, and ends with the right to read it."""

from __future__ import annotations

import asyncio
import json
import uuid

import httpx
import pytest
from asgiref.sync import sync_to_async
from django.test import Client
from django.utils import timezone

from portal.accounts.models import ApiToken
from portal.core import live
from portal.core.wake import notify
from portal.notices.services.announce import announce
from tests.integration.frame.test_live import _serving

pytestmark = pytest.mark.django_db(transaction=True)


def tell(subject, tenant):
    announce(
        "claim.active", subject=subject, tenant=tenant, people=(), payload={}, url="/"
    )


class Events:
    """The events of an open stream, as they come."""

    def __init__(self, answer):
        self._lines = answer.aiter_lines()
        self.number = None

    async def begun(self):
        """Wait until everything from here on is told."""
        async for line in self._lines:
            if line == ": from here":
                return

    async def following(self):
        """Return (event, data) of the next one, within a minute."""
        event = ""
        async with asyncio.timeout(60):
            async for line in self._lines:
                name, _colon, value = line.partition(": ")
                if name == "event":
                    event = value
                elif name == "id":
                    self.number = int(value)
                elif name == "data":
                    return event, json.loads(value)
        return None


async def test_a_stream_tells_news_and_is_resumed_without_a_gap(
    ada, cleo, call, load_fleets
):
    orchid, maple = await sync_to_async(
        lambda: (ada.tenants.get(), cleo.tenants.get())
    )()
    token = await sync_to_async(lambda: call(ada).token)()
    headers = {"Authorization": f"Bearer {token}"}
    told = sync_to_async(tell)
    async with (
        _serving() as address,
        httpx.AsyncClient(
            base_url=f"{address}/api/v1/", headers=headers, timeout=60
        ) as client,
    ):
        async with client.stream("GET", "events?cluster=demo") as answer:
            assert answer.headers["Content-Type"] == "text/event-stream"
            events = Events(answer)
            await events.begun()
            await told("maple's", maple)
            await told("first", orchid)
            event, data = await events.following()
            assert (event, data["subject"]) == ("claim.active", "first")
            await sync_to_async(notify)(cluster="demo", revision=9, kinds=["Pod"])
            event, data = await events.following()
            assert (event, data["revision"]) == ("inventory", 9)
            last = events.number
        for subject in ("missed", "missed too"):
            await told(subject, orchid)

        resumed = {"Last-Event-ID": str(last)}
        async with client.stream("GET", "events", headers=resumed) as answer:
            events = Events(answer)
            found = [(await events.following())[1]["subject"] for _turn in range(2)]
            assert found == ["missed", "missed too"]
            revoke = ApiToken.objects.aupdate
            await revoke(revoked_at=timezone.now())
            await told("not for nobody", orchid)
            assert await events.following() is None  # it ended
    assert not live.hub().feeds


async def text_until(lines, end):
    """Return what a stream says up to and with a line that holds `end`."""
    text = ""
    async with asyncio.timeout(60):
        async for line in lines:
            text += f"{line}\n"
            if end in line:
                return text
    raise AssertionError(text)


def happen(person, others, word, claim_request):
    """Let a request of a person move, and tell their tenant and themselves of it."""
    notify(claim_request=claim_request, state=f"{word}-state", requester=person.pk)
    tenant = person.tenants.get()
    for people, to in (((), tenant), ((person,), None)):
        announce(
            "claim.active",
            subject=f"{word}-subject",
            tenant=to,
            people=people,
            payload={"name": f"{word}-name"},
            url=f"/{word}/",
        )
    # What is told last to the streams of others ends them.
    for other in others:
        tell("the-end", other.tenants.get())
    notify(cluster="demo", revision=99, kinds=["Pod"])


@pytest.mark.parametrize("of", ["page", "api"])
async def test_no_stream_tells_a_tenant_of_another(of, ada, cleo, call, load_fleets):
    def prepare(person):
        if of == "api":
            return {"Authorization": f"Bearer {call(person).token}"}
        client = Client()
        client.force_login(person)
        return {"Cookie": f"sessionid={client.cookies['sessionid'].value}"}

    await sync_to_async(load_fleets)("nvidia-t4-l40s")
    path, end = {
        "page": ("/c/demo/events?since=98", '"revision": 99'),
        "api": ("/api/v1/events?cluster=demo", "the-end"),
    }[of]
    for person, other in ((ada, cleo), (cleo, ada)):
        heads = [await sync_to_async(prepare)(each) for each in (person, other)]
        async with (
            _serving() as address,
            httpx.AsyncClient(base_url=address, timeout=60) as client,
            client.stream("GET", path, headers=heads[0]) as own,
            client.stream("GET", path, headers=heads[1]) as foreign,
        ):
            streams = [each.aiter_lines() for each in (own, foreign)]
            for lines in streams:
                await text_until(lines, ": from here" if of == "api" else ": open")
            while len(live.hub().feeds) < 2:
                await asyncio.sleep(0.01)
            public_id = str(uuid.uuid4())
            await sync_to_async(happen)(person, [person, other], "violet", public_id)
            read = [await text_until(lines, end) for lines in streams]
        told = [("violet" in text, public_id in text) for text in read]
        assert told == [(True, of == "page"), (False, False)]

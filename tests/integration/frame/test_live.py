from __future__ import annotations

import asyncio
import json
import uuid
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import httpx
import psycopg
import pytest
import uvicorn
from asgiref.sync import sync_to_async
from django.db import connection, connections
from django.test import Client

from inventory.models import Cluster
from portal.accounts.models import User
from portal.asgi import application
from portal.core import live
from portal.core.wake import notify
from portal.demo.stack import free_port

ASK_LISTENERS = (
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
    " AND query LIKE 'LISTEN%%'"
)
ASK_CONNECTIONS = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    " AND pid <> pg_backend_pid()"
)


async def _taken(feed):
    return await feed.take(0.01)


async def test_feed_keeps_the_newest_of_each_thing():
    feed = live.Feed(cluster="demo", person_id=1)
    for revision in (5, 6):
        feed.offer({"cluster": "demo", "revision": revision, "kinds": [f"K{revision}"]})
    feed.offer({"claim_request": "a", "state": "Applying", "requester": 1})
    feed.offer({"claim_request": "a", "state": "Active", "requester": 1})
    feed.offer({"claim_request": "b", "state": "Applying", "requester": 1})

    assert await _taken(feed) == [
        ("inventory", {"revision": 6, "kinds": ["K5", "K6"]}),
        ("claim", {"id": "a", "state": "Active"}),
        ("claim", {"id": "b", "state": "Applying"}),
    ]
    assert await _taken(feed) == []


async def test_feed_tells_nobody_of_other_clusters_and_people():
    feed = live.Feed(cluster="demo", person_id=1)
    feed.offer({"cluster": "prod", "revision": 5, "kinds": []})
    feed.offer({"claim_request": "a", "state": "Active", "requester": 2})
    feed.offer({"something": "else"})

    assert await _taken(feed) == []


@asynccontextmanager
async def _serving():
    config = uvicorn.Config(
        application,
        port=free_port(),
        lifespan="off",
        log_level="error",
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None
    task = asyncio.create_task(server._serve())
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{config.port}"
    finally:
        server.should_exit = True
        await task
        # The tests' own questions ran in asgiref's one thread.
        await sync_to_async(connections.close_all)()


def _signed_in(name):
    client = Client()
    user = User.objects.create_user(name)
    client.force_login(user)
    return user, {"Cookie": f"sessionid={client.cookies['sessionid'].value}"}


@pytest.fixture
def demo(transactional_db):
    return Cluster.objects.create(name="demo", kind="live", revision=7)


@asynccontextmanager
async def _stream(base, cookie, query="?since=7", **headers):
    async with (
        httpx.AsyncClient(timeout=20) as client,
        client.stream(
            "GET", f"{base}/c/demo/events{query}", headers={**cookie, **headers}
        ) as response,
    ):
        assert response.status_code == 200
        assert response.headers["content-type"] == "text/event-stream"
        lines = response.aiter_lines()
        # The listening began: everything reloads once, or the opening comment.
        while await anext(lines) != ": open":
            pass
        yield lines


async def _next(lines, name, seconds=5):
    async def find():
        async for line in lines:
            if line == f"event: {name}":
                async for data in lines:
                    if data.startswith("data: "):
                        return json.loads(data[6:])
        raise AssertionError("the stream ended")

    return await asyncio.wait_for(find(), seconds)


async def _ask(question):
    def ask():
        with connection.cursor() as cursor:
            cursor.execute(question)
            return cursor.fetchall()

    return await sync_to_async(ask)()


async def _until(question, wanted, seconds=5):
    deadline = asyncio.get_running_loop().time() + seconds
    while (found := await _ask(question)) != wanted:
        assert asyncio.get_running_loop().time() < deadline, found
        await asyncio.sleep(0.05)


async def test_events_reach_the_page_soon_and_at_most_twice_a_second(demo):
    _, cookie = await sync_to_async(_signed_in)("ada")
    loop = asyncio.get_running_loop()
    async with _serving() as base, _stream(base, cookie) as lines:
        await asyncio.sleep(1)
        began = loop.time()
        for revision in range(8, 108):
            await sync_to_async(notify)(
                cluster="demo", revision=revision, kinds=["Pod"]
            )
        seen = []
        while not seen or seen[-1] != 107:
            seen.append((await _next(lines, "inventory"))["revision"])
        took = loop.time() - began

    assert len(seen) <= 2 + took / live.SPACING_SECONDS


async def test_claims_are_told_to_their_requester_only(demo):
    ada, ada_cookie = await sync_to_async(_signed_in)("ada")
    _, cleo_cookie = await sync_to_async(_signed_in)("cleo")
    public_id = str(uuid.uuid4())
    async with (
        _serving() as base,
        _stream(base, ada_cookie) as ada_lines,
        _stream(base, cleo_cookie) as cleo_lines,
    ):
        await asyncio.sleep(0.5)
        await sync_to_async(notify)(
            claim_request=public_id, state="Active", requester=ada.pk
        )

        told = await _next(ada_lines, "claim")
        with suppress(TimeoutError):
            leaked = await _next(cleo_lines, "claim", seconds=1.5)
            pytest.fail(f"cleo was told {leaked}")

    assert told == {"id": public_id, "state": "Active"}


@pytest.mark.parametrize(
    ("query", "headers"), [("?since=3", {}), ("?since=7", {"Last-Event-ID": "6"})]
)
async def test_a_page_that_is_behind_is_told_at_once(demo, query, headers):
    _, cookie = await sync_to_async(_signed_in)("ada")
    async with _serving() as base, _stream(base, cookie, query, **headers) as lines:
        assert (await _next(lines, "inventory"))["revision"] == 7


async def test_many_pages_share_one_connection_and_leave_none(demo):
    _, cookie = await sync_to_async(_signed_in)("ada")
    [(before,)] = await _ask(ASK_CONNECTIONS)
    async with _serving() as base:
        async with AsyncExitStack() as pages:
            for _ in range(12):
                await pages.enter_async_context(_stream(base, cookie))
            await _until(ASK_CONNECTIONS, [(before + 1,)])

            assert len(await _ask(ASK_LISTENERS)) == 1
            assert len(live.hub().feeds) == 12

        await _until(ASK_CONNECTIONS, [(before,)])
        assert live.hub().feeds == set()


async def test_listening_resumes_and_pages_reload_after_a_lost_connection(demo):
    _, cookie = await sync_to_async(_signed_in)("ada")
    async with _serving() as base, _stream(base, cookie) as lines:
        await asyncio.sleep(0.5)
        [(listener,)] = await _ask(ASK_LISTENERS)
        await _ask(f"SELECT pg_terminate_backend({listener})")

        assert (await _next(lines, "inventory"))["revision"] is None
        await sync_to_async(notify)(cluster="demo", revision=9, kinds=[])
        assert (await _next(lines, "inventory"))["revision"] == 9


async def test_stream_ends_by_itself_and_says_when_to_come_back(demo, monkeypatch):
    _, cookie = await sync_to_async(_signed_in)("ada")
    monkeypatch.setattr(live, "LIFE_SECONDS", 0.3)
    async with _serving() as base, _stream(base, cookie) as lines:
        rest = [line async for line in lines]

    assert rest is not None


async def test_unknown_cluster_has_no_stream(demo):
    _, cookie = await sync_to_async(_signed_in)("ada")
    async with _serving() as base, httpx.AsyncClient() as client:
        response = await client.get(f"{base}/c/other/events", headers=cookie)

    assert response.status_code == 404


def test_readyz_says_what_answers(client, db, monkeypatch):
    assert client.get("/readyz").json() == {
        "ready": True,
        "answers": {"postgres": True, "redis": True},
    }

    def refuse(*args, **kwargs):
        raise psycopg.OperationalError

    assert client.get("/healthz").content == b"ok\n"

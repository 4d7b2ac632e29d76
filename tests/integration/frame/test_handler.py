"""Requests take one turn in a thread, or stay on the event loop; both answer alike."""

from __future__ import annotations

import pytest
from asgiref.sync import SyncToAsync
from asgiref.testing import ApplicationCommunicator
from django.core.asgi import get_asgi_application
from django.core.handlers.asgi import ASGIHandler

from portal.core.handler import Handler

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def turns(monkeypatch):
    """Return the functions that are sent to a thread."""
    sent = []
    real = SyncToAsync.__call__

    async def call(self, *args, **kwargs):
        sent.append(getattr(self.func, "__qualname__", str(self.func)))
        return await real(self, *args, **kwargs)

    monkeypatch.setattr(SyncToAsync, "__call__", call)
    return sent


async def get(application: ASGIHandler, path: str) -> tuple[int, dict[str, str], bytes]:
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "path": path,
        "query_string": b"",
        "headers": [(b"host", b"localhost")],
        "server": ("localhost", 80),
    }
    sent = ApplicationCommunicator(application, scope)
    await sent.send_input({"type": "http.request", "body": b""})
    start = await sent.receive_output(10)
    body = b""
    while True:
        part = await sent.receive_output(10)
        body += part["body"]
        if not part.get("more_body"):
            break
    await sent.wait(5)
    headers = {
        name.decode().lower(): value.decode() for name, value in start["headers"]
    }
    return start["status"], headers, body


async def test_a_view_for_threads_takes_one_turn(turns):
    status, _headers, body = await get(Handler(), "/healthz")

    assert (status, body) == (200, b"ok\n")
    assert turns.count("BaseHandler.get_response") == 1
    assert not [each for each in turns if "Middleware" in each]


async def test_a_view_that_waits_stays_on_the_loop(turns):
    status, _headers, _body = await get(Handler(), "/readyz")

    assert status in (200, 503)
    assert "BaseHandler.get_response" not in turns


@pytest.mark.parametrize(
    "path", ["/healthz", "/", "/nowhere", "/api/v1/nowhere", "/static/nowhere.css"]
)
async def test_it_answers_as_djangos_own_handler(path):
    ours, theirs = await get(Handler(), path), await get(get_asgi_application(), path)

    assert ours[0] == theirs[0]
    assert ours[1].keys() == theirs[1].keys()
    told = ("content-security-policy", "content-type", "location", "x-frame-options")
    assert [ours[1].get(name) for name in told] == [
        theirs[1].get(name) for name in told
    ]

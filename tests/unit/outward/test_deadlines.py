"""What answers a byte now and then holds no call out for longer than is said.

Each server here would answer well in the end, so that a call without an end of its own
succeeds, late, and fails its test.
"""

from __future__ import annotations

import json
import socket
import threading
from contextlib import suppress

import pytest

from inventory.gateways import prometheus
from inventory.gateways.errors import ClusterUnavailable
from inventory.gateways.kubeconfig import connect
from inventory.gateways.transport import Call, send
from inventory.gateways.transport import call as call_server
from portal.accounts import provider
from portal.core import outward
from portal.core.deadlines import Slots
from portal.notices.gateways import sending

PAUSE = 0.05
DROPS = 100
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
BODY = b'{"status": "success", "data": {"resultType": "vector", "result": []}}'
LENGTH = b"Content-Length: %d\r\n\r\n" % (len(BODY) + DROPS)
# What comes at once, and what comes before the rest, a byte at a time.
DRIPS = {
    "head": (HEAD, b"X-Slow: " + b"x" * DROPS + b"\r\n", LENGTH + b" " * DROPS + BODY),
    "body": (HEAD + LENGTH, b" " * DROPS, BODY),
}


@pytest.fixture
def server(settings):
    """Return a function that has a server drip so; its port."""
    settings.SLICEWISE_OUTWARD_ALLOW = ["127.0.0.1"]
    over = threading.Event()
    opened = []

    def do(at_once, dripped, rest, *, asks=True):
        listening = socket.create_server(("127.0.0.1", 0))
        opened.append(listening)

        def answer():
            with suppress(OSError):
                link, _address = listening.accept()
                with link:
                    if asks:
                        link.recv(65536)
                    link.sendall(at_once)
                    for each in dripped:
                        if over.wait(PAUSE):
                            return
                        link.sendall(bytes([each]))
                    link.sendall(rest)
                    over.wait(PAUSE)

        threading.Thread(target=answer, daemon=True).start()
        return listening.getsockname()[1]

    yield do
    over.set()
    for each in opened:
        each.close()


def test_a_webhook_that_drips_is_left(server, monkeypatch):
    monkeypatch.setattr(sending, "POST_SECONDS", 0.5)
    port = server(*DRIPS["head"])

    with pytest.raises(sending.NotSent, match="timeout"):
        sending.post(f"http://127.0.0.1:{port}/", b"{}", {})


@pytest.mark.parametrize("part", list(DRIPS))
def test_a_prometheus_that_drips_is_left(part, server, monkeypatch):
    monkeypatch.setattr(prometheus, "QUERY_SECONDS", 0.5)
    port = server(*DRIPS[part])

    with (
        prometheus.Prometheus(f"http://127.0.0.1:{port}") as asked,
        pytest.raises(prometheus.PrometheusFailed, match="within 1 seconds"),
    ):
        asked.query("up")


def test_a_mail_server_that_drips_is_left(server, monkeypatch, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST = "127.0.0.1"
    settings.EMAIL_PORT = server(b"220 ", b"x" * DROPS, b"\r\n", asks=False)
    monkeypatch.setattr(sending, "MAIL_SECONDS", 0.5)
    hung = []
    run = sending._mailing.run

    def timed(*given):
        try:
            run(*given)
        except TimeoutError:
            hung.append(1)
            raise

    monkeypatch.setattr(sending._mailing, "run", timed)

    with pytest.raises(sending.NotSent, match="mail"):
        sending.send_mail("ada@example.com", "x", "x")

    assert hung == [1]


@pytest.mark.parametrize("part", list(DRIPS))
def test_a_sign_in_provider_that_drips_is_left(part, server, monkeypatch):
    monkeypatch.setattr(provider, "ANSWER_SECONDS", 0.5)
    port = server(*DRIPS[part])

    with pytest.raises(provider.ProviderDown):
        provider._fetched(f"http://127.0.0.1:{port}/")


def connection(port):
    """Return a connection to a server on loopback."""
    config = {
        "clusters": [
            {"name": "x", "cluster": {"server": f"http://127.0.0.1:{port}"}},
        ],
        "users": [],
        "contexts": [{"name": "x", "context": {"cluster": "x"}}],
        "current-context": "x",
    }
    return connect("demo", json.dumps(config))


@pytest.mark.parametrize("part", list(DRIPS))
@pytest.mark.parametrize("body", [None, {}])
def test_an_api_server_that_drips_is_left(part, body, server):
    method = "GET" if body is None else "POST"
    wanted = Call(method, "/version", body=body, seconds=0.25)

    with pytest.raises(ClusterUnavailable):
        call_server(connection(server(*DRIPS[part])), wanted, [])


def test_a_watch_lasts_as_long_as_its_server_says(server):
    at_once, dripped, rest = DRIPS["body"]
    port = server(at_once, dripped[:20], rest + b" " * (DROPS - 20))
    response = send(connection(port), Call("GET", "/x", seconds=0.25), [])

    assert json.loads(response.response.data)["status"] == "success"


def test_a_name_that_is_not_resolved_is_left(monkeypatch):
    over = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_a, **_k: over.wait(5) and [])
    monkeypatch.setattr(outward, "RESOLVE_SECONDS", 0.1)
    try:
        with pytest.raises(outward.AddressUnknown):
            outward.check_address("https://hooks.example.com/")
    finally:
        over.set()


def test_while_all_threads_hang_nobody_else_waits():
    over, slots = threading.Event(), Slots(1, "test")
    with pytest.raises(TimeoutError):
        slots.run(over.wait, 0.05)
    with pytest.raises(TimeoutError, match="hang"):
        slots.run(lambda: 1, 30)

    over.set()
    for thread in threading.enumerate():
        if thread.name == "test":
            thread.join(30)

    assert slots.run(lambda: 1, 30) == 1
    with pytest.raises(KeyError):
        slots.run(lambda: {}["x"], 30)

"""A receiver that answers for real, a mail server, and a subscription to each."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from portal.demo.stack import free_port
from portal.notices.services.subscribing import subscribe
from tests.integration.api.conftest import call, no_counts  # noqa: F401  fixtures


@dataclass
class Receiver:
    """What was received, as (headers, body), and what is answered."""

    address: str
    statuses: list[int] = field(default_factory=list)
    received: list[tuple[dict[str, str], bytes]] = field(default_factory=list)


@pytest.fixture
def receiver(settings):
    """Yield a web server on loopback, which the portal may call."""
    settings.SLICEWISE_OUTWARD_ALLOW = ["127.0.0.1"]

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            found.received.append((headers, body))
            status = found.statuses.pop(0) if found.statuses else 204
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_args):
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found = Receiver(f"http://127.0.0.1:{server.server_port}/hooks/secret-part")
    Thread(target=server.serve_forever, daemon=True).start()
    yield found
    server.shutdown()
    server.server_close()


@pytest.fixture
def mailbox(settings):
    """Yield the list of messages that a mail server on loopback has taken."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from aiosmtpd.controller import Controller
        from aiosmtpd.handlers import Message

    class Keep(Message):
        def handle_message(self, message):
            taken.append(message)

    taken = []
    controller = Controller(Keep(), hostname="127.0.0.1", port=free_port())
    controller.start()
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST = "127.0.0.1"
    settings.EMAIL_PORT = controller.port
    settings.SLICEWISE_EMAIL_URL = "smtp://127.0.0.1"
    yield taken
    controller.stop()


@pytest.fixture
def subscribed(receiver, now):
    """Return a function that subscribes a person, or a tenant of theirs."""

    def do(person, *events, channel="webhook", tenant=None, address=None):
        return subscribe(
            person,
            tenant=tenant,
            name="ci",
            channel=channel,
            address=address or receiver.address,
            events=events or ("claim.active",),
            now=now,
        )

    return do

"""Whose X-Forwarded-For is believed, asked of the image's own uvicorn."""

from __future__ import annotations

import contextlib
import signal
import time

import httpx
import pytest

from portal.demo.stack import free_port
from portal.operations.services import looking
from tests import migrated
from tests.integration.operations.test_deployment import ROOT, _command

MAKE = """
import django; django.setup()
from django.utils import timezone
from portal.accounts.models import User
from portal.accounts.tokens import make_token
mina = User.objects.create_user("mina", password="correct horse battery")
print(make_token(user=mina, name="ci", scopes=[], days=1, now=timezone.now(),
    addresses=["203.0.113.0/24"])[1])
"""
PROXY, ANOTHER = "127.0.0.1", "127.0.0.2"


@pytest.fixture
def ask(deployment, django_db_blocker):
    """Return a function that starts web, and one that asks it with a bound token."""
    deployment.execute(f"DROP DATABASE {deployment.database}")
    with django_db_blocker.unblock():
        made = f"CREATE DATABASE {deployment.database} TEMPLATE {migrated.template()}"
    deployment.execute(made)
    deployment.env |= {"DJANGO_SETTINGS_MODULE": "portal.settings"}
    deployment.env |= {"TRUST_PROXY": "true"}
    done = deployment.run("-c", MAKE)
    headers = {
        "Authorization": f"Bearer {done.stdout.strip()}",
        "Host": "slicewise.example.com",
        "X-Forwarded-Proto": "https",
    }

    @contextlib.contextmanager
    def serve(**env: str):
        port = free_port()
        process = deployment.start(*_command("web", deployment, port), **env)

        def get(peer: str, forwarded: str) -> int:
            with httpx.Client(
                transport=httpx.HTTPTransport(local_address=peer, retries=0)
            ) as client:
                return client.get(
                    f"http://127.0.0.1:{port}/api/v1/me",
                    headers=headers | {"X-Forwarded-For": forwarded},
                    timeout=30,
                ).status_code

        try:
            deadline = time.monotonic() + 60
            while True:
                with contextlib.suppress(httpx.ConnectError):
                    get(PROXY, "")
                    break
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.2)
            yield get
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(20)

    return serve


def test_only_a_proxy_that_is_trusted_says_who_asks(ask):
    with ask(FORWARDED_ALLOW_IPS=f"{PROXY},10.0.0.0/8") as get:
        assert get(PROXY, "203.0.113.9") == 200
        assert get(PROXY, "198.51.100.1") == 403
        # What the client wrote itself stands before what the proxies added.
        assert get(PROXY, "203.0.113.9, 198.51.100.1") == 403
        assert get(PROXY, "203.0.113.9, 10.1.2.3") == 200
        assert get(ANOTHER, "203.0.113.9") == 403


def test_the_image_trusts_nobody(ask):
    (line,) = (
        each
        for each in (ROOT / "Dockerfile").read_text().splitlines()
        if "FORWARDED_ALLOW_IPS" in each
    )
    name, value = line.strip().split("=")
    with ask(**{name: value}) as get:
        assert get(PROXY, "203.0.113.9") == 403


@pytest.mark.parametrize(
    ("trusted", "proxy", "answer", "found"),
    [
        ("", False, "yes", "nobody"),
        ("10.0.0.0/8, 192.0.2.1", True, "yes", "10.0.0.0/8, 192.0.2.1"),
        ("", True, "unknown", "have its address"),
        ("10.0.0.1/8", True, "no", "10.0.0.1/8 is neither"),
        ("*", True, "no", "Whoever asks"),
    ],
)
def test_the_doctor_says_whose_word_is_taken(
    settings, monkeypatch, trusted, proxy, answer, found
):
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", trusted)
    header = ("HTTP_X_FORWARDED_PROTO", "https")
    settings.SECURE_PROXY_SSL_HEADER = header if proxy else None
    (said,) = looking.proxies()
    assert (said.name, said.answer) == ("proxies", answer)
    assert found in said.found
    assert bool(said.advice) is (answer != "yes")

"""An OpenID provider of its own process, on loopback."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import time
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from django.core.cache import cache
from django.test import Client

BACK = "/sign-in/provider/back/"


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Provider:
    """The provider's address, and what its people would do there."""

    def __init__(self, url):
        self.url = url

    def has(self, sub, **claims):
        """Let there be a person with these claims."""
        httpx.put(f"{self.url}/users/{sub}", json=claims).raise_for_status()

    def answer(self, address, **form):
        """Fill in the provider's form; return where it sends the visitor back to."""
        answer = httpx.post(address, data=form)
        assert answer.status_code in (302, 303), answer.text[:300]
        back = urlsplit(answer.headers["Location"])
        assert back.path == BACK
        return f"{back.path}?{back.query}"

    def sign_in(self, client, sub, start="/sign-in/provider/?next=/tokens/"):
        """Walk the whole way as somebody; return the portal's last answer."""
        return client.get(self.answer(client.get(start)["Location"], sub=sub))

    def tokens(self, sub, audience):
        """Return what the provider gives to a client of this name."""
        redirect = "http://127.0.0.1/there"
        asked = {
            "response_type": "code",
            "client_id": audience,
            "redirect_uri": redirect,
            "scope": "openid email profile",
            "state": "x",
        }
        sent = httpx.post(
            f"{self.url}/oauth2/authorize", params=asked, data={"sub": sub}
        )
        code = parse_qs(urlsplit(sent.headers["Location"]).query)["code"][0]
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect,
            "client_id": audience,
            "client_secret": "x",
        }
        return httpx.post(f"{self.url}/oauth2/token", data=form).json()


@pytest.fixture(scope="session")
def provider_process():
    port = free_port()
    command = [sys.executable, "-m", "oidc_provider_mock", "-p", str(port)]
    known = json.dumps({"sub": "s-0", "email": "nobody@orchid"})
    process = subprocess.Popen(
        [*command, "--user-claims", known],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    for _ in range(200):
        try:
            httpx.get(url)
            break
        except httpx.HTTPError:
            time.sleep(0.1)
    yield url
    process.terminate()
    process.wait()


@pytest.fixture
def provider(provider_process, settings, db):
    """Return the provider, which the portal uses."""
    settings.SLICEWISE_OIDC_ISSUER = provider_process
    settings.OIDC_RP_CLIENT_ID = "slicewise"
    settings.OIDC_RP_CLIENT_SECRET = "secret"
    cache.clear()
    return Provider(provider_process)


@pytest.fixture
def visitor():
    return Client(headers={"Accept": "text/html"})


def sentence(response):
    """Return the problem that a page shows."""
    text = re.sub(r"<[^>]+>", " ", response.content.decode())
    return " ".join(text.split())

"""Callers with tokens, a cluster that is held by two tenants, and one to submit to."""

from __future__ import annotations

import json

import pytest
from django.core.cache import cache
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.test import Client
from django.utils import timezone

from portal.accounts.domain.scopes import Scope
from portal.accounts.tokens import make_token
from tests.integration.claims.conftest import (  # noqa: F401  fixtures
    active,
    admin,
    cluster,
    kubeconfigs,
    no_pods,
    observe,
    submitted,
    template,
    until,
)
from tests.integration.pages.conftest import (  # noqa: F401  fixtures
    held_claims,
    held_cluster,
)

ALL = tuple(scope.value for scope in Scope)


class Caller:
    """A client that sends a token, and JSON."""

    def __init__(self, token):
        self.token = token
        self.client = Client()

    def send(
        self, method, path, body=None, *, content_type="application/json", **headers
    ):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.token:
            named.setdefault("Authorization", f"Bearer {self.token}")
        data = body if isinstance(body, bytes | str) else json.dumps(body)
        return self.client.generic(
            method,
            path if path.startswith("/") else f"/api/v1/{path}",
            data=b"" if body is None else data,
            content_type=content_type if body is not None else "",
            headers=named,
        )

    def get(self, path, **headers):
        return self.send("GET", path, **headers)

    def post(self, path, body, **headers):
        return self.send("POST", path, body, **headers)

    def items(self, path):
        """Return the items of all pages of a list."""
        found = []
        while path:
            answer = self.get(path)
            assert answer.status_code == 200, answer.content
            found += answer.json()["items"]
            path = answer.json()["next"]
        return found


@pytest.fixture(autouse=True)
def no_counts():
    """Begin each test with nothing counted against a limit."""
    cache.clear()


@pytest.fixture
def call():
    """Return a function that makes a caller with a token of a person."""

    def do(person, *scopes, days=1):
        _row, token = make_token(
            user=person,
            name="test",
            scopes=scopes or ALL,
            days=days,
            now=timezone.now(),
        )
        return Caller(token)

    return do


@pytest.fixture
def nobody():
    """Return a caller without a token."""
    return Caller("")


@pytest.fixture
def one_connection():
    """Keep the test's connection open between requests, as Django's own client does."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)

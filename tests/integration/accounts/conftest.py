"""A clock that stands, for what views take as now."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from django.core.cache import cache

from portal.accounts import account_views


@pytest.fixture(autouse=True)
def no_counts():
    """Begin each test with no failures counted."""
    cache.clear()


@pytest.fixture
def freeze(monkeypatch):
    """Return a function that sets the moment of views of the own account."""

    def set_to(moment):
        clock = SimpleNamespace(now=lambda: moment)
        monkeypatch.setattr(account_views, "timezone", clock)

    return set_to

"""A clock that stands, for what views take as now."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from portal.accounts import account_views
from tests.integration.api.conftest import no_counts  # noqa: F401  fixture


@pytest.fixture
def freeze(monkeypatch):
    """Return a function that sets the moment of views of the own account."""

    def set_to(moment):
        clock = SimpleNamespace(now=lambda: moment)
        monkeypatch.setattr(account_views, "timezone", clock)

    return set_to

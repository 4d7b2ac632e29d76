"""Fixtures of other parts: people with browsers and tokens, and a patient wait."""

from __future__ import annotations

from tests.contract.conftest import eventually  # noqa: F401  fixture
from tests.integration.api.conftest import call, no_counts  # noqa: F401  fixtures
from tests.integration.pages.conftest import (  # noqa: F401  fixtures
    browse,
    held_claims,
    held_cluster,
)

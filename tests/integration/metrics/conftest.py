"""A cluster that tenants hold devices of."""

from __future__ import annotations

from tests.integration.pages.conftest import (  # noqa: F401  fixtures
    held_claims,
    held_cluster,
)

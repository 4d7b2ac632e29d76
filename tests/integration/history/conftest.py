"""A cluster of two tenants that is being read."""

from __future__ import annotations

import pytest

from inventory.models import Cluster
from tests.integration.pages.conftest import browse, held_claims

__all__ = ["browse", "held_claims"]


@pytest.fixture
def read_cluster(load_fleets, held_claims, ada, cleo):
    """Return a function that gives the cluster, heard at a moment."""
    cluster = load_fleets(
        "nvidia-t4-l40s", "nvidia-h100-consumable-shares",
        "nvidia-gb10-uma-no-memory", "nvidia-h100-dynamic-mig-k8s135", extra=held_claims,
    )  # fmt: skip

    def heard(moment) -> Cluster:
        cluster.kind, cluster.heard_at = Cluster.Kind.LIVE, moment
        cluster.save()
        return cluster

    return heard

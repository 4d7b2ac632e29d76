"""Budgets of orchid, and cards with memory on an API server that answers for real."""

from __future__ import annotations

import uuid
from contextlib import suppress

import pytest
from django.utils import timezone

from inventory.domain.kinds import BY_NAME
from inventory.gateways.errors import AlreadyExists, NotFound
from tests.integration.api.conftest import call, no_counts  # noqa: F401  fixtures
from tests.integration.claims import conftest as claims
from tests.integration.claims.conftest import (  # noqa: F401  fixtures
    admin,
    cluster,
    kubeconfigs,
)
from tests.integration.claims.objects import manifest_of
from tests.integration.pages.conftest import held_claims  # noqa: F401  fixture

NODE = "budget-node"
GPU_CLASS = "whole.gpu.example.com"


def gpu_slice():
    """Return a slice of eight cards with 80Gi each, of a driver for GPUs."""
    devices = [
        {
            "name": f"gpu-{index}",
            "attributes": {"uuid": {"string": f"gpu-{index}"}},
            "capacity": {"memory": {"value": "80Gi"}},
        }
        for index in range(8)
    ]
    pool = {"name": NODE, "generation": 1, "resourceSliceCount": 1}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{NODE}-gpu.example.com"},
        "spec": {
            "driver": "gpu.example.com",
            "nodeName": NODE,
            "pool": pool,
            "devices": devices,
        },
    }


def gpu_class():
    selector = {"cel": {"expression": 'device.driver == "gpu.example.com"'}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": GPU_CLASS},
        "spec": {"selectors": [selector]},
    }


@pytest.fixture
def gpus(cluster, admin):  # noqa: F811
    """Return the cluster with eight cards of 80 GiB, observed."""
    from inventory.services.store import replace_kinds

    for body in (gpu_slice(), gpu_class()):
        with suppress(AlreadyExists):
            admin.create(body)
    kinds = (*claims.OBSERVED, "Namespace", "ResourceSlice", "ResourceQuota", "Node")
    lists = {kind: admin.list(BY_NAME[kind]).items for kind in kinds}
    replace_kinds(cluster, lists, now=timezone.now())
    cluster.refresh_from_db()
    yield cluster
    made = ("ResourceSlice", f"{NODE}-gpu.example.com"), ("DeviceClass", GPU_CLASS)
    for kind, name in made:
        with suppress(NotFound):
            admin.delete(BY_NAME[kind], name)


@pytest.fixture
def budget(dora, ada, cleo):
    """Return a function that gives orchid a budget."""
    from portal.budgets.services.editing import make_budget

    def do(*, tenant="orchid", where="", namespace="", **limits):
        return make_budget(
            tenant=tenant,
            cluster=where,
            namespace=namespace,
            limits=limits,
            user=dora,
            request_id="budget-id",
            now=timezone.now(),
        )

    return do


@pytest.fixture
def ask(gpus, ada):
    """Return a function with which somebody asks for cards."""
    from claims.services.submit import submit

    def do(*, user=ada, count=1, ends_at=None, kind="Template", now=None, **more):
        return submit(
            user=user,
            cluster=gpus,
            manifest=manifest_of(
                device_class=GPU_CLASS, kind=kind, **({"count": count} | more)
            ),
            preview=None,
            submission_key=uuid.uuid4(),
            request_id="ask-id",
            now=now or timezone.now(),
            ends_at=ends_at,
        )

    return do

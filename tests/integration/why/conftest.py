"""Cases as they are asked: a cluster of the case's fleets and its other objects."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
import yaml
from asgiref.sync import async_to_sync, sync_to_async

from claims.domain.preview import claim_of
from claims.services.counterfactual import achanges
from claims.services.explaining import aexplain, awhy, question_of
from claims.services.filed import file_of
from claims.services.preview import apreview
from inventory.gateways.files import read_objects
from tests.conftest import DATA

CASES = {
    str(case["id"]).zfill(2): case
    for case in yaml.safe_load((DATA / "cases" / "index.yaml").read_text())
}


@dataclass
class Case:
    """A cluster, and the claims and templates that a case asks about."""

    cluster: object
    items: dict = field(default_factory=dict)

    def why(self, manifest, *, own=frozenset(), budget=10.0):
        """Return preview, reasons and proven changes of a manifest or an item's name."""
        manifest = (
            self.items.get(manifest, manifest)
            if isinstance(manifest, str)
            else manifest
        )

        async def ask():
            question = await sync_to_async(question_of)(self.cluster, manifest)
            preview = await apreview(self.cluster, [claim_of(manifest)])
            why = await awhy(question, preview)
            reasons = await aexplain(question, preview, why)
            changes = await achanges(question, preview, why, own=own, budget=budget)
            return preview, reasons, changes

        return async_to_sync(ask)()


@pytest.fixture
def case(load_fleets):
    """Return a function that makes a case's cluster and reads its file."""

    def make(number):
        found = CASES[number]
        fleets = [name.removesuffix(".yaml") for name in found["slices"]]
        version = str(found["kubernetesVersion"])
        filed = file_of(read_objects(str(DATA / "cases" / found["file"])))
        cluster = load_fleets(
            *fleets, name=f"case-{number}", version=version, extra=filed.overlay
        )
        return Case(cluster, {item["metadata"]["name"]: item for item in filed.items})

    return make


def template(*requests, constraints=(), namespace="team-orchid", name="asked"):
    """Return a ResourceClaimTemplate."""
    devices = {"requests": list(requests)}
    if constraints:
        devices["constraints"] = list(constraints)
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"spec": {"devices": devices}},
    }


def request(name="gpu", cls="gpu.nvidia.com", *selectors, **more):
    """Return an exact request."""
    exactly = {"deviceClassName": cls, **more}
    if selectors:
        exactly["selectors"] = [{"cel": {"expression": text}} for text in selectors]
    return {"name": name, "exactly": exactly}


def holder(name, device, namespace="team-orchid", driver="gpu.nvidia.com", **more):
    """Return a ResourceClaim that holds a device, given as `pool/device`."""
    pool, _slash, device = device.partition("/")
    result = {
        "request": "gpu",
        "driver": driver,
        "pool": pool,
        "device": device,
        **more,
    }
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"devices": {"requests": [request()]}},
        "status": {"allocation": {"devices": {"results": [result]}}},
    }

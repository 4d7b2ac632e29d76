"""The exposure page asks as much of the database for hundreds of claims as for one."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from inventory.models import Cluster
from portal.approvals.queries.exposure import exposure_of

PAGE = "/c/demo/exposure/"


def metadata(name, **more):
    return {"name": name, "namespace": "ai-serving", "uid": f"uid-{name}", **more}


def requests(asks, *, listed):
    exact = {
        "deviceClassName": "gpu.nvidia.com",
        **({"adminAccess": True} if asks else {}),
    }
    one = {"firstAvailable": [{"name": "a", **exact}]} if listed else {"exactly": exact}
    return {"devices": {"requests": [{"name": "gpu", **one}]}}


def _only(body, *keys):
    return {key: body[key] for key in keys}


def claim(number, *, asks=True, listed=False):
    """Return an allocated claim with the pod that owns it."""
    name = f"claim-{number:03}"
    owner = {"kind": "Pod", "name": f"pod-{name}", "uid": f"uid-pod-{name}"}
    result = {
        "driver": "gpu.nvidia.com",
        "pool": "gpu-l40s-a",
        "device": "gpu-0",
        "request": "gpu",
        "adminAccess": asks,
    }
    body = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": metadata(name, ownerReferences=[{**owner, "controller": True}]),
        "spec": requests(asks, listed=listed),
        "status": {
            "allocation": {"devices": {"results": [result]}},
            "reservedFor": [{"resource": "pods", **_only(owner, "name", "uid")}],
        },
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata(f"pod-{name}"),
        "spec": {},
    }
    return [body, pod]


def template(*, asks):
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": metadata(f"template-{asks}".lower()),
        "spec": {"spec": requests(asks, listed=False)},
    }


@pytest.fixture
def with_claims(load_fleets):
    """Return a function that loads a cluster with so many administrative claims."""

    def do(count, *more) -> Cluster:
        objects = [body for number in range(count) for body in claim(number)]
        return load_fleets("nvidia-t4-l40s", extra=[*objects, *more])

    return do


def test_queries_do_not_grow_with_the_claims(with_claims):
    counts = []
    for number in (2, 150):
        cluster = with_claims(number)
        exposure_of(cluster)
        with CaptureQueriesContext(connection) as asked:
            seers, _labelled = exposure_of(cluster)
        assert len(seers) == number
        assert all(seer.pods and seer.reach for seer in seers)
        counts.append(len(asked))

    assert counts[0] == counts[1] <= 5


def test_only_what_asks_for_it_is_read(with_claims):
    others = [*claim(500, asks=False), *claim(501, asks=False, listed=True)]
    cluster = with_claims(
        1,
        *others,
        *claim(502, listed=True),
        template(asks=True),
        template(asks=False),
    )

    seers, _labelled = exposure_of(cluster)

    assert sorted((seer.kind, seer.name) for seer in seers) == [
        ("ResourceClaim", "claim-000"),
        ("ResourceClaim", "claim-502"),
        ("ResourceClaimTemplate", "template-true"),
    ]


def test_the_page_shows_a_hundred_at_a_time(with_claims, client, dora):
    with_claims(120, template(asks=True))
    client.force_login(dora)

    first = client.get(PAGE).content.decode()
    second = client.get(f"{PAGE}?page=2").content.decode()

    assert (first.count('id="seer-'), second.count('id="seer-')) == (100, 20)
    assert 'rel="next"' in first
    assert 'hx-get="/c/demo/exposure/?page=2"' in second
    assert all("template-true" in page for page in (first, second))
    assert "sse:inventory throttle:10s, sse:claim throttle:10s" in first

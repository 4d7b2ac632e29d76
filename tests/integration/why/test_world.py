"""The world that checks read is carried from revision to revision, not built anew."""

from __future__ import annotations

import dataclasses

import pytest
from django.utils import timezone

from claims.domain.checks import world as domain
from claims.services.checking import world_of
from claims.services.explaining import ground_of
from inventory.domain.changes import Change, change_of
from inventory.models import KubeObject
from inventory.services.store import apply_changes
from tests.integration.why.conftest import holder

pytestmark = pytest.mark.django_db

FLEETS = (
    "nvidia-h100-full-8gpu",
    "nvidia-h100-dynamic-mig-k8s135",
    "nvidia-t4-l40s",
    "amd-mi300x-full",
)


@pytest.fixture
def parsed(monkeypatch):
    """Return the list of pools that were parsed, by name."""
    names = []
    real = domain.parse_pool

    def parse(bodies, **more):
        names.append(bodies[0]["spec"]["pool"]["name"])
        return real(bodies, **more)

    monkeypatch.setattr(domain, "parse_pool", parse)
    return names


def change(cluster, *changes):
    apply_changes(cluster, changes, now=timezone.now())
    cluster.refresh_from_db()


def body_of(kind, name):
    return KubeObject.objects.get(kind=kind, name=name, deleted_at=None).body


def built_anew(cluster):
    """Return the world as it is when nothing is known of it, comparable."""
    bodies = [
        {**body, "kind": kind}
        for kind, body in KubeObject.objects.filter(
            cluster=cluster, deleted_at=None
        ).values_list("kind", "body")
    ]
    return comparable(
        domain.build_world(bodies, minor=37, gates=world_of(cluster).gates)
    )


def comparable(world):
    found = dataclasses.asdict(world)
    found.pop("objects")
    found["pools"] = sorted(map(str, found["pools"]))
    found["holds"] = {key: sorted(map(str, of)) for key, of in found["holds"].items()}
    return found


def test_only_pools_that_changed_are_parsed_again(load_fleets, parsed):
    cluster = load_fleets(*FLEETS)
    world_of(cluster)
    assert len(parsed) == 5
    parsed.clear()

    slice_ = next(
        iter(KubeObject.objects.filter(kind="ResourceSlice", name__contains="t4"))
    )
    body = slice_.body
    body["spec"]["devices"][0]["taints"] = [{"key": "a/b", "effect": "NoSchedule"}]
    body["metadata"]["resourceVersion"] = "2"
    change(cluster, change_of({**body, "kind": "ResourceSlice"}))
    world = world_of(cluster)

    assert parsed == [body["spec"]["pool"]["name"]]
    assert [d.taints for d in world.devices.values() if d.taints] == [
        [{"key": "a/b", "effect": "NoSchedule"}]
    ]
    assert comparable(world) == built_anew(cluster)


def test_claims_come_and_go_without_a_pool_being_parsed(load_fleets, parsed):
    cluster = load_fleets(*FLEETS)
    before = world_of(cluster)
    ground = ground_of(cluster)
    parsed.clear()

    held = [holder(f"h{n}", f"gpu-h100-a/gpu-{n}") for n in range(3)]
    change(
        cluster,
        *(
            change_of(
                {
                    **each,
                    "metadata": {**each["metadata"], "uid": each["metadata"]["name"]},
                }
            )
            for each in held
        ),
    )
    world = world_of(cluster)
    assert world.is_held("gpu.nvidia.com/gpu-h100-a/gpu-1")
    change(cluster, Change("ResourceClaim", "team-orchid", "h1", None))

    assert not world_of(cluster).is_held("gpu.nvidia.com/gpu-h100-a/gpu-1")
    assert world_of(cluster).is_held("gpu.nvidia.com/gpu-h100-a/gpu-2")
    assert world.is_held("gpu.nvidia.com/gpu-h100-a/gpu-1")
    assert not before.holds
    assert parsed == []
    assert ground_of(cluster).by_node is ground.by_node
    assert comparable(world_of(cluster)) == built_anew(cluster)


def test_a_pool_that_is_gone_leaves_nothing(load_fleets, parsed):
    cluster = load_fleets(*FLEETS)
    world_of(cluster)
    gone = KubeObject.objects.filter(kind="ResourceSlice", name__contains="h100-mig")
    changes = [Change("ResourceSlice", "", row.name, None) for row in gone]
    parsed.clear()

    change(cluster, *changes)
    world = world_of(cluster)

    assert changes
    assert parsed == []
    assert not [d for d in world.devices.values() if d.pool == "gpu-h100-mig"]
    assert comparable(world) == built_anew(cluster)


def test_an_overlay_leaves_the_kept_world_as_it_was(load_fleets, parsed):
    cluster = load_fleets(*FLEETS)
    kept = world_of(cluster)
    parsed.clear()

    over = world_of(cluster, [holder("mine", "gpu-h100-a/gpu-0")])

    assert over.is_held("gpu.nvidia.com/gpu-h100-a/gpu-0")
    assert world_of(cluster) is kept
    assert not kept.holds
    assert parsed == []

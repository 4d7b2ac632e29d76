"""Moves that would free a larger piece: proven by the engine, on recorded fleets."""

from __future__ import annotations

import pytest
from asgiref.sync import async_to_sync

from claims.domain.why.moves import candidates_among
from claims.services.moves import KindNow, amoves
from inventory.models import KubeObject
from inventory.queries.cards import fleet_of
from tests.integration.why.conftest import holder, request

pytestmark = pytest.mark.django_db(transaction=True)

MIG = "nvidia-h100-dynamic-mig-k8s135"
MIB = 2**20
SHARES = "nvidia-h100-consumable-shares"


def mig(name, device, profile, namespace="team-orchid"):
    """Return a claim that holds a partition and asked for its profile."""
    asked = request(
        "gpu",
        "mig.nvidia.com",
        f"device.attributes['gpu.nvidia.com'].profile == '{profile}'",
    )
    body = holder(name, f"gpu-h100-mig/{device}", namespace)
    return {**body, "spec": {"devices": {"requests": [asked]}}}


def share(name, device, memory, driver="gpu.nvidia.com", **more):
    """Return a claim that holds a share of a card."""
    takes = {"memory": memory, **more}
    asked = request("gpu", driver, capacity={"requests": takes})
    held = {"shareID": f"{name}-share", "consumedCapacity": takes}
    body = holder(name, device, driver=driver, **held)
    return {**body, "spec": {"devices": {"requests": [asked]}}}


def moves_of(cluster, **more):
    return async_to_sync(amoves)(cluster, budget=20.0, **more)


def said(move):
    return (
        move.claim[1],
        move.piece.name,
        move.device,
        move.source.devices,
        move.target.devices,
    )


FULL_OTHER = mig("whole", "gpu-1-mig-7g80gb-0-0", "7g.80gb")
CROWDED = [
    mig("low", "gpu-0-mig-1g10gb-19-0", "1g.10gb"),
    mig("high", "gpu-0-mig-1g10gb-19-4", "1g.10gb"),
]


def test_a_partition_moved_within_its_card_frees_half_of_it(load_fleets):
    cluster = load_fleets(MIG, extra=[*CROWDED, FULL_OTHER])

    found = moves_of(cluster)

    assert found.kinds == (KindNow("NVIDIA H100 80GB HBM3", "dynamic", 20096 * MIB),)
    assert found.not_looked_at == 0
    high, low = found.moves
    assert said(high) == (
        "high",
        "3g.40gb",
        "gpu-h100-mig/gpu-0-mig-3g40gb-9-4",
        ("gpu-h100-mig/gpu-0-mig-1g10gb-19-4",),
        ("gpu-h100-mig/gpu-0-mig-1g10gb-19-1",),
    )
    assert (low.claim[1], low.piece.size) == ("low", 40448 * MIB)


def test_a_claim_without_another_place_is_no_move(load_fleets):
    """Without the claim the half is free; the claim would fit nowhere but there."""
    kept = [mig(f"k{n}", f"gpu-0-mig-1g10gb-19-{n}", "1g.10gb") for n in (0, 1, 2, 3)]
    rest = [mig("rest", "gpu-0-mig-1g20gb-15-6", "1g.20gb")]
    moved = [mig("high", "gpu-0-mig-1g10gb-19-4", "1g.10gb")]
    cluster = load_fleets(MIG, extra=[*kept, *rest, *moved, FULL_OTHER])
    occupancies = fleet_of(cluster).occupancies

    assert candidates_among(occupancies).candidates
    assert moves_of(cluster).moves == ()


def test_where_a_whole_card_is_free_nothing_larger_is_looked_for(load_fleets):
    cluster = load_fleets(MIG, extra=CROWDED)

    found = moves_of(cluster)

    assert (found.moves, found.not_looked_at) == ((), 0)


def shares(*amounts):
    """Return a share on each of eight cards, of so many GiB."""
    pools = ("gpu-h100-share-a", "gpu-h100-share-b")
    return [
        share(f"s{n}", f"{pools[n // 4]}/gpu-{n % 4}", f"{amount}Gi")
        for n, amount in enumerate(amounts)
    ]


def test_a_share_moved_to_another_node_frees_a_whole_card(load_fleets):
    cluster = load_fleets(SHARES, extra=shares(8, 75, 75, 75, 75, 75, 70, 75))

    found = moves_of(cluster)

    move, other = found.moves
    assert said(move) == (
        "s0",
        "whole",
        "gpu-h100-share-a/gpu-0",
        ("gpu-h100-share-a/gpu-0",),
        ("gpu-h100-share-b/gpu-2",),
    )
    assert (other.claim[1], other.target.devices) == ("s6", ("gpu-h100-share-a/gpu-0",))
    assert (move.source.node, move.target.node) == (
        "gpu-h100-share-a",
        "gpu-h100-share-b",
    )
    assert move.piece.size == 81559 * MIB


def test_what_else_a_share_needs_counts(load_fleets):
    """There is memory enough on the other card, but all of its compute is taken."""
    crowd = [
        share("a", "kind-worker/gpu-0", "8Gi", driver="gpu.example.com", compute="10"),
        share(
            "b", "kind-worker/gpu-1", "40Gi", driver="gpu.example.com", compute="100"
        ),
    ]

    found = moves_of(load_fleets("example-gpu-consumable", extra=crowd))

    assert found.moves == ()


def test_with_compute_to_spare_it_is_a_move(load_fleets):
    crowd = [
        share("a", "kind-worker/gpu-0", "8Gi", driver="gpu.example.com", compute="10"),
        share("b", "kind-worker/gpu-1", "40Gi", driver="gpu.example.com", compute="90"),
    ]

    found = moves_of(load_fleets("example-gpu-consumable", extra=crowd))

    assert [(move.claim[1], move.target.devices) for move in found.moves] == [
        ("a", ("kind-worker/gpu-1",)),
        ("b", ("kind-worker/gpu-0",)),
    ]


def test_a_budget_that_ends_counts_what_was_not_looked_at(load_fleets):
    cluster = load_fleets(MIG, extra=[*CROWDED, FULL_OTHER])

    found = async_to_sync(amoves)(cluster, budget=0.0)

    assert (found.moves, found.not_looked_at) == ((), 3)


def test_nothing_is_written(load_fleets):
    cluster = load_fleets(MIG, extra=[*CROWDED, FULL_OTHER])
    before = list(KubeObject.objects.order_by("pk").values("pk", "body", "revision"))

    assert moves_of(cluster).moves

    assert before == list(
        KubeObject.objects.order_by("pk").values("pk", "body", "revision")
    )

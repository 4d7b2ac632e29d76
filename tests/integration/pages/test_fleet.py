"""Cards from the database: as counted by hand, kept up to date, in constant queries."""

from __future__ import annotations

import copy

import pytest
import yaml
from django.db import connection
from django.test.utils import CaptureQueriesContext

from inventory.domain.visibility import Viewer
from inventory.gateways.files import read_objects
from inventory.models import Cluster, KubeObject
from inventory.queries import cards
from inventory.queries.fleet import Manner, gpu_page, overview
from inventory.queries.gpu_filter import GpuFilter
from inventory.services.store import Change, apply_changes
from tests.conftest import DATA
from tests.integration.pages.conftest import claim, result

EXPECTED = yaml.safe_load((DATA / "expected-cards.yaml").read_text())
NOBODY = Viewer(frozenset())


@pytest.mark.parametrize("file", sorted(EXPECTED))
def test_fleet_of_counts_recorded_fleet(file, load_fleets):
    expected = EXPECTED[file]

    totals = cards.fleet_of(load_fleets(file.removesuffix(".yaml"))).totals

    assert totals.cards == expected["cards"]
    if "vramMi" in expected:
        assert totals.total == expected["vramMi"] * 1024**2
    assert totals.at_least == expected.get("atLeast", False)
    if "unavailable" in expected:
        assert totals.cards_unavailable == expected["unavailable"]


def forgotten(cluster: Cluster) -> cards.Fleet:
    """Return the fleet of a process that knows nothing yet."""
    cards._fleets.pop(cluster.pk, None)
    return cards.fleet_of(cluster)


def facts(fleet: cards.Fleet) -> list[object]:
    """Return what a fleet says, to compare two."""
    return [*fleet.occupancies, fleet.others, fleet.totals, fleet.kinds]


def slice_of(cluster: Cluster, pool: str) -> dict:
    """Return a copy of the only slice of a pool."""
    return copy.deepcopy(
        KubeObject.objects.get(cluster=cluster, pool=f"gpu.nvidia.com/{pool}").body
    )


def changed(cluster: Cluster, now, *bodies: dict, gone: tuple[str, ...] = ()) -> None:
    """Record objects as they now are."""
    changes = [
        Change(b["kind"], b["metadata"].get("namespace", ""), b["metadata"]["name"], b)
        for b in bodies
    ]
    changes += [Change("ResourceSlice", "", name, None) for name in gone]
    apply_changes(cluster, changes, now=now)
    cluster.refresh_from_db()


def test_fleet_of_follows_a_slice(held_cluster, now):
    before = cards.fleet_of(held_cluster)
    body = slice_of(held_cluster, "gpu-t4-a")
    body["metadata"]["resourceVersion"] = "7"
    body["spec"]["pool"]["generation"] += 1
    body["spec"]["devices"][0]["taints"] = [{"key": "sick", "effect": "NoExecute"}]

    changed(held_cluster, now, body)
    after = cards.fleet_of(held_cluster)

    assert after.totals.cards_unavailable == before.totals.cards_unavailable + 1
    assert facts(after) == facts(forgotten(held_cluster))


def test_fleet_of_keeps_other_pools(held_cluster, now):
    before = cards.fleet_of(held_cluster)
    body = slice_of(held_cluster, "gpu-t4-a")
    body["metadata"]["resourceVersion"] = "7"

    changed(held_cluster, now, body)
    after = cards.fleet_of(held_cluster)

    assert after.units["gpu-l40s-a"] is before.units["gpu-l40s-a"]
    assert after.units["gpu-t4-a"] is not before.units["gpu-t4-a"]


def test_fleet_of_follows_a_vanished_slice_and_keeps_the_claim(held_cluster, now):
    name = slice_of(held_cluster, "gpu-l40s-a")["metadata"]["name"]
    before = cards.fleet_of(held_cluster).totals.cards

    changed(held_cluster, now, gone=(name,))
    after = cards.fleet_of(held_cluster)

    assert after.totals.cards == before - 4
    assert {hold.claim for hold in after.unpublished} >= {"orchid-whole", "maple-whole"}
    assert facts(after) == facts(forgotten(held_cluster))


def test_fleet_of_follows_a_claim(held_cluster, now):
    before = cards.fleet_of(held_cluster).totals

    changed(
        held_cluster, now, claim("maple-lab", "new", result("gpu-h100-sick", "gpu-0"))
    )
    after = cards.fleet_of(held_cluster)

    assert after.totals.cards_in_use == before.cards_in_use + 1
    assert facts(after) == facts(forgotten(held_cluster))


def rule(selector: dict | None) -> dict:
    """Return a DeviceTaintRule."""
    spec = {"taint": {"key": "maintenance", "effect": "NoSchedule"}}
    if selector is not None:
        spec["deviceSelector"] = selector
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "repair", "uid": "u"},
        "spec": spec,
    }


@pytest.mark.parametrize(
    ("selector", "more"),
    [
        ({"pool": "gpu-l40s-a"}, 4),
        ({"pool": "gpu-l40s-a", "device": "gpu-3"}, 1),
        ({"driver": "dra.net"}, 0),
        (None, 0),
    ],
)
def test_fleet_of_follows_a_taint_rule(selector, more, held_cluster, now):
    before = cards.fleet_of(held_cluster).totals.cards_unavailable

    changed(held_cluster, now, rule(selector))
    after = cards.fleet_of(held_cluster)

    assert after.totals.cards_unavailable == before + more


def test_fleet_of_empty_selector_taints_everything(held_cluster, now):
    changed(held_cluster, now, rule({}))

    totals = cards.fleet_of(held_cluster).totals

    assert totals.cards_free == 0
    assert totals.available == 0


def test_fleet_of_incomplete_pool_on_1_34(load_fleets):
    cluster = load_fleets("pool-incomplete-generation", version="1.34.4")

    totals = cards.fleet_of(cluster).totals

    assert totals.cards_unavailable == 0
    assert totals.at_least


def count(read) -> int:
    with CaptureQueriesContext(
        connection,
    ) as captured:
        read()
    return len(captured)


def test_fleet_of_makes_constant_queries(load_fleets, held_claims, now):
    small = load_fleets("nvidia-t4-l40s", name="small")
    large = load_fleets("nvidia-h100-full-8gpu", "nvidia-h100-dynamic-mig-k8s135",
                        "nvidia-l40s-consumable-shares", name="large",
                        extra=held_claims)  # fmt: skip

    cold = [count(lambda c=c: cards.fleet_of(c)) for c in (small, large)]
    for cluster in (small, large):
        changed(cluster, now, claim("a", "b", result("gpu-l40s-a", "gpu-0")))
    moved = [count(lambda c=c: cards.fleet_of(c)) for c in (small, large)]
    warm = [count(lambda c=c: cards.fleet_of(c)) for c in (small, large)]

    assert cold == [6, 6]
    assert moved == [5, 5]
    assert warm == [0, 0]


def test_gpu_page_makes_one_query_of_an_unchanged_cluster(held_cluster):
    overview(held_cluster, NOBODY)

    assert count(lambda: gpu_page(held_cluster, NOBODY, GpuFilter(), Manner())) == 1
    assert count(lambda: overview(held_cluster, NOBODY)) == 0


def nodes(page) -> list[str]:
    return [group.name for group in page.groups]


def test_gpu_page_pages_by_whole_nodes(load_fleets, monkeypatch):
    fleets = [path.stem for path in (DATA / "fleets").glob("*.yaml")]
    cluster = load_fleets(*fleets)
    everything = nodes(gpu_page(cluster, NOBODY, GpuFilter(), Manner()))
    monkeypatch.setattr("inventory.queries.fleet.CARDS_PER_PAGE", 10)

    seen, start = [], ""
    while True:
        page = gpu_page(cluster, NOBODY, GpuFilter(), Manner(start))
        assert sum(len(group.cards) for group in page.groups) <= 10
        if seen:
            back = gpu_page(cluster, NOBODY, GpuFilter(), Manner(page.previous))
            assert nodes(back)[0] in seen
            assert back.following == nodes(page)[0]
        seen += nodes(page)
        if page.following is None:
            break
        start = page.following

    assert seen == sorted(seen)
    assert len(seen) == page.matched_nodes
    assert set(everything) <= set(seen)


@pytest.mark.parametrize(
    ("wanted", "cards_left"),
    [
        (GpuFilter(product="Tesla T4"), 3),
        (GpuFilter(free_gib=79.5), 9),
        (GpuFilter(tainted=True), 3),
        (GpuFilter(text="SPARK"), 1),
        (GpuFilter(text="l40s-a", free_gib=1), 2),
    ],
)
def test_gpu_page_filters(wanted, cards_left, held_cluster):
    assert gpu_page(held_cluster, NOBODY, wanted, Manner()).matched_cards == cards_left


def test_gpu_page_mine(held_cluster):
    ada = Viewer(frozenset({"ai-serving", "ai-training"}))

    assert (
        gpu_page(held_cluster, ada, GpuFilter(mine=True), Manner()).matched_cards == 4
    )
    assert (
        gpu_page(held_cluster, NOBODY, GpuFilter(mine=True), Manner()).matched_cards
        == 0
    )


def test_gpu_page_shows_cordoned_and_unready_nodes(load_fleets):
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "gpu-t4-a", "uid": "n"},
        "spec": {"unschedulable": True},
        "status": {"conditions": [{"type": "Ready", "status": "Unknown"}]},
    }
    cluster = load_fleets("nvidia-t4-l40s", extra=[node])

    page = gpu_page(cluster, NOBODY, GpuFilter(), Manner("gpu-t4-a"))
    state = next(group.state for group in page.groups if group.name == "gpu-t4-a")

    assert (state.ready, state.cordoned) == (False, True)


def test_read_objects_reads_what_fleets_hold():
    """The fleets are what the loader reads, not what a test made of them."""
    found = read_objects(str(DATA / "fleets" / "nvidia-t4-l40s.yaml"))

    assert [body["kind"] for body in found] == ["ResourceSlice", "ResourceSlice"]

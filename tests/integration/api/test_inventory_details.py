"""One pool, card and class, the past, compute domains and kept views over REST."""

from __future__ import annotations

import csv
import datetime as dt
import io

import pytest
from django.utils import timezone

from inventory.models import HistorySample, PoolSpan, SavedView
from inventory.services.history import record
from inventory.services.store import Change, apply_changes
from tests.integration.pages.test_domains import domain

C = "clusters/demo"


@pytest.fixture
def as_ada(call, ada, held_cluster):
    return call(ada)


@pytest.fixture
def recorded(held_cluster):
    """Return the moment of the last of three samples of the cluster."""
    now = timezone.now()
    for minutes in (10, 5, 0):
        record(held_cluster, now=now - dt.timedelta(minutes=minutes))
    return now


@pytest.mark.parametrize("by", ["cluster", "product", "class", "pool", "tenant"])
def test_history_holds_every_sample_of_every_key(by, as_ada, recorded):
    whole = as_ada.items(f"{C}/history?by={by}&limit=20")

    keys = HistorySample.objects.filter(scope=by).values_list("key", flat=True)
    wanted = {"orchid"} if by == "tenant" else set(keys)
    assert {each["key"] for each in whole} == wanted
    assert all(len(each["samples"]) == 3 for each in whole)
    assert as_ada.items(f"{C}/history?by={by}&limit=1") == whole


def test_history_says_unknown_as_null(as_ada, recorded):
    (spark,) = as_ada.items(f"{C}/history?by=pool&q=spark")

    assert {each["allocated"] for each in spark["samples"]} == {None}
    assert {each["cards"] for each in spark["samples"]} == {1}


def test_history_names_tenants_within_rights(call, ada, eli, recorded):
    as_eli, narrow = call(eli), call(eli, "inventory:read")
    keys = [each["key"] for each in as_eli.items(f"{C}/history?by=tenant")]

    assert keys == ["maple", "orchid"] or keys == ["orchid"]
    assert narrow.items(f"{C}/history?by=tenant") == []


def test_history_table_holds_the_same(as_ada, recorded):
    answer = as_ada.get(f"{C}/history.csv?by=pool&q=t4")
    found = list(csv.DictReader(io.StringIO(answer.getvalue().decode())))
    (series,) = as_ada.items(f"{C}/history?by=pool&q=t4")

    assert answer["Content-Type"].startswith("text/csv")
    assert [int(row["allocated_bytes"]) for row in found] == [
        each["allocated"] for each in series["samples"]
    ]


@pytest.mark.parametrize(
    ("query", "parameter"),
    [("by=colour", "by"), ("hours=0", "hours"), ("limit=21", "limit")],
)
def test_history_refuses_what_is_no_choice(query, parameter, as_ada):
    answer = as_ada.get(f"{C}/history?{query}")

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["parameter"] == parameter


def test_occupancy_sums_up_tenants_within_rights(call, ada, eli, held_cluster):
    own = call(ada).get(f"{C}/occupancy").json()
    everybody = call(eli).get(f"{C}/occupancy").json()

    assert [each["tenant"] for each in own["tenants"]] == ["orchid"]
    assert own["own"]["allocated"] == own["tenants"][0]["allocated"] > 0
    assert everybody["own"]["cards"] == 0
    assert len(everybody["tenants"]) > 1
    assert {each["pool"] for each in own["troubledPools"]} >= {"gpu-h100-b"} or own[
        "troubledPools"
    ]


def test_fragmentation_says_the_same_as_occupancy(as_ada):
    whole = as_ada.get(f"{C}/fragmentation").json()
    sums = as_ada.get(f"{C}/occupancy").json()

    assert whole["cluster"] == sums["fragmentation"]
    assert [each["fragmentation"] for each in whole["products"]] == [
        each["fragmentation"] for each in sums["products"]
    ]
    pools = {each["pool"]: each["fragmentation"] for each in whole["pools"]}
    assert pools["gpu-l40s-a"]["cards"] == 4
    assert pools["gpu-l40s-a"]["largest"] == 48305799168


def test_a_pool_says_its_slices_and_how_it_was_published(
    as_ada, held_cluster, recorded
):
    found = as_ada.get(f"{C}/pools/gpu.nvidia.com/gpu-h100-mig").json()

    assert (found["seenSlices"], found["expectedSlices"]) == (3, 3)
    assert [each["counts"] for each in found["slices"]] == [True] * 3
    assert sum(each["devices"] for each in found["slices"]) == found["devices"] == 52
    (span,) = found["published"]
    assert span["generation"] == found["generation"]
    assert span["since"] < span["until"]


def test_a_pool_that_changes_begins_a_new_span(as_ada, held_cluster, recorded):
    from inventory.models import KubeObject

    row = KubeObject.objects.get(
        cluster=held_cluster, pool="gpu.nvidia.com/gpu-t4-a", deleted_at=None
    )
    body = {**row.body, "spec": {**row.body["spec"]}}
    body["spec"]["pool"] = {**body["spec"]["pool"], "generation": 9}
    body["spec"]["pool"]["resourceSliceCount"] = 2
    later = recorded + dt.timedelta(minutes=5)
    apply_changes(
        held_cluster, [Change("ResourceSlice", "", row.name, body)], now=later
    )
    held_cluster.refresh_from_db()
    record(held_cluster, now=later)

    found = as_ada.get(f"{C}/pools/gpu.nvidia.com/gpu-t4-a").json()

    assert found["verdict"] == "incomplete"
    assert [each["generation"] for each in found["published"]] == [9, 1]
    assert [each["verdict"] for each in found["published"]] == [
        "incomplete",
        "complete",
    ]
    assert PoolSpan.objects.filter(pool="gpu-t4-a", is_newest=True).count() == 1


def test_a_card_says_who_holds_it_what_fits_and_its_past(as_ada, recorded):
    found = as_ada.get(f"{C}/cards/gpu.nvidia.com/gpu-h100-share-a/gpu-0").json()

    assert found["memory"]["allocated"] == 42 * 2**30
    assert [
        each["holder"] and each["holder"]["claim"] for each in found["holdings"]
    ] == [
        "orchid-share",
        None,
    ]
    assert found["fits"]["largest"] == found["memory"]["largest"]
    assert found["history"][-1]["allocated"] == 42 * 2**30
    assert {each["kind"] for each in found["neighbours"]} == {"pcie", "numa"}
    numa = next(each for each in found["neighbours"] if each["kind"] == "numa")
    assert numa["count"] == len(numa["cards"]) > 0
    assert found["topology"][numa["key"]] == [numa["value"]]


def test_a_card_is_found_by_its_name_and_by_its_parts(as_ada):
    by_name = as_ada.get(f"{C}/cards/gpu.nvidia.com/gpu-h100-mig/gpu-0")
    by_part = as_ada.get(f"{C}/cards/gpu.nvidia.com/gpu-h100-mig/gpu-0-mig-1g10gb-19-0")

    assert by_name.json() == by_part.json()
    assert {each["name"] for each in by_name.json()["fits"]["profiles"]} > {"2g.20gb"}
    nothing = as_ada.get(f"{C}/cards/gpu.nvidia.com/gpu-h100-mig/gpu-7")
    assert nothing.status_code == 404


def test_a_class_says_what_it_matches_and_who_uses_it(call, ada, cleo, load_fleets):
    def asks(namespace, name, **request):
        return {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": name, "namespace": namespace, "uid": name},
            "spec": {"devices": {"requests": [{"name": "r", **request}]}},
        }

    template = asks("ai-serving", "t", exactly={"deviceClassName": "gpu.nvidia.com"})
    template = {
        **template,
        "kind": "ResourceClaimTemplate",
        "spec": {"spec": template["spec"]},
    }
    choice = [{"name": "a", "deviceClassName": c} for c in ("gpu.nvidia.com", "x")]
    load_fleets(
        "nvidia-t4-l40s",
        extra=[
            asks("ai-serving", "one", exactly={"deviceClassName": "gpu.nvidia.com"}),
            asks("maple-lab", "two", firstAvailable=choice),
            template,
        ],
    )

    own = call(ada).get(f"{C}/classes/gpu.nvidia.com").json()
    other = call(cleo).get(f"{C}/classes/gpu.nvidia.com").json()

    assert len(own["devices"]) == own["matching"] == 5
    assert own["usedBy"] == {
        "claims": 2,
        "templates": 1,
        "others": 1,
        "objects": [
            {"kind": "ResourceClaim", "namespace": "ai-serving", "name": "one"},
            {"kind": "ResourceClaimTemplate", "namespace": "ai-serving", "name": "t"},
        ],
    }
    assert [each["name"] for each in other["usedBy"]["objects"]] == ["two"]
    assert call(ada).get(f"{C}/classes/none").status_code == 404


def domain_claim(namespace, name, device, uid):
    """Return an allocated claim of a channel or a daemon of a domain."""
    parameters = {"kind": "ComputeDomainChannelConfig", "domainID": uid}
    opaque = {"driver": "compute-domain.nvidia.com", "parameters": parameters}
    result = {"request": "r", "driver": "compute-domain.nvidia.com"}
    result |= {"pool": "gpu-gb200-0", "device": device}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": namespace, "uid": name},
        "spec": {"devices": {"requests": [], "config": [{"opaque": opaque}]}},
        "status": {"allocation": {"devices": {"results": [result]}}},
    }


def test_compute_domains_say_members_channels_and_daemons(call, ada, load_fleets):
    uid = "uid-orchid-train"
    load_fleets(
        "nvidia-gb200-gpus-and-computedomain",
        extra=[
            domain("ai-training", "orchid-train", "Ready", ("n2", "c.1", "Ready")),
            domain("maple-lab", "maple-train", "Ready", ("m1", "c.9", "Ready")),
            domain_claim("ai-training", "worker-0", "channel-0", uid),
            domain_claim("dra-driver", "daemon-x", "daemon-0", uid),
            domain_claim("maple-lab", "maple-0", "channel-0", "uid-maple-train"),
        ],
    )

    (found,) = call(ada).items(f"{C}/compute-domains")

    assert (found["name"], found["healthy"]) == ("orchid-train", True)
    nodes = {each["name"]: each for each in found["nodes"]}
    assert nodes["n2"]["clique"] == "c.1"
    (holding,) = [each for each in found["nodes"] if each["channels"]]
    assert not holding["member"]
    assert holding["channels"][0]["claim"] == "worker-0"
    assert holding["daemons"] == [
        {"device": "daemon-0", "namespace": None, "claim": None}
    ]


def test_attributes_are_those_that_devices_publish(as_ada):
    keys = [each["key"] for each in as_ada.items(f"{C}/attributes?limit=7")]
    values = as_ada.items(f"{C}/attributes?key=gpu.nvidia.com/type")

    assert "gpu.nvidia.com/type" in keys
    assert keys == sorted(keys)
    counts = {each["value"]: each["devices"] for each in values}
    assert counts["mig"] == 50
    assert counts["vfio"] == 2


def test_cards_are_filtered_as_on_the_page(as_ada, call, cleo):
    def names(caller, query):
        return {(c["node"], c["name"]) for c in caller.items(f"{C}/cards?{query}")}

    assert {node for node, _ in names(as_ada, "deviceClass=mig.nvidia.com")} == {
        "gpu-h100-mig"
    }
    assert names(as_ada, "tenant=orchid") == names(as_ada, "mine=true")
    assert names(as_ada, "tenant=maple") == set()
    assert names(as_ada, "q=orchid-whole") == {("gpu-l40s-a", "gpu-0")}
    assert names(as_ada, "q=maple-whole") == set()
    assert names(as_ada, "driver=dra.net") == set()
    refused = as_ada.get(f"{C}/cards?deviceClass=nothing")
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["parameter"] == "deviceClass"


def test_views_are_kept_listed_and_removed_by_their_owner(as_ada, call, cleo):
    made = as_ada.post("saved-views", {"name": "big", "query": "free=40&group=product"})
    other = call(cleo)

    assert made.status_code == 201
    assert as_ada.items("saved-views") == [made.json()]
    assert other.items("saved-views") == []
    path = f"saved-views/{made.json()['id']}"
    assert other.send("DELETE", path).status_code == 404
    assert as_ada.send("DELETE", path).status_code == 204
    assert not SavedView.objects.exists()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"name": "", "query": ""}, 400),
        ({"name": "x"}, 400),
        ({"name": "x", "query": "from=n1"}, 422),
        ({"name": "x", "query": "", "more": 1}, 400),
        ({"name": "x" * 64, "query": ""}, 400),
    ],
)
def test_views_of_no_use_are_refused(body, status, as_ada):
    assert as_ada.post("saved-views", body).status_code == status
    assert not SavedView.objects.exists()


def test_a_token_to_read_keeps_no_view(call, ada, held_cluster):
    answer = call(ada, "inventory:read").post("saved-views", {"name": "x", "query": ""})

    assert answer.status_code == 403


@pytest.mark.parametrize("name", ["ada", "cleo"])
def test_no_detail_names_another_tenant(name, held_cluster, recorded, call, request):
    caller = call(request.getfixturevalue(name))
    foreign = {"ada": ["maple"], "cleo": ["ai-serving", "ai-training", "orchid"]}[name]
    paths = [f"{C}/{each}" for each in ("fragmentation", "compute-domains")]
    paths += [f"{C}/history?by=tenant", f"{C}/history.csv?by=tenant"]
    for each in caller.items(f"{C}/cards?limit=500&fields=driver,pool,name"):
        paths.append(f"{C}/cards/{each['driver']}/{each['pool']}/{each['name']}")
    for each in caller.items(f"{C}/classes?fields=name"):
        paths.append(f"{C}/classes/{each['name']}")

    for path in paths:
        answer = caller.get(path)
        assert answer.status_code == 200, path
        for word in foreign:
            assert word not in answer.getvalue().decode(), path

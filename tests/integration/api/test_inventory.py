"""What the API says of inventory: pages, filters, members, and whose names."""

from __future__ import annotations

import csv
import io
import json

import pytest

from inventory.models import Device
from tests.integration.pages.conftest import FABRIC, fabric_claim

LISTS = ["nodes", "pools", "devices", "cards", "classes", "claims"]


@pytest.fixture
def as_ada(call, ada, held_cluster):
    return call(ada)


@pytest.mark.parametrize("name", LISTS)
def test_pages_of_any_length_hold_every_item_once(name, as_ada):
    whole = as_ada.get(f"clusters/demo/{name}?limit=500").json()["items"]

    assert len(whole) > 3
    for limit in (1, 3):
        assert as_ada.items(f"clusters/demo/{name}?limit={limit}") == whole


def test_devices_are_those_of_the_cluster(as_ada, held_cluster):
    found = as_ada.items("clusters/demo/devices?fields=id&limit=7")

    assert len(found) == Device.objects.filter(cluster=held_cluster).count()


def test_a_page_is_right_though_rows_come_before_it(as_ada, held_cluster):
    first = as_ada.get("clusters/demo/devices?limit=5&fields=id").json()
    rest_before = as_ada.items(first["next"])
    device = Device.objects.filter(cluster=held_cluster).first()
    device.pk, device.driver, device.pool = None, "a.example.com", "a"
    device.save()

    assert as_ada.items(first["next"]) == rest_before


def test_the_next_page_is_a_link_too(as_ada):
    answer = as_ada.get("clusters/demo/devices?limit=1")

    assert answer["Link"] == f'<{answer.json()["next"]}>; rel="next"'


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("node=gpu-l40s-a", 4),
        ("pool=gpu-l40s-a&q=gpu-1", 1),
        ("driver=dra.net", 3),
        ("attribute=productName=NVIDIA L40S", 4),
        ("attribute=gpu.nvidia.com/productName=NVIDIA L40S", 4),
        ("attribute=productName=NVIDIA L40S&attribute=type=vfio", 0),
        ("attribute=dra.net/mtu=8896&driver=dra.net", None),
        ("attribute=dra.net/rdma=true", None),
        ("attribute=nothing=1", 0),
        ("type=mig&node=gpu-h100-mig", None),
    ],
)
def test_devices_by_value_and_attribute(query, expected, as_ada, held_cluster):
    found = as_ada.items(f"clusters/demo/devices?limit=500&{query}")

    if expected is None:
        assert 0 < len(found) < Device.objects.filter(cluster=held_cluster).count()
    else:
        assert len(found) == expected, [each["id"] for each in found]


def test_devices_by_cel_selector_are_those_that_the_engine_names(as_ada):
    cel = 'device.attributes["gpu.nvidia.com"].productName == "NVIDIA L40S"'

    found = as_ada.send(
        "GET", f"/api/v1/clusters/demo/devices?limit=3&fields=id,product&cel={cel}"
    ).json()

    assert [each["product"] for each in found["items"]] == ["NVIDIA L40S"] * 3
    assert len(as_ada.items(found["next"])) == 1


def test_a_cel_selector_that_does_not_compile_is_refused_with_its_place(as_ada):
    answer = as_ada.get("clusters/demo/devices?cel=device.driver ==%0A nothing")

    (error,) = answer.json()["errors"]
    assert answer.status_code == 422
    assert error["parameter"] == "cel"
    assert (error["code"], error["line"], error["column"]) == ("cel.compile", 2, 2)


@pytest.mark.parametrize(
    ("path", "parameter"),
    [
        ("clusters?limit=0", "limit"),
        ("clusters?limit=501", "limit"),
        ("clusters?limit=two", "limit"),
        ("clusters?limit=2&limit=3", "limit"),
        ("clusters?colour=red", "colour"),
        ("clusters?fields=name,colour", "fields"),
        ("clusters?cursor=bm90IG91cnM", "cursor"),
        ("clusters?cursor=WyJhIiwiYiJd", "cursor"),
        ("clusters?cursor=%C3%B6", "cursor"),
        ("clusters/demo/devices?attribute=novalue", "attribute"),
        ("clusters/demo/devices?cursor=WzEsMiwzLDRd", "cursor"),
        ("clusters/demo/pools?verdict=fine", "verdict"),
        ("clusters/demo/cards?minFreeGiB=-1", "minFreeGiB"),
        ("clusters/demo/cards?mine=perhaps", "mine"),
        ("clusters/demo?limit=3", "limit"),
        ("claim-requests?state=Lost", "state/0"),
        ("claim-requests?cursor=WyJub3ciLDFd", "cursor"),
    ],
)
def test_parameters_of_no_use_are_refused_by_name(path, parameter, as_ada):
    answer = as_ada.get(path)

    assert answer.status_code == 400, answer.content
    assert [error["parameter"] for error in answer.json()["errors"]] == [parameter]


@pytest.mark.parametrize(
    "path",
    [
        "clusters/nowhere",
        "clusters/nowhere/cards",
        "nix",
        "clusters/demo/devices/a/b/c",
        "clusters/demo/",
    ],
)
def test_what_is_not_there_is_a_problem(path, as_ada):
    answer = as_ada.get(path)

    assert answer.status_code == 404
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["code"] == "request.not_found"


@pytest.mark.parametrize("path", ["clusters/a%00b", "clusters/demo/pools?q=%00"])
def test_a_nul_in_the_address_is_a_problem(path, as_ada):
    answer = as_ada.get(path)

    assert answer.status_code == 400
    assert answer["Content-Type"] == "application/problem+json"


def test_fields_leave_the_rest_out(as_ada):
    page = as_ada.get("clusters/demo/pools?fields=name,verdict").json()

    assert {tuple(each) for each in page["items"]} == {("name", "verdict")}


def test_a_device_says_all_that_is_known(as_ada):
    found = as_ada.get("clusters/demo/devices/gpu.nvidia.com/gpu-l40s-a/gpu-0").json()

    assert found["id"] == "gpu.nvidia.com/gpu-l40s-a/gpu-0"
    assert found["state"] == "in-use"
    assert found["memoryBytes"] == 48305799168
    (holder,) = found["holders"]
    assert (holder["namespace"], holder["mine"]) == ("ai-training", True)


def test_unknown_memory_is_null_and_never_zero(as_ada):
    cards = as_ada.items("clusters/demo/cards?node=spark-01")

    assert [card["memory"]["total"] for card in cards] == [None]
    assert [card["memory"]["allocated"] for card in cards] == [None]
    assert [card["memory"]["unavailable"] for card in cards] == [None]


def test_cards_say_each_way_to_use_them_when_asked(as_ada):
    card, *_more = as_ada.items("clusters/demo/cards?node=gpu-h100-mig&placements=true")
    plain, *_more = as_ada.items("clusters/demo/cards?node=gpu-h100-mig")

    assert len(card["placements"]) > 10
    assert {each["state"] for each in card["placements"]} > {"possible", "taken"}
    assert plain["placements"] == []
    assert card["memorySlices"]["taken"] == 2
    assert card["computeSlices"] == {"total": 7, "taken": 2}
    slices = {each["profile"]: each["computeSlices"] for each in card["placements"]}
    assert (slices["3g.40gb"], slices["1g.20gb"], slices[None]) == (3, 1, None)


def test_cards_by_room_and_owner(as_ada):
    mine = as_ada.items("clusters/demo/cards?mine=true")
    roomy = as_ada.items("clusters/demo/cards?minFreeGiB=60")

    assert all(any(h["mine"] for h in card["holders"]) for card in mine)
    assert mine
    assert all(card["memory"]["largest"] >= 60 * 2**30 for card in roomy)
    (faulty,) = as_ada.items("clusters/demo/cards?node=gpu-h100-upd")
    memory = faulty["memory"]
    assert memory["unavailable"] == memory["total"] > 0
    assert memory["available"] == memory["allocated"] == 0
    assert roomy


@pytest.mark.parametrize("name", ["ada", "cleo"])
def test_no_address_names_another_tenant(name, held_cluster, call, request):
    caller = call(request.getfixturevalue(name))
    foreign = {"ada": ["maple-"], "cleo": ["ai-serving", "ai-training", "orchid-"]}
    paths = [f"clusters/demo/{each}?limit=500" for each in LISTS]
    paths += ["clusters/demo/cards?limit=500&placements=true"]
    paths += ["clusters", "clusters/demo", "clusters/demo/occupancy", "claim-requests"]
    paths += ["clusters/demo/devices.csv", "clusters/demo/devices.ndjson"]
    paths += [
        f"clusters/demo/devices/{each['id']}"
        for each in caller.items("clusters/demo/devices?limit=500&fields=id")
    ]

    for path in paths:
        answer = caller.get(path)
        assert answer.status_code == 200, path
        text = answer.getvalue().decode()
        for word in foreign[name]:
            assert word not in text, path


def test_holders_that_may_not_be_named_are_counted(as_ada):
    found = as_ada.get("clusters/demo/devices/gpu.nvidia.com/gpu-l40s-a/gpu-1").json()

    assert (found["holders"], found["otherHolders"]) == ([], 1)


def test_a_claim_of_another_tenant_is_not_there(call, ada, cleo, held_cluster):
    path = "clusters/demo/claims/maple-lab/maple-share"

    assert call(cleo).get(path).status_code == 200
    assert call(ada).get(path).status_code == 404


@pytest.mark.parametrize(
    ("age", "conditions", "state", "told"),
    [
        (30, [], "awaited", ["awaited", None]),
        (30, ["FabricAttached"], "met", ["met", None]),
        (30, ["FabricAttachFailed"], "failed", ["awaited", "failed"]),
        (700, [], "timed-out", ["awaited", None]),
    ],
)
def test_a_claim_says_what_its_devices_wait_for(
    age, conditions, state, told, load_fleets, call, ada
):
    load_fleets(FABRIC, extra=[fabric_claim(age, *conditions)])

    found = call(ada).get("clusters/demo/claims/ai-serving/orchid-fabric").json()
    [listed] = call(ada).items("clusters/demo/claims")

    binding = found["binding"]
    assert listed["binding"]["state"] == binding["state"] == state
    assert age <= binding["waitedSeconds"] < age + 100
    assert binding["timeoutSeconds"] == 600
    hoped, feared = binding["conditions"]
    assert [hoped["state"], feared["state"]] == told
    assert (hoped["type"], hoped["isFailure"]) == ("FabricAttached", False)
    assert (feared["type"], feared["isFailure"]) == ("FabricAttachFailed", True)
    assert hoped["device"] == "composable.example.com/rack-7/gpu-0"
    words = {each["message"] for each in binding["conditions"] if each["since"]}
    assert words == ({"attached to port 7"} if conditions else set())


def test_a_claim_whose_devices_are_ready_at_once_waits_for_nothing(as_ada):
    path = "clusters/demo/claims/ai-serving/orchid-share"

    assert as_ada.get(path).json()["binding"] is None


def test_streams_hold_every_device_once(as_ada, held_cluster):
    lines = as_ada.get("clusters/demo/devices.ndjson").getvalue().splitlines()
    table = as_ada.get("clusters/demo/devices.csv").getvalue().decode()
    listed = as_ada.items("clusters/demo/devices?limit=500")

    assert [json.loads(line) for line in lines] == listed
    rows = list(csv.DictReader(io.StringIO(table)))
    assert [row["id"] for row in rows] == [each["id"] for each in listed]
    assert json.loads(rows[0]["attributes"]) == listed[0]["attributes"]


def test_a_table_begins_no_cell_as_a_formula(as_ada, held_cluster):
    Device.objects.filter(cluster=held_cluster).update(slice_name="=1+1")

    table = as_ada.get("clusters/demo/devices.csv").getvalue().decode()

    assert "'=1+1" in table
    assert ",=1+1" not in table


@pytest.mark.parametrize(
    ("path", "count"),
    [
        # Token and owner, cluster, namespaces of the caller, devices, holds.
        ("devices", 5),
        # Token and owner, cluster, pools, devices a pool.
        ("pools", 4),
        # Token and owner, cluster, nodes.
        ("nodes", 3),
        # Token and owner, cluster, namespaces of the caller.
        ("cards", 3),
    ],
)
@pytest.mark.parametrize("limit", [2, 200])
def test_lists_make_the_same_queries_whatever_their_length(
    path, count, limit, as_ada, django_assert_num_queries
):
    as_ada.get(f"clusters/demo/{path}")

    with django_assert_num_queries(count):
        as_ada.get(f"clusters/demo/{path}?limit={limit}")


def test_counts_say_whether_they_are_all(load_fleets, call, ada):
    incomplete = "pool-incomplete-generation"
    for fleet in (incomplete, "nvidia-t4-l40s"):
        load_fleets(fleet, name="demo")
        client = call(ada)

        totals = client.get("clusters/demo/occupancy").json()
        free = client.get("clusters/demo/availability").json()["classes"]

        assert totals["cards"]["countAtLeast"] is (fleet == incomplete), totals
        assert {each["matchingAtLeast"] for each in free} == {fleet == incomplete}

"""What the field guides let one ask for, a test a system: S3 to S8, S10, S15, S24."""

from __future__ import annotations

import pytest

from tests.conftest import DATA
from tests.guides.manifests import (
    GPU,
    WHOLE,
    claim,
    device_class,
    one_gpu,
    selectors,
    shares_or_partitions,
    template,
)
from tests.guides.test_systems_seen import FULL, answer, items
from tests.integration.api.conftest import call, no_counts  # noqa: F401  fixtures
from tests.integration.composer.conftest import composer, text  # noqa: F401  fixtures
from tests.integration.pages.conftest import claim as held
from tests.integration.pages.conftest import result, share

pytestmark = pytest.mark.django_db(transaction=True)
SHARES = "nvidia-h100-consumable-shares"
MIG = "nvidia-h100-dynamic-mig-k8s135"
SPACE = "ai-serving"
MAPPED = "example.com/whole-gpu"


@pytest.fixture
def api(call, dora):  # noqa: F811
    """Return an admin's caller of the REST API."""
    return call(dora)


def judged(api, *objects, cluster="demo"):
    """Return what check says of the first of some objects."""
    body = {"objects": list(objects)}
    return answer(api.post(f"clusters/{cluster}/check", body))["items"][0]


def outcomes(item):
    """Return node → outcome."""
    nodes = item["preview"]["nodes"]
    return {name: node["outcome"] for name, node in nodes.items()}


def codes(item, *levels):
    """Return the codes of an item's findings."""
    found = item["diagnostics"]
    return {each["code"] for each in found if not levels or each["level"] in levels}


def devices_on(item, node):
    """Return the devices that a claim would be given on a node."""
    (allocation,) = item["preview"]["nodes"][node]["results"]
    return [each["device"] for each in allocation["devices"]["results"]]


def asking(*expressions, class_name=GPU, **more):
    """Return the devices of one exact request."""
    exactly = {"deviceClassName": class_name, **more}
    if expressions:
        exactly["selectors"] = selectors(*expressions)
    return {"requests": [{"name": "gpu", "exactly": exactly}]}


def test_s03_the_composer_writes_what_is_checked_and_previewed(composer, text):  # noqa: F811
    page = composer.open(preset="hopper-shares")

    assert page.status_code == 200
    assert "firstAvailable" in text(page)
    words = text(composer.press("", path="preview/"))
    assert "Fits on 3 of 6 nodes" in words


def test_s04_cel_has_a_place_and_a_cost(load_fleets, api):
    load_fleets(FULL)

    bad = answer(
        api.post("clusters/demo/cel", {"expression": "device.driver ==\n 1 1"})
    )
    compiled = bad["compile"]["apiserver"]
    assert (compiled["ok"], compiled["line"], compiled["column"]) == (False, 2, 4)
    good = answer(api.post("clusters/demo/cel", {"expression": WHOLE}))
    assert good["devices"] == {"match": 8, "noMatch": 0, "error": 0}
    assert 0 < good["cost"] < good["limit"]


def test_s05_shares_add_up_to_no_more_than_the_card_and_are_rounded(load_fleets, api):
    taken = [
        held(
            SPACE,
            f"share-{number}",
            result("gpu-h100-share-a", f"gpu-{number}", **share("72Gi", number)),
        )
        for number in range(4)
    ]
    load_fleets(SHARES, extra=taken)
    asked = asking("device.allowMultipleAllocations")
    for memory, fits in (("7Gi", True), ("16Gi", False)):
        asked["requests"][0]["exactly"]["capacity"] = {"requests": {"memory": memory}}
        found = outcomes(judged(api, claim("more", SPACE, asked)))
        assert (found["gpu-h100-share-a"] == "fits") == fits
        assert found["gpu-h100-share-b"] == "fits"
    asked["requests"][0]["exactly"]["capacity"] = {"requests": {"memory": "1536Ki"}}
    item = judged(api, claim("odd", SPACE, asked))
    (allocation,) = item["preview"]["nodes"]["gpu-h100-share-b"]["results"]
    (given,) = allocation["devices"]["results"]
    assert given["consumedCapacity"]["memory"] == "2Mi"


def test_s06_constraints_that_match_and_that_tell_apart(load_fleets, api):
    load_fleets(SHARES, FULL)
    pair = asking("device.allowMultipleAllocations", count=2)
    pair["requests"][0]["exactly"]["capacity"] = {"requests": {"memory": "8Gi"}}
    pair["constraints"] = [{"requests": ["gpu"], "distinctAttribute": f"{GPU}/uuid"}]
    apart = judged(api, claim("apart", SPACE, pair))
    assert len(set(devices_on(apart, "gpu-h100-share-a"))) == 2

    root = "resource.kubernetes.io/pcieRoot"
    pair["constraints"] = [{"requests": ["gpu"], "matchAttribute": root}]
    together = judged(api, claim("together", SPACE, pair))
    roots = {
        each["name"]: each["topology"][root]
        for each in items(api, "cards")
        if each["pool"] == "gpu-h100-share-a"
    }
    first, second = devices_on(together, "gpu-h100-share-a")
    assert first != second
    assert roots[first] == roots[second]


def test_s07_h100_else_two_l40s_else_a_partition(load_fleets, api):
    load_fleets(FULL, "nvidia-t4-l40s", MIG)
    name = f'device.attributes["{GPU}"].productName'
    profile = f'device.attributes["{GPU}"].profile == "4g.40gb"'
    one = {"count": 1, "allocationMode": "ExactCount"}
    first = [
        {"name": "h100", "deviceClassName": GPU, **one}
        | {"selectors": selectors(f"{WHOLE} && {name} == 'NVIDIA H100 80GB HBM3'")},
        {"name": "l40s", "deviceClassName": GPU, **one, "count": 2}
        | {"selectors": selectors(f"{name} == 'NVIDIA L40S'")},
        {"name": "mig", "deviceClassName": "mig.nvidia.com", **one}
        | {"selectors": selectors(profile)},
    ]
    devices = {"requests": [{"name": "gpu", "firstAvailable": first}]}

    item = judged(api, template("serve", SPACE, devices))

    chosen = {}
    for node, found in item["preview"]["nodes"].items():
        if found["outcome"] == "fits":
            results = found["results"][0]["devices"]["results"]
            chosen[node] = [each["request"] for each in results]
    assert chosen["gpu-h100-a"] == ["gpu/h100"]
    assert chosen["gpu-l40s-a"] == ["gpu/l40s", "gpu/l40s"]
    assert chosen["gpu-h100-mig"] in (["gpu/h100"], ["gpu/mig"])
    assert "gpu-t4-a" not in chosen


def test_s08_binding_conditions_are_what_a_claim_waits_for(load_fleets, api):
    rack = {"name": "n7", "labels": {"example.com/fabric": "rack-7"}}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": rack}
    load_fleets("composable-gpu-binding-conditions", extra=[node])
    asked = asking("device.driver == 'composable.example.com'", class_name="fabric")
    fabric = device_class("fabric", "device.driver == 'composable.example.com'")

    item = judged(api, claim("fabric", SPACE, asked), fabric)

    waits = [
        each
        for node in item["preview"]["nodes"].values()
        for allocation in node["results"] or ()
        for each in allocation["devices"]["results"]
    ]
    assert waits
    assert all(each["bindingConditions"] == ["FabricAttached"] for each in waits)


def test_s10_an_extended_resource_is_mapped_and_clashes_are_told(load_fleets, api):
    mapped = device_class("whole.example.com", WHOLE, extended=MAPPED)
    second = device_class("other.example.com", WHOLE, extended=MAPPED)
    for day, body in enumerate((mapped, second), start=1):
        body["metadata"]["creationTimestamp"] = f"2026-11-0{day}T00:00:00Z"
    load_fleets(FULL, extra=[mapped, second])

    classes = {each["name"]: each for each in items(api, "classes")}

    found = classes["whole.example.com"]
    assert (found["extendedResourceName"], found["matching"]) == (MAPPED, 8)
    assert "other.example.com" in found["rivals"]
    assert found["winner"] == "other.example.com"


def test_s15_one_claim_for_many_containers_and_pods(load_fleets, api):
    load_fleets(FULL)
    manifest = claim("for-all", SPACE, one_gpu())

    offered = answer(api.post("clusters/demo/workloads", {"manifest": manifest}))

    texts = [each["yaml"] for each in offered["workloads"]]
    assert any(one.count("- name: gpu") >= 2 for one in texts)
    assert any("resourceClaimName: for-all" in one for one in texts)


@pytest.mark.parametrize(
    "name", sorted(p.name for p in (DATA / "guides").glob("*.yaml"))
)
def test_s24_every_manifest_of_the_guides_is_read_and_ends_sound(
    load_fleets, api, name
):
    load_fleets(SHARES, MIG, FULL, "nvidia-gb200-gpus-and-computedomain")
    words = (DATA / "guides" / name).read_text()

    first = answer(api.post("clusters/demo/import", {"text": words}))
    again = answer(api.post("clusters/demo/import", {"text": first["text"]}))

    assert again["valid"]
    assert again["diff"] == ""


def test_s24_the_guides_template_then_takes_shares_on_two_cards(load_fleets, api):
    load_fleets(SHARES, FULL)

    right = judged(api, shares_or_partitions(SPACE))

    assert outcomes(right)["gpu-h100-a"] == "no"
    assert len(set(devices_on(right, "gpu-h100-share-a"))) == 2
    assert not codes(right, "error")

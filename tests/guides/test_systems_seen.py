"""What the field guides let one see, a test a system: S1, S2, S11 to S14, S23.

Each is asked as automation asks it, over REST, of fleets as their drivers publish
them. What the parts do in detail is tested where they live.
"""

from __future__ import annotations

import pytest

from inventory.gateways.files import read_objects
from inventory.services.loading import load_cluster
from portal.adoption.domain.savings import pool_count
from tests.conftest import DATA
from tests.guides.manifests import GPU, claim, one_gpu, selectors, template
from tests.integration.api.conftest import call, no_counts  # noqa: F401  fixtures
from tests.integration.pages.conftest import claim as held
from tests.integration.pages.conftest import result

pytestmark = pytest.mark.django_db(transaction=True)
GIB = 2**30
FULL = "nvidia-h100-full-8gpu"
TWELVE = f'device.capacity["{GPU}"].memory.compareTo(quantity("12Gi")) >= 0'


@pytest.fixture
def api(call, dora):  # noqa: F811
    """Return an admin's caller of the REST API."""
    return call(dora)


def answer(response):
    """Return the body of a good answer."""
    assert response.status_code == 200, response.content
    return response.json()


def items(api, kind, *, cluster="demo"):
    """Return all things of a kind of a cluster."""
    return api.items(f"clusters/{cluster}/{kind}")


def test_s01_slices_of_every_version_and_only_complete_pools(load_fleets, api, now):
    load_fleets(FULL, "pool-incomplete-generation")
    verdicts = {pool["name"]: pool["verdict"] for pool in items(api, "pools")}
    assert verdicts == {"gpu-h100-a": "complete", "gpu-h100-upd": "incomplete"}
    unusable = [card for card in items(api, "cards") if not card["usable"]]
    assert {card["pool"] for card in unusable} == {"gpu-h100-upd"}

    legacy = list(
        read_objects(str(DATA / "fleets" / "nvidia-b200-v25.3-v1beta1-legacy.yaml"))
    )
    assert {body["apiVersion"] for body in legacy} >= {"resource.k8s.io/v1beta1"}
    load_cluster("old", legacy, kubernetes_version="1.34.4", feature_gates={}, now=now)
    assert {card["product"] for card in items(api, "cards", cluster="old")} == {
        "NVIDIA B200"
    }


def test_s02_classes_claims_and_templates_shared_or_per_pod(load_fleets, api):
    shared = held("ai-serving", "for-two", result("gpu-h100-a", "gpu-0"))
    shared["status"]["reservedFor"] = [
        {"resource": "pods", "name": name, "uid": name} for name in ("one", "two")
    ]
    load_fleets(FULL, extra=[shared, template("each", "ai-serving", one_gpu())])

    classes = {each["name"]: each for each in items(api, "classes")}
    assert classes[GPU]["matching"] == 8
    assert classes[GPU]["free"] == 7
    (found,) = items(api, "claims")
    assert (found["name"], found["pods"]) == ("for-two", ["one", "two"])
    asked = {"objects": [template("each", "ai-serving", one_gpu())]}
    (judged,) = answer(api.post("clusters/demo/check", asked))["items"]
    assert judged["kind"] == "ResourceClaimTemplate"
    assert judged["preview"]["nodes"]["gpu-h100-a"]["outcome"] == "fits"


def test_s11_memory_slices_of_every_gpu(load_fleets, api):
    mig = held(
        "ai-serving",
        "half",
        result("gpu-h100-mig", "gpu-0-mig-3g40gb-9-0", driver=GPU),
    )
    load_fleets("nvidia-h100-dynamic-mig-k8s135", extra=[mig])

    first, second = items(api, "cards")

    assert first["memorySlices"] == {"total": 8, "taken": 4, "unavailable": 0}
    assert second["memorySlices"] == {"total": 8, "taken": 0, "unavailable": 0}
    assert first["largestProfile"] in ("3g.40gb", "4g.40gb")
    assert [each["claim"] for each in first["holders"]] == ["half"]
    assert 0 < first["memory"]["available"] < second["memory"]["available"]


def test_s12_fragmentation_has_the_guides_numbers(load_fleets, api):
    """12 GiB on each of eight 80 GiB cards: 96 of 640 GiB, 15 %, 544 stranded."""
    fleet = list(read_objects(str(DATA / "fleets" / f"{FULL}.yaml")))
    for body in fleet:
        for device in body["spec"].get("devices", []):
            device["capacity"]["memory"] = {"value": "80Gi"}
    asked = one_gpu()
    asked["requests"][0]["name"] = "job-request"
    asked["requests"][0]["exactly"]["selectors"] = selectors(TWELVE)
    jobs = [
        held("ai-serving", f"job-{number}", result("gpu-h100-a", f"gpu-{number}"))
        for number in range(8)
    ]
    for job in jobs:
        job["spec"]["devices"] = asked
    load_fleets(extra=[*fleet, *jobs])

    whole = answer(api.get("clusters/demo/fragmentation"))["cluster"]

    assert whole["heldWhole"]["held"] == 640 * GIB
    assert whole["heldWhole"]["needed"] == 96 * GIB
    assert whole["heldWhole"]["stranded"] == 544 * GIB
    assert whole["heldWhole"]["eta"] == pytest.approx(0.15)
    assert whole["severity"] == 3
    assert pool_count(dict.fromkeys("vwxyz", "abc")) == 243


def test_s13_compute_domains_and_their_channels(load_fleets, api):
    domain = {
        "apiVersion": "resource.nvidia.com/v1beta1",
        "kind": "ComputeDomain",
        "metadata": {"name": "train", "namespace": "ai-training", "uid": "u1"},
        "spec": {
            "numNodes": 2,
            "channel": {
                "allocationMode": "Single",
                "resourceClaimTemplate": {"name": "train-channel"},
            },
        },
        "status": {
            "status": "Ready",
            "nodes": [
                {"name": name, "cliqueID": "c.1", "status": "Ready", "index": index}
                for index, name in enumerate(("n1", "n2"))
            ],
        },
    }
    load_fleets("nvidia-gb200-gpus-and-computedomain", extra=[domain])

    (found,) = items(api, "compute-domains")
    assert (found["numNodes"], found["template"]) == (2, "train-channel")
    assert found["healthy"]
    channel = claim(
        "one-channel",
        "ai-training",
        one_gpu("compute-domain-default-channel.nvidia.com"),
    )
    asked = {"objects": [channel]}
    (previewed,) = answer(api.post("clusters/demo/preview", asked))["items"]
    outcomes = {node["outcome"] for node in previewed["preview"]["nodes"].values()}
    assert "fits" in outcomes


def test_s14_nvidias_five_classes_and_passthrough(load_fleets, api):
    load_fleets(
        "nvidia-h100-dynamic-mig-k8s135",
        "nvidia-gb200-gpus-and-computedomain",
        "nvidia-vfio-passthrough",
    )

    classes = {each["name"]: each for each in items(api, "classes")}

    five = (
        GPU,
        "mig.nvidia.com",
        "vfio.gpu.nvidia.com",
        "compute-domain-daemon.nvidia.com",
        "compute-domain-default-channel.nvidia.com",
    )
    assert all(classes[name]["matching"] for name in five)
    assert not any(classes[name]["problem"] for name in five)
    # A card and its passthrough sibling are one card.
    passed = [card for card in items(api, "cards") if "vfio" in card["pool"]]
    assert len(passed) == 2


def test_s23_the_schedulers_cost_is_slices_times_devices_times_expression(
    load_fleets, api
):
    load_fleets(FULL)
    expression = f"device.attributes['{GPU}'].architecture == 'Hopper'"
    one = answer(api.post("clusters/demo/cel", {"expression": expression}))
    twice = f"{expression} && {expression}"
    two = answer(api.post("clusters/demo/cel", {"expression": twice}))

    assert two["cost"] > one["cost"] > 0
    assert sum(one["devices"].values()) == 8
    assert one["limit"] == 1_000_000

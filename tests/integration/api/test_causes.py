"""First causes in the preview over REST: for each node that says no, each alternative's."""

from __future__ import annotations

import pytest

from inventory.domain.engine import Outcome
from inventory.gateways.engine import AsyncEngine
from inventory.gateways.files import read_objects
from tests.conftest import DATA
from tests.integration.why.conftest import holder, request, template

ROOT = "resource.kubernetes.io/pcieRoot"
A100 = 'device.attributes["gpu.nvidia.com"].architecture == "Ampere"'


def asked(call, who, manifest, **more):
    """Return the nodes of a claim's preview."""
    answer = call(who).post("clusters/demo/preview", {"objects": [manifest], **more})
    assert answer.status_code == 200, answer.content
    return answer.json()["items"][0]["preview"]["nodes"]


def causes(node):
    """Return (request, cause, detail, devices) of each cause."""
    return [
        (each["request"], each["cause"], each["detail"], each["devices"])
        for each in node["causes"]
    ]


def test_each_alternative_has_its_first_cause_with_its_numbers(call, ada, load_fleets):
    held = [holder(f"h{i}", f"gpu-h100-a/gpu-{i}") for i in range(7)]
    load_fleets("nvidia-h100-full-8gpu", extra=held)
    two = {
        "name": "gpu",
        "firstAvailable": [
            {"name": "old", **request("", "gpu.nvidia.com", A100)["exactly"]},
            {"name": "many", "deviceClassName": "gpu.nvidia.com", "count": 2},
            {"name": "part", "deviceClassName": "mig.nvidia.com"},
        ],
    }

    node = asked(call, ada, template(two, namespace="ai-serving"))["gpu-h100-a"]

    assert (node["outcome"], node["results"]) == ("no", None)
    assert causes(node) == [
        ("gpu/old", "selector", "1", 8),
        ("gpu/many", "held", "", 7),
        ("gpu/part", "class", "mig.nvidia.com", 8),
    ]
    many = node["causes"][1]
    assert (many["reachable"], many["ofClass"], many["left"], many["wanted"]) == (
        8,
        8,
        1,
        2,
    )
    assert "h1" not in str(node["causes"])


def copies(count):
    """Return the fleet's one slice again, as of other nodes."""
    (body,) = read_objects(str(DATA / "fleets" / "nvidia-h100-full-8gpu.yaml"))
    for number in range(count):
        name = f"more-{number:02d}"
        pool = {**body["spec"]["pool"], "name": name}
        spec = {**body["spec"], "nodeName": name, "pool": pool}
        yield {**body, "metadata": {"name": name}, "spec": spec}


def test_a_constraint_is_to_blame_on_every_node_not_on_the_first_ones(
    call, ada, load_fleets
):
    """Each card has a root of its own, so that two of one root are nowhere."""
    load_fleets("nvidia-h100-full-8gpu", extra=[*copies(40)])
    same = [{"requests": ["gpu"], "matchAttribute": ROOT}]
    pair = template(request(count=2), constraints=same, namespace="ai-serving")

    nodes = asked(call, ada, pair)

    assert len(nodes) > 40
    assert {str(causes(node)) for node in nodes.values() if node["causes"]} == {
        str([(None, "constraint", ROOT, None)])
    }
    assert {node["outcome"] for node in nodes.values()} == {"no"}


def test_what_fits_has_none_and_what_fails_has_none_known(call, ada, load_fleets):
    load_fleets("nvidia-h100-full-8gpu")
    faulty = request("gpu", "gpu.nvidia.com", "device.attributes['x'].y == 1")

    fits = asked(call, ada, template(request(), namespace="ai-serving"))
    fails = asked(call, ada, template(faulty, namespace="ai-serving"))

    assert fits["gpu-h100-a"]["causes"] == []
    assert fails["gpu-h100-a"]["outcome"] == "error"
    assert fails["gpu-h100-a"]["causes"] is None


@pytest.mark.parametrize("more", [{"causes": False}, {"together": True}])
def test_they_are_not_said_where_they_are_not_asked_for(call, ada, load_fleets, more):
    load_fleets("nvidia-h100-full-8gpu")
    nine = template(request(count=9), namespace="ai-serving")

    assert asked(call, ada, nine)["gpu-h100-a"]["causes"] != []
    assert asked(call, ada, nine, **more)["gpu-h100-a"]["causes"] is None


def test_with_yaml_the_query_says_so(call, ada, load_fleets):
    load_fleets("nvidia-h100-full-8gpu")
    text = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: nine, namespace: ai-serving}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 9}}]}}}
"""
    found = []
    for query in ("", "?causes=false"):
        answer = call(ada).send(
            "POST",
            f"clusters/demo/preview{query}",
            text,
            content_type="application/yaml",
        )
        nodes = answer.json()["items"][0]["preview"]["nodes"]
        found.append(nodes["gpu-h100-a"]["causes"] is None)
    assert found == [False, True]


def test_objects_in_the_file_count(call, ada, load_fleets):
    load_fleets("nvidia-h100-full-8gpu")
    held = [holder(f"h{i}", f"gpu-h100-a/gpu-{i}", "ai-serving") for i in range(8)]
    one = template(request(), namespace="ai-serving")

    answer = call(ada).post("clusters/demo/preview", {"objects": [*held, one]})

    node = answer.json()["items"][-1]["preview"]["nodes"]["gpu-h100-a"]
    assert causes(node) == [("gpu", "held", "", 8)]


def test_what_is_not_found_out_in_time_is_unknown_and_never_empty(
    call, ada, load_fleets, monkeypatch
):
    """Two of one root are nowhere; which of the two it is takes the engine's answer."""
    load_fleets("nvidia-h100-full-8gpu")
    same = [{"requests": ["gpu"], "matchAttribute": ROOT}]
    pair = template(request(count=2), constraints=same, namespace="ai-serving")

    async def late(self, claims, *, nodes, budget):
        return dict.fromkeys(nodes, Outcome.UNDECIDED)

    monkeypatch.setattr(AsyncEngine, "outcomes", late)

    node = asked(call, ada, pair)["gpu-h100-a"]

    assert (node["outcome"], node["causes"]) == ("no", None)

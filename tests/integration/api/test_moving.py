"""Copies and moves over REST: nothing is done, and nothing of others is told."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.integration.why.conftest import holder, request, template
from tests.integration.why.test_moves import CROWDED, FULL_OTHER, MIB, MIG, mig

THREE = template(request(count=3), namespace="ai-serving")


def test_copies_are_counted_together_and_the_first_that_fails_is_told(
    call, ada, load_fleets
):
    load_fleets("nvidia-h100-full-8gpu")

    answer = call(ada).post("clusters/demo/copies", {"manifest": THREE})

    assert answer.status_code == 200, answer.content
    told = answer.json()
    assert told["nodes"]["gpu-h100-a"]["copies"] == 2
    together = told["together"]
    assert (together["copies"], together["failing"]) == (2, 3)
    (reason,) = together["reasons"]
    assert (reason["request"], reason["cause"]) == ("gpu", "in use")
    assert "2 left, 3 needed" in reason["message"]


def test_where_not_one_fits_the_first_copy_is_the_failing_one(call, ada, load_fleets):
    load_fleets("nvidia-h100-full-8gpu")
    nine = template(request(count=9), namespace="ai-serving")

    told = call(ada).post("clusters/demo/copies", {"manifest": nine}).json()

    assert (told["together"]["copies"], told["together"]["failing"]) == (0, 1)
    assert "8 devices" in told["together"]["reasons"][0]["message"]


def test_a_count_that_ends_is_a_lower_bound(call, ada, load_fleets):
    load_fleets("nvidia-h100-full-8gpu")
    text = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}}
"""

    answer = call(ada).send(
        "POST",
        "clusters/demo/copies?most=3&namespace=ai-serving",
        text,
        content_type="application/yaml",
    )

    assert answer.status_code == 200, answer.content
    assert answer.json()["together"] == {
        "copies": 3,
        "atLeast": True,
        "failing": None,
        "reasons": [],
    }


def test_pods_share_a_claim_so_that_there_is_nothing_together(call, ada, load_fleets):
    load_fleets("nvidia-h100-full-8gpu")
    claim = {**THREE, "kind": "ResourceClaim", "spec": THREE["spec"]["spec"]}

    told = call(ada).post("clusters/demo/copies", {"manifest": claim}).json()

    assert told["together"] is None
    assert told["nodes"]


@pytest.fixture
def crowded(load_fleets):
    others = mig("secret", "gpu-0-mig-1g10gb-19-0", "1g.10gb", namespace="maple-lab")
    mine = mig("high", "gpu-0-mig-1g10gb-19-4", "1g.10gb", namespace="ai-serving")
    return load_fleets(MIG, extra=[others, mine, FULL_OTHER])


def test_moves_name_own_claims_and_no_others(call, ada, crowded):
    answer = call(ada).get("clusters/demo/moves")

    assert answer.status_code == 200, answer.content
    told = answer.json()
    assert told["kinds"] == [
        {"product": "NVIDIA H100 80GB HBM3", "kind": "dynamic", "largest": 20096 * MIB}
    ]
    mine, others = told["moves"]
    assert mine["claim"] == {"namespace": "ai-serving", "name": "high"}
    assert others["claim"] is None
    assert mine["frees"] == {
        "profile": "3g.40gb",
        "role": "partition",
        "memory": 40448 * MIB,
        "device": "gpu-h100-mig/gpu-0-mig-3g40gb-9-4",
        "largestNow": 20096 * MIB,
    }
    assert mine["from"] == {
        "node": "gpu-h100-mig",
        "devices": ["gpu-h100-mig/gpu-0-mig-1g10gb-19-4"],
    }
    assert mine["to"]["devices"] == ["gpu-h100-mig/gpu-0-mig-1g10gb-19-1"]
    assert told["notLookedAt"] == 0
    assert b"maple-lab" not in answer.content


def test_who_sees_holders_is_told_every_claim(call, dora, crowded):
    told = call(dora).get("clusters/demo/moves").json()

    assert {each["claim"]["namespace"] for each in told["moves"]} == {
        "ai-serving",
        "maple-lab",
    }


def test_the_page_says_the_same(ada, crowded):
    client = Client()
    client.force_login(ada)

    page = client.get("/c/demo/moves/").content.decode()

    assert "ai-serving/high" in page
    assert "a claim in use by others" in page
    assert "maple-lab" not in page
    assert "3g.40gb" in page
    assert "39.5 GiB" in page


def test_where_nothing_helps_the_page_says_so(ada, load_fleets):
    load_fleets(MIG, extra=CROWDED)
    client = Client()
    client.force_login(ada)

    page = client.get("/c/demo/moves/").content.decode()

    assert "No single move frees a larger piece than there is now." in page


def test_a_claim_that_does_not_fit_is_explained(call, ada, load_fleets):
    theirs = holder("secret", "gpu-h100-a/gpu-0", namespace="maple-lab")
    load_fleets("nvidia-h100-full-8gpu", "nvidia-t4-l40s", extra=[theirs])
    eight = template(request(count=8), namespace="ai-serving")

    answer = call(ada).post("clusters/demo/explain", {"manifest": eight})

    assert answer.status_code == 200, answer.content
    told = answer.json()
    assert (told["fitting"], told["total"], told["problem"]) == (0, 3, None)
    (node,) = [each for each in told["nodes"] if each["node"] == "gpu-h100-a"]
    assert (node["outcome"], node["reasons"][0]["cause"]) == ("no", "in use")
    assert "8 devices of class gpu.nvidia.com" in node["reasons"][0]["message"]
    edits = {each["path"]: each["value"] for each in told["changes"]}
    assert edits["spec.spec.devices.requests[0].exactly.count"] == "7"
    assert any(each["path"] is None for each in told["changes"])
    assert told["together"] is None
    assert told["cost"]["devices"] == 13
    assert b"maple-lab" not in answer.content
    assert b"secret" not in answer.content


def test_alternatives_and_the_node_that_would_win_are_told(call, ada, load_fleets):
    load_fleets("nvidia-h100-full-8gpu", "nvidia-t4-l40s")
    chosen = "device.attributes['gpu.nvidia.com'].productName.contains('%s')"
    listed = [
        {
            "name": name.lower(),
            "deviceClassName": "gpu.nvidia.com",
            "selectors": [{"cel": {"expression": chosen % name}}],
        }
        for name in ("H100", "L40S")
    ]
    asked = template({"name": "gpu", "firstAvailable": listed}, namespace="ai-serving")

    told = call(ada).post("clusters/demo/explain", {"manifest": asked}).json()

    assert told["best"] == ["gpu-h100-a"]
    assert [each["request"] for each in told["alternatives"]] == [
        "gpu/h100",
        "gpu/l40s",
    ]
    assert told["alternatives"][1]["fitting"] == ["gpu-l40s-a"]
    assert told["together"]["copies"] == 12

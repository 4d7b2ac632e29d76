"""Presets over REST."""

from __future__ import annotations

import pytest
from django.core.management import call_command

from tests.integration.api.conftest import call, no_counts  # noqa: F401
from tests.integration.presets.test_pages import typed

COUNT = "requests-0-alternatives-0-count"
PLACE = {"name": "mine", "namespace": "ai-serving"}
BODY = {
    **typed(None),
    "name": "two",
    "fields": {COUNT: {"min": "1", "max": "4"}},
    "manifest": {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "two"},
        "spec": {
            "devices": {
                "requests": [
                    {
                        "name": "gpus",
                        "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 2},
                    }
                ]
            }
        },
    },
}


@pytest.fixture
def presets(fleet_cluster):
    call_command("load_presets")


def test_an_admin_makes_changes_and_offers_one(call, dora, ada, presets):  # noqa: F811
    caller = call(dora)
    made = caller.post("presets", BODY)
    assert made.status_code == 201, made.content
    assert made.json()["version"] == 1
    content = {key: value for key, value in BODY.items() if key != "name"}
    assert caller.send("PUT", "presets/two", content).status_code == 428
    changed = caller.send("PUT", "presets/two", content, If_Match=made["ETag"])
    assert (changed.status_code, changed.json()["version"]) == (200, 2)
    offer = {"version": None}
    stale = caller.send("POST", "presets/two/offer", offer, If_Match=made["ETag"])
    assert stale.status_code == 412
    ended = caller.post("presets/two/offer", offer, If_Match=changed["ETag"])
    assert ended.json()["version"] is None
    assert call(ada).get("presets/two").status_code == 404
    assert call(ada).post("presets", BODY).status_code == 403


def test_a_manifest_is_made_within_locks_and_bounds(call, ada, presets):  # noqa: F811
    caller = call(ada)
    address = "clusters/demo/presets/whole-h100/render"
    made = caller.post(address, {**PLACE, "values": {COUNT: "3"}})
    assert made.status_code == 200, made.content
    manifest = made.json()["manifest"]
    [asked] = manifest["spec"]["spec"]["devices"]["requests"]
    assert asked["exactly"]["count"] == 3
    assert manifest["metadata"] == PLACE
    for values in (
        {COUNT: "9"},
        {"requests-0-alternatives-0-class": "mig.nvidia.com"},
        {"nothing": "1"},
    ):
        refused = caller.post(address, {**PLACE, "values": values})
        assert refused.status_code == 422
        [place] = refused.json()["errors"]
        assert place["pointer"] == f"#/values/{next(iter(values))}"


def test_what_is_offered_and_free_is_said(call, ada, presets):  # noqa: F811
    caller = call(ada)
    assert len(caller.items("presets?limit=5")) == 12
    room = caller.get("clusters/demo/presets/whole-h100/room").json()
    assert room["nodes"] > 0
    assert room["copies"] > 0
    assert room["problem"] is None


def test_a_preset_that_cannot_be_names_its_part(call, dora, presets):  # noqa: F811
    refused = call(dora).post("presets", {**BODY, "manifest": {"kind": "Pod"}})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == "#/manifest"

"""Drafts, templates, the builder's keys, what is free and domains, over REST."""

from __future__ import annotations

import uuid

import pytest

from claims.models import ComposeDraft
from tests.integration.api.conftest import call  # noqa: F401

COUNT = "requests-0-alternatives-0-count"
CLAIM = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaim",
    "metadata": {"name": "half-done", "namespace": "ai-serving"},
    "spec": {
        "devices": {
            "requests": [
                {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}
            ]
        }
    },
}


@pytest.fixture
def caller(call, ada, fleet_cluster):  # noqa: F811
    return call(ada)


def test_a_draft_is_kept_changed_and_discarded(caller, call, cleo):  # noqa: F811
    made = caller.post("drafts", {"cluster": "demo", "manifest": CLAIM})
    assert made.status_code == 201, made.content
    draft = made.json()
    assert draft["manifest"] == CLAIM
    assert draft["name"] == "half-done"
    address = f"drafts/{draft['id']}"
    renamed = {**CLAIM, "metadata": {**CLAIM["metadata"], "name": "whole"}}

    body = {"cluster": "demo", "manifest": renamed}

    assert caller.send("PUT", address, body).status_code == 428
    changed = caller.send("PUT", address, body, If_Match=made["ETag"])
    late = caller.send("PUT", address, body, If_Match=made["ETag"])

    assert (late.status_code, late.json()["code"]) == (412, "request.match_failed")
    assert changed.json()["name"] == "whole"
    assert [each["id"] for each in caller.items("drafts")] == [draft["id"]]
    assert call(cleo).get(address).status_code == 404
    assert call(cleo).items("drafts") == []
    assert caller.send("DELETE", address).status_code == 428
    etag = caller.get(address)["ETag"]
    assert etag == changed["ETag"] != made["ETag"]
    assert caller.send("DELETE", address, If_Match=etag).status_code == 204
    assert caller.send("DELETE", address).status_code == 204  # it is gone already
    assert caller.send("PUT", address, body, If_Match=etag).status_code == 412
    assert ComposeDraft.objects.count() == 0


def test_what_the_form_cannot_hold_is_no_draft(caller):
    refused = caller.post("drafts", {"cluster": "demo", "manifest": {"kind": "Pod"}})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == "#/manifest"


def test_the_builder_offers_keys_and_puts_conditions_together(caller):
    keys = {
        each["expression"]: each for each in caller.items("clusters/demo/selector-keys")
    }
    profile = keys['device.attributes["gpu.nvidia.com"].profile']
    assert profile["kind"] == "string"
    assert profile["values"]

    body = {"expression": profile["expression"], "value": "1g.10gb"}
    built = caller.post("clusters/demo/conditions", body)

    assert built.status_code == 200, built.content
    expression = profile["expression"]
    wanted = f'has({expression}) && {expression} == "1g.10gb"'
    assert built.json() == {"expression": wanted}
    for wrong in (
        {**body, "expression": "device.attributes['x'].y"},
        {**body, "operator": "at-least"},
    ):
        assert caller.post("clusters/demo/conditions", wrong).status_code == 422


def test_what_is_free_is_said_of_classes_and_presets(caller):
    found = caller.get("clusters/demo/availability?namespace=ai-serving").json()
    free = {each["name"]: each["free"] for each in found["classes"]}
    assert free["gpu.nvidia.com"] > 0
    assert found["presets"] is None


def test_templates_are_listed_to_begin_from(caller):
    assert caller.items("clusters/demo/templates") == []
    assert caller.get("clusters/demo/templates/ai-serving/none").status_code == 404


def test_a_domain_is_previewed(caller):
    manifest = {
        "apiVersion": "resource.nvidia.com/v1beta1",
        "kind": "ComputeDomain",
        "metadata": {"name": "d", "namespace": "ai-serving"},
        "spec": {
            "numNodes": 2,
            "channel": {"resourceClaimTemplate": {"name": "d-channel"}},
        },
    }
    address = "clusters/demo/compute-domains/preview"
    found = caller.post(address, {"manifest": manifest}).json()
    assert found["room"] == {"wanted": 2, "verdict": "no", "cliques": []}
    assert "domain.too_few_nodes" in [each["code"] for each in found["diagnostics"]]
    assert caller.post(address, {"manifest": CLAIM}).status_code == 422


def test_a_domain_is_not_previewed_in_anothers_namespace(
    call,  # noqa: F811
    ada,
    dora,
    load_fleets,
):
    """Whether a template of its name is there is for those alone who may see it."""
    taken = {
        **CLAIM,
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "d-channel", "namespace": "maple-lab"},
        "spec": {"spec": CLAIM["spec"]},
    }
    load_fleets("nvidia-t4-l40s", extra=[taken])
    manifest = {
        "apiVersion": "resource.nvidia.com/v1beta1",
        "kind": "ComputeDomain",
        "metadata": {"name": "d", "namespace": "maple-lab"},
        "spec": {
            "numNodes": 0,
            "channel": {"resourceClaimTemplate": {"name": "d-channel"}},
        },
    }
    address = "clusters/demo/compute-domains/preview"

    refused = call(ada).post(address, {"manifest": manifest})
    seen = call(dora).post(address, {"manifest": manifest}).json()

    assert (refused.status_code, refused.json()["code"]) == (403, "check.namespace")
    assert "domain.template_taken" in [each["code"] for each in seen["diagnostics"]]


def test_a_request_may_not_revise_what_is_not_there(caller):
    body = {"cluster": "demo", "manifest": CLAIM, "revises": str(uuid.uuid4())}
    refused = caller.post("claim-requests", body)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == "#/revises"


def test_a_new_version_says_what_it_is_a_version_of(call, ada, active, template):  # noqa: F811
    old, caller = active(template()), call(ada)
    newer = template(count=2)
    body = {"cluster": "demo", "manifest": newer, "revises": str(old.public_id)}

    made = caller.post("claim-requests", body)

    assert made.status_code == 202, made.content
    assert made.json()["revises"] == str(old.public_id)
    assert made.json()["preset"] is None
    again = caller.get(f"claim-requests/{made.json()['id']}").json()
    assert again["revises"] == str(old.public_id)
    assert "+            count: 2\n" in again["difference"]
    assert f"-  name: {old.plan.name}" in again["difference"]
    first = caller.get(f"claim-requests/{old.public_id}").json()
    assert (first["revises"], first["difference"]) == (None, None)


def test_what_a_preset_gave_is_submitted_as_of_it(call, ada, dora, cluster):  # noqa: F811
    gpus = {"name": "gpus", "exactly": {"deviceClassName": "gpu.example.com"}}
    gpus["exactly"]["count"] = 2
    preset = {
        "name": "two",
        "title": "Two",
        "description": "Two devices.",
        "category": "Whole GPUs",
        "fields": {COUNT: {"min": "1", "max": "4"}},
        "manifest": {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "two"},
            "spec": {"devices": {"requests": [gpus]}},
        },
    }
    assert call(dora).post("presets", preset).status_code == 201
    caller = call(ada)
    asked = {
        "name": f"p-{uuid.uuid4().hex[:8]}",
        "namespace": "ai-serving",
        "values": {COUNT: "3"},
    }
    answer = caller.post("clusters/demo/presets/two/render", asked)
    assert answer.status_code == 200, answer.content
    rendered = answer.json()
    body = {"cluster": "demo", "manifest": rendered["manifest"], "preset": "two"}

    made = caller.post("claim-requests", body)

    assert made.status_code == 202, made.content
    assert made.json()["preset"] == {"name": "two", "version": 1}
    exactly = rendered["manifest"]["spec"]["devices"]["requests"][0]["exactly"]
    assert exactly["count"] == 3
    exactly["count"] = 5
    refused = caller.post("claim-requests", body)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == "#/preset"

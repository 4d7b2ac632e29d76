"""Import and workloads over REST: nothing is done, all is said."""

from __future__ import annotations

import pytest
import yaml

from claims.models import ClaimRequest
from claims.services.fits import ClaimFit
from tests.integration.importing.texts import FLAT, HEAD

OLD = HEAD.format(version="v1beta1") + FLAT
CLAIM = yaml.safe_load(OLD.replace("v1beta1", "v1"))


@pytest.fixture
def as_ada(call, ada, held_cluster):
    return call(ada)


def test_a_text_comes_back_repaired(as_ada):
    answer = as_ada.post("clusters/demo/import", {"text": OLD})

    assert answer.status_code == 200, answer.content
    found = answer.json()
    assert found["valid"]
    assert "exactly:" in found["text"]
    assert "+apiVersion: resource.k8s.io/v1" in found["diff"]
    (document,) = found["documents"]
    assert (document["kind"], document["name"]) == ("ResourceClaim", "one")
    states = {f["code"]: (f["state"], f["line"]) for f in document["faults"]}
    assert states["import.version"] == ("repaired", 2)
    assert ClaimRequest.objects.count() == 0


def test_yaml_is_taken_and_a_repair_declined_by_its_key(as_ada):
    answer = as_ada.send(
        "POST", "clusters/demo/import", OLD, content_type="application/yaml"
    ).json()
    faults = answer["documents"][0]["faults"]
    key = next(f["key"] for f in faults if f["code"] == "import.version")

    kept = as_ada.post("clusters/demo/import", {"text": OLD, "declined": [key]}).json()

    assert "v1beta1" in kept["text"]
    assert {f["state"] for f in kept["documents"][0]["faults"]} >= {"declined"}


@pytest.mark.parametrize("text", ["", "a\x00b", "x" * 300_000])
def test_a_text_that_is_none_is_a_problem(as_ada, text):
    answer = as_ada.post("clusters/demo/import", {"text": text})

    assert answer.status_code in (400, 422)
    assert answer["Content-Type"] == "application/problem+json"


def test_workloads_come_as_yaml_and_as_files(as_ada):
    claim = {**CLAIM, "spec": {"devices": {"requests": []}}}

    answer = as_ada.post(
        "clusters/demo/workloads", {"manifest": claim, "image": "mine:2"}
    )

    assert answer.status_code == 200, answer.content
    found = {each["workload"]: each for each in answer.json()["workloads"]}
    assert set(found) == {"pod", "deployment", "job", "two-containers", "shared"}
    assert "image: mine:2" in found["pod"]["yaml"]
    assert set(found["job"]["plain"]) == {"10-claim.yaml", "20-workload.yaml"}
    assert "kustomization.yaml" in found["job"]["kustomize"]
    bad = as_ada.post("clusters/demo/workloads", {"manifest": {"kind": "Pod"}})
    assert bad.status_code == 422


def test_what_is_undecided_is_null_and_counted(as_ada, monkeypatch):
    monkeypatch.setattr(
        "claims.services.importing.fit_of",
        lambda name, preview: ClaimFit(name, (), 2, 3, ""),
    )

    answer = as_ada.post("clusters/demo/import", {"text": OLD})

    (document,) = answer.json()["documents"]
    assert document["fittingNodes"] is None
    assert [(f["fitting"], f["undecided"], f["nodes"]) for f in document["fits"]] == [
        (0, 2, 3)
    ]

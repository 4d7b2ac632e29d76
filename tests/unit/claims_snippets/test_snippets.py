"""Workloads for a claim or its template: what fits which, and bundles for Git."""

from __future__ import annotations

import io
import zipfile

import pytest
import yaml

from claims.domain.snippets import Uses, Workload, offered, workload
from claims.services.bundles import (
    NoBundle,
    bundle,
    checked_claim,
    file_of,
    snippet,
    snippets_of,
)

CLAIM, TEMPLATE = "ResourceClaim", "ResourceClaimTemplate"


def manifest(kind=TEMPLATE, name="two.slices"):
    spec = {
        "devices": {
            "requests": [
                {"name": "gpu", "exactly": {"deviceClassName": "g.example.com"}}
            ]
        }
    }
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "ai", "uid": "u", "labels": {"a": "b"}},
        "spec": {"spec": spec} if kind == TEMPLATE else spec,
    }


def pod_spec(body):
    return body["spec"] if body["kind"] == "Pod" else body["spec"]["template"]["spec"]


@pytest.mark.parametrize("kind", [CLAIM, TEMPLATE])
@pytest.mark.parametrize("shape", Workload)
def test_every_container_gets_the_devices(kind, shape):
    uses = Uses(kind, "two.slices", "ai", "img:1")
    if shape not in offered(uses):
        pytest.skip("does not fit")
    bodies = [b for b in workload(shape, uses) if b["kind"] != "Service"]

    for body in bodies:
        spec = pod_spec(body)
        field = f"{kind[0].lower()}{kind[1:]}Name"
        assert spec["resourceClaims"] == [{"name": "gpu", field: "two.slices"}]
        for container in spec["containers"]:
            assert container["resources"]["claims"] == [{"name": "gpu"}]
            assert container["image"] == "img:1"
        assert body["metadata"]["namespace"] == "ai"
        assert "." not in body["metadata"]["name"]
    assert len(bodies) == (2 if shape is Workload.SHARED else 1)
    two = 2 if shape is Workload.TWO_CONTAINERS else 1
    assert len(pod_spec(bodies[0])["containers"]) == two


def test_pods_share_a_claim_and_no_template():
    assert Workload.SHARED in offered(Uses(CLAIM, "a", "b"))
    assert Workload.SHARED not in offered(Uses(TEMPLATE, "a", "b"))
    assert Workload.STATEFUL_SET in offered(Uses(TEMPLATE, "a", "b"))


def test_a_stateful_set_comes_with_its_service():
    service, stateful = workload(Workload.STATEFUL_SET, Uses(TEMPLATE, "a", "b"))
    assert service["metadata"]["name"] == stateful["spec"]["serviceName"]
    labels = stateful["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"] == labels
    assert stateful["spec"]["selector"]["matchLabels"] == labels


def unpacked(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_a_plain_bundle_is_applied_in_the_order_of_its_names():
    content = bundle(manifest(), Workload.JOB, layout="plain")

    files = unpacked(content)

    assert sorted(files) == [
        "two.slices/10-template.yaml",
        "two.slices/20-workload.yaml",
    ]
    template = yaml.safe_load(files["two.slices/10-template.yaml"])
    assert template["metadata"] == {
        "name": "two.slices",
        "namespace": "ai",
        "labels": {"a": "b"},
    }
    assert yaml.safe_load(files["two.slices/20-workload.yaml"])["kind"] == "Job"
    assert content == bundle(manifest(), Workload.JOB, layout="plain")


def test_a_kustomization_names_the_files_beside_it():
    files = unpacked(bundle(manifest(CLAIM), Workload.SHARED, layout="kustomize"))

    body = yaml.safe_load(files["two.slices/kustomization.yaml"])
    assert body["namespace"] == "ai"
    assert {f"two.slices/{name}" for name in body["resources"]} == set(files) - {
        "two.slices/kustomization.yaml"
    }
    pods = list(yaml.safe_load_all(files["two.slices/workload.yaml"]))
    assert [pod["metadata"]["name"] for pod in pods] == [
        "two-slices-one",
        "two-slices-two",
    ]


@pytest.mark.parametrize(
    ("shape", "layout"), [("shared", "yaml"), ("x", "yaml"), ("pod", "x")]
)
def test_what_does_not_fit_is_refused_with_what_does(shape, layout):
    with pytest.raises(NoBundle, match="deployment"):
        file_of(manifest(), shape, layout)


@pytest.mark.parametrize(
    "body", [None, [], {"kind": "Pod"}, {"kind": CLAIM, "metadata": {"name": 1}}]
)
def test_what_is_no_claim_is_refused(body):
    with pytest.raises(NoBundle):
        checked_claim(body)


def test_each_snippet_is_whole_yaml():
    for each in snippets_of(manifest()):
        assert list(yaml.safe_load_all(each["yaml"]))
    assert "---" in snippet(manifest(CLAIM), Workload.SHARED)

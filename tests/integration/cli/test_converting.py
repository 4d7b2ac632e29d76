"""Workloads converted with the client: its table, its files, its exit statuses."""

from __future__ import annotations

import json

import pytest
import yaml

from tests.conftest import DATA

pytestmark = pytest.mark.django_db(transaction=True)

VLLM, TGI = (str(DATA / "workloads" / f"{name}.yaml") for name in ("vllm", "tgi"))


def test_a_workload_is_converted_and_its_bundle_written(
    slicewise, held_cluster, tmp_path
):
    folder = tmp_path / "bundle"

    status, text, errors = slicewise("convert", VLLM, "--to", str(folder))

    assert status == 0, errors
    assert text.splitlines()[0].split() == ["WORKLOAD", "TEMPLATE", "NODES", "PROBLEM"]
    first, second = sorted(folder.iterdir())
    template = yaml.safe_load(first.read_text())
    assert template["kind"] == "ResourceClaimTemplate"
    assert template["metadata"]["name"] in text
    pod = yaml.safe_load(second.read_text())["spec"]["template"]["spec"]
    assert pod["resourceClaims"][0]["resourceClaimTemplateName"] in text
    assert "nvidia.com/gpu" not in pod["containers"][0]["resources"]["limits"]

    found = json.loads(slicewise("convert", VLLM, "-o", "json")[1])
    assert yaml.safe_load(slicewise("convert", VLLM, "-o", "yaml")[1]) == found
    assert slicewise("convert", VLLM, "--diff")[1].startswith("--- a/")


def test_files_that_say_something_else_are_not_written_over(
    slicewise, held_cluster, tmp_path
):
    arguments = ("convert", VLLM, "--to", str(tmp_path), "--layout", "kustomize")
    assert slicewise(*arguments)[0] == 0
    listing = tmp_path / "kustomization.yaml"
    assert len(yaml.safe_load(listing.read_text())["resources"]) == 2
    listing.write_text("mine")

    status, _text, errors = slicewise(*arguments)

    assert (status, listing.read_text()) == (2, "mine")
    assert "kustomization.yaml is there already" in errors
    assert slicewise(*arguments, "--force")[0] == 0
    assert listing.read_text() != "mine"


def test_what_has_no_equal_is_said_and_ends_with_1(slicewise, held_cluster):
    status, text, errors = slicewise("convert", VLLM, TGI)

    assert status == 1
    assert "Deployment vllm" in text
    assert errors.startswith("no equal ")
    assert errors.count("import.extended_resource") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Name files, or live workloads"),
        ((VLLM, "--workload", "Deployment/chat"), "Name files, or live workloads"),
        (("--workload", "Deployment/chat"), "needs its --namespace"),
        (("/nowhere.yaml",), "cannot be read"),
        ((VLLM, "--to", "/proc/nowhere"), "cannot be written"),
    ],
)
def test_what_is_mistyped_ends_with_2(arguments, said, slicewise, held_cluster):
    status, _text, errors = slicewise("convert", *arguments)

    assert (status, said in errors) == (2, True), errors


def test_live_workloads_of_others_are_refused(slicewise, held_cluster):
    status, _text, errors = slicewise(
        "convert", "--workload", "Deployment/chat", "-n", "maple-lab"
    )

    assert status == 1
    assert "not one of your namespaces" in errors

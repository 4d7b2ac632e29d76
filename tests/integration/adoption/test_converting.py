"""Workloads of well-known shapes, from GPU resources and labels to claims."""

from __future__ import annotations

import pytest
import yaml

from claims.services.importing import import_text
from claims.services.yaml_text import dump
from tests.conftest import DATA
from tests.contract import objects

FOLDER = DATA / "workloads"
# name → what the claims must say, and which labels stay for want of an equal.
WORKLOADS: dict[str, tuple[list[str], list[str]]] = {
    "vllm": (['productName == "NVIDIA L40S"'], []),
    "triton": (['productName in ["Tesla T4", "NVIDIA L40S"]', '"20000Mi")) > 0'], []),
    "kserve": (['architecture == "Ada Lovelace"'], []),
    "jupyterhub": (['profile == "1g.10gb"'], []),
    "ray": (['profile == "1g.10gb"', "count: 2"], []),
    "kubeflow-pytorchjob": (["count: 2"], ["nvidia.com/gpu.count"]),
    "kubeflow-notebook": (['profile == "1g.10gb"'], []),
    "nim": (['profile == "1g.10gb"'], []),
    "ollama": (["deviceClassName: gpu.nvidia.com"], ["kubernetes.io/os"]),
    "batch-job": (['compareTo(quantity("15360Mi")) == 0'], []),
}


def converted(cluster, name):
    return import_text(cluster, (FOLDER / f"{name}.yaml").read_text())


def test_all_are_tried():
    assert {path.stem for path in FOLDER.glob("*.yaml")} == {*WORKLOADS, "tgi"}
    assert len(WORKLOADS) >= 10


@pytest.mark.parametrize("name", WORKLOADS)
def test_what_labels_meant_stands_in_the_claim(fleet_cluster, name):
    says, stays = WORKLOADS[name]

    found = converted(fleet_cluster, name)

    assert found.is_valid, [f.message for each in found.documents for f in each.faults]
    [workload, *templates] = list(yaml.safe_load_all(found.corrected))
    text = " ".join(dump(each) for each in templates)
    assert all(part in " ".join(text.split()) for part in says), text
    left = dump(workload)
    assert "nvidia.com/gpu:" not in left
    assert "nvidia.com/mig-" not in left
    assert all(label in left for label in stays)
    told = [f for each in found.documents for f in each.faults]
    assert any(f.code == "import.extended_resource" for f in told)
    assert any(f.code == "import.node_label" for f in told) == any(
        label.startswith("nvidia.com/") for label in stays
    )


def test_time_slice_without_an_equal_stays_whole(fleet_cluster):
    found = converted(fleet_cluster, "tgi")

    assert found.corrected == found.text
    [document] = found.documents
    assert any("time slice" in fault.message for fault in document.faults)


@pytest.mark.parametrize(
    ("selector", "why"),
    [
        ({"nvidia.com/gpu.product": "NVIDIA-A999"}, "no product"),
        ({"nvidia.com/mig.config": "all-balanced"}, "more than one profile"),
        ({"nvidia.com/gpu.machine": "DGX"}, "something of the node"),
    ],
)
def test_what_has_no_equal_stays_and_says_why(fleet_cluster, selector, why):
    body = objects.pod("p", "ai-serving")
    body["spec"]["nodeSelector"] = selector
    body["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "1"}}

    found = import_text(fleet_cluster, dump(body))

    [document] = found.documents
    [fault] = [f for f in document.faults if f.code == "import.node_label"]
    assert why in fault.message
    assert next(iter(selector)) in found.corrected

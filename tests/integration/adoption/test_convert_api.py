"""Converting and mapping over REST: what is proposed, previewed and written."""

from __future__ import annotations

import yaml

from portal.adoption.models import AppliedMapping
from tests.conftest import DATA
from tests.integration.adoption.conftest import call, no_counts  # noqa: F401  fixtures
from tests.integration.adoption.test_convert_page import live  # noqa: F401  fixture
from tests.integration.adoption.test_mapping import (  # noqa: F401  fixtures
    may_write,
)
from tests.integration.budgets.conftest import GPU_CLASS, gpus  # noqa: F401  fixture
from tests.integration.claims.conftest import (  # noqa: F401  fixtures
    admin,
    cluster,
    kubeconfigs,
)

PLACE = "clusters/{}/adoption"


def test_a_conversion_says_what_fits_and_what_has_no_equal(fleet_cluster, call, ada):  # noqa: F811
    path = f"{PLACE.format(fleet_cluster.name)}/convert"
    texts = [
        (DATA / "workloads" / f"{name}.yaml").read_text() for name in ("vllm", "tgi")
    ]

    answer = call(ada).post(path, {"text": "\n---\n".join(texts)})

    assert answer.status_code == 200, answer.content
    found = answer.json()
    [template] = found["templates"]
    assert "gpu-l40s-a" in template["fits"]
    assert template["error"] is None
    assert [each["code"] for each in found["noEqual"]] == ["import.extended_resource"]
    [name] = [name for name in found["plain"] if name.startswith("10-")]
    assert yaml.safe_load(found["plain"][name])["metadata"]["name"] == template["name"]
    listing = yaml.safe_load(found["kustomize"]["kustomization.yaml"])
    assert set(listing["resources"]) == set(found["kustomize"]) - {"kustomization.yaml"}


def test_live_workloads_are_listed_and_converted_by_name(live, call, ada):  # noqa: F811
    path = PLACE.format("demo")
    listed = call(ada).get(f"{path}/workloads?namespace=ai-serving").json()
    assert [(each["kind"], each["name"]) for each in listed["workloads"]] == [
        ("Deployment", "chat")
    ]
    assert listed["workloads"][0]["resources"] == {"nvidia.com/gpu": 1}
    assert listed["unread"] == []

    body = {"namespace": "ai-serving", "workloads": ["Deployment/chat"]}
    found = call(ada).post(f"{path}/convert", body).json()
    # This cluster has no class of NVIDIA's: it is said, and nothing is made up.
    assert found["templates"] == []
    assert found["noEqual"][0]["kind"] == "Deployment"

    foreign = call(ada).get(f"{path}/workloads?namespace=maple-lab")
    assert (foreign.status_code, foreign.json()["code"]) == (422, "convert.not_there")


def test_classes_are_proposed_for_what_they_are_made_of(fleet_cluster, call, dora):  # noqa: F811
    path = f"{PLACE.format(fleet_cluster.name)}/mapping-proposals"
    found = call(dora).get(path).json()["proposals"]
    assert ("nvidia.com/gpu", "gpu.nvidia.com") in {
        (each["resource"], each["deviceClass"]) for each in found
    }
    assert "mig.nvidia.com" not in {each["deviceClass"] for each in found}


def test_a_mapping_is_previewed_and_written_as_it_was_seen(
    gpus,  # noqa: F811
    may_write,  # noqa: F811
    call,  # noqa: F811
    dora,
):
    path, body = PLACE.format("demo"), {"deviceClass": GPU_CLASS}
    body["resource"] = "nvidia.com/gpu"
    tried = call(dora).post(f"{path}/mapping-preview", body)
    assert tried.status_code == 200, tried.content
    assert tried.json()["trial"] == {
        "before": None,
        "after": "nvidia.com/gpu",
        "dropped": False,
    }
    assert tried.json()["devices"] == 8

    unseen = call(dora).post(f"{path}/mappings", body)
    assert unseen.status_code == 428
    etag = {"If_Match": tried["ETag"]}
    made = call(dora).post(f"{path}/mappings", body, **etag)
    assert (made.status_code, made.json()["after"]) == (201, "nvidia.com/gpu")
    stale = call(dora).post(f"{path}/mappings", body, **etag)
    assert stale.status_code == 412

    away = {"deviceClass": GPU_CLASS, "resource": ""}
    tried = call(dora).post(f"{path}/mapping-preview", away)
    etag = {"If_Match": tried["ETag"]}
    assert call(dora).post(f"{path}/mappings", away, **etag).status_code == 201
    rows = call(dora).get(f"{path}/mappings").json()["items"]
    assert [row["after"] for row in rows] == [None, "nvidia.com/gpu"]
    assert AppliedMapping.objects.count() == 2

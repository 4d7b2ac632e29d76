"""A claim's page: within rights, with what it waits for."""

from __future__ import annotations

import pytest

from tests.integration.pages.conftest import FABRIC, claim, fabric_claim, result
from tests.integration.pages.test_pages import html, queries

READINESS = {
    *("Waits for its devices", "Devices are ready"),
    *("A device failed", "Waited too long"),
}
SHARE = "/c/demo/claims/ai-serving/orchid-share/"


def test_claim_page_shows_devices_and_commands(held_cluster, browse, ada):
    page = html(browse(ada), SHARE)

    assert 'href="/c/demo/devices/gpu.nvidia.com/gpu-h100-share-a/gpu-0/"' in page
    assert "memory 16Gi" in page
    assert "kubectl get resourceclaim orchid-share --namespace ai-serving" in page
    assert "on the node only" in page
    assert "time not published" in page
    assert "Binding conditions" not in page


def test_claim_page_of_another_tenant_is_none(held_cluster, browse, ada, cleo, eli):
    maple = "/c/demo/claims/maple-lab/maple-share/"

    assert browse(ada).get(maple).status_code == 404
    assert browse(cleo).get(SHARE).status_code == 404
    assert browse(cleo).get(maple).status_code == 200
    assert browse(eli).get(maple).status_code == 200


@pytest.mark.parametrize(
    ("age", "conditions", "words", "badge"),
    [
        (30, [], "it has waited", "Waits for its devices"),
        (30, ["FabricAttached"], "became ready after", ""),
        (30, ["FabricAttachFailed"], "could not be made ready", "A device failed"),
        (700, [], "not ready within 600 s", "Waited too long"),
    ],
)
def test_claim_page_and_list_tell_binding(
    age, conditions, words, badge, load_fleets, browse, ada
):
    load_fleets(FABRIC, extra=[fabric_claim(age, *conditions)])

    page = html(browse(ada), "/c/demo/claims/ai-serving/orchid-fabric/")

    assert words in page
    assert ("attached to port 7" in page) == bool(conditions)
    # Waiting goes on though nothing in the cluster changes.
    assert ("every 10s" in page) == (badge == "Waits for its devices")
    listed = html(browse(ada), "/c/demo/claims/")
    shown = {each for each in READINESS if each in listed}
    assert shown == ({badge} if badge else set())


def test_claim_page_makes_constant_queries(held_cluster, browse, ada):
    client = browse(ada)

    found = {
        queries(client, SHARE),
        queries(client, SHARE.replace("share", "notebook")),
    }

    assert len(found) == 1


def test_claim_list_leads_to_the_claim(held_cluster, browse, ada):
    assert f'href="{SHARE}"' in html(browse(ada), "/c/demo/claims/")


def test_a_claim_that_the_scheduler_made_is_labelled_as_such(load_fleets, browse, ada):
    made = claim("ai-serving", "orchid-extended", result("gpu-l40s-a", "gpu-0"))
    note = {"resource.kubernetes.io/extended-resource-claim": "true"}
    owner = {"kind": "Pod", "name": "old", "uid": "uid-old", "controller": True}
    made["metadata"] |= {"annotations": note, "ownerReferences": [owner]}
    made["status"]["reservedFor"] = [
        {"resource": "pods", "name": "old", "uid": "uid-old"}
    ]
    container = {"name": "c", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    mapping = {"containerName": "c", "resourceName": "nvidia.com/gpu"}
    status = {"resourceClaimName": "orchid-extended", "requestMappings": [mapping]}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "old", "namespace": "ai-serving", "uid": "uid-old"},
        "spec": {"nodeName": "gpu-l40s-a", "containers": [container]},
        "status": {"phase": "Running", "extendedResourceClaimStatus": status},
    }
    load_fleets("nvidia-t4-l40s", extra=[made, pod])

    for path in ("/c/demo/claims/", "/c/demo/claims/ai-serving/orchid-extended/"):
        page = html(browse(ada), path)
        assert "implicit" in page
        assert "Made by the scheduler for old’s nvidia.com/gpu" in page

"""The page that turns workloads to claims: pasted, live, previewed, bundled."""

from __future__ import annotations

import io
import zipfile

import pytest
import yaml
from django.utils import timezone

from inventory.gateways.transport import Call
from inventory.gateways.transport import call as send
from inventory.services.store import replace_kinds
from portal.adoption.domain.live import as_written
from tests.conftest import DATA
from tests.integration.claims.conftest import (  # noqa: F401  fixtures
    admin,
    cluster,
    kubeconfigs,
)
from tests.integration.claims.objects import gpu_deployment

VLLM = (DATA / "workloads" / "vllm.yaml").read_text()
TIME_SLICED = (DATA / "workloads" / "tgi.yaml").read_text()


@pytest.fixture
def posted(fleet_cluster, client, ada):
    """Return a function that posts to the page as a tenant."""
    client.force_login(ada)
    path = f"/c/{fleet_cluster.name}/adoption/convert/"
    return lambda **form: client.post(path, form)


def test_each_template_says_where_it_would_fit(posted):
    text = posted(text=VLLM, action="check").text

    assert "1 template was made." in text
    assert "All that was asked for has an equal." in text
    assert "gpu-l40s-a" in text
    assert 'data-kind="added"' in text


def test_what_has_no_equal_is_listed_and_nothing_is_lost(posted):
    text = posted(text=TIME_SLICED, action="check").text

    assert "Nothing was converted." in text
    assert "What has no equal" in text
    assert "time slice of a card" in text


@pytest.mark.parametrize(("layout", "first"), [("plain", "10-"), ("kustomize", "")])
def test_a_bundle_can_be_applied_as_a_folder(posted, layout, first):
    answer = posted(text=VLLM, action=layout)

    assert answer["Content-Type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        files = {
            name.partition("/")[2]: archive.read(name) for name in archive.namelist()
        }
    [template] = [name for name in files if name.endswith("-gpu.yaml")]
    assert template.startswith(first)
    bodies = [body for text in files.values() for body in yaml.safe_load_all(text)]
    kinds = {body["kind"] for body in bodies}
    assert {"ResourceClaimTemplate", "Deployment"} <= kinds
    assert b"nvidia.com/gpu:" not in b"".join(files.values())
    if layout == "kustomize":
        [listing] = [body for body in bodies if body["kind"] == "Kustomization"]
        assert set(listing["resources"]) == set(files) - {"kustomization.yaml"}


def test_a_change_that_is_declined_is_not_made(posted):
    shown = posted(text=VLLM, action="check").text
    digest = shown.split('name="for" value="')[1].split('"')[0]
    keys = [part.split('"')[0] for part in shown.split('name="shown" value="')[1:]]

    again = posted(**{"text": VLLM, "for": digest, "shown": keys, "action": "check"})

    assert "Nothing was converted." in again.text


def test_bad_input_is_one_sentence_and_kept(posted):
    answer = posted(text="", action="check")
    assert answer.status_code == 422
    assert "There is nothing here" in answer.text


@pytest.fixture
def live(admin, cluster):  # noqa: F811
    """Put a Deployment of Ada's tenant into the cluster, and take it away again."""
    body = gpu_deployment("chat", "ai-serving")
    path = "/apis/apps/v1/namespaces/ai-serving/deployments"
    send(admin.connection, Call("POST", path, body=body), ())
    yield
    send(admin.connection, Call("DELETE", f"{path}/chat"), ())


def test_live_workloads_are_read_as_the_person(live, client, ada):
    client.force_login(ada)
    path = "/c/demo/adoption/convert/"

    listed = client.get(path, {"namespace": "ai-serving"}).text
    assert "Deployment <b>chat</b>" in listed
    assert "nvidia.com/gpu: 1" in listed

    form = {"namespace": "ai-serving", "workload": "Deployment/chat"}
    text = client.post(path, {**form, "action": "live"}).text
    assert "resourceVersion" not in text
    assert "chat" in text
    assert "import.extended_resource" in text

    form["workload"] = "Deployment/gone"
    gone = client.post(path, {**form, "action": "live"})
    assert gone.status_code == 422
    assert "Deployment/gone is no longer there" in gone.text


def test_nobody_looks_into_anothers_namespace(live, client, cleo):
    client.force_login(cleo)
    answer = client.get("/c/demo/adoption/convert/", {"namespace": "ai-serving"})
    assert answer.status_code == 422
    assert "not one of your namespaces" in answer.text
    assert "chat" not in answer.text


def test_an_offline_cluster_shows_what_was_loaded(fleet_cluster, client, ada):
    body = gpu_deployment("chat", "ai-serving")
    replace_kinds(fleet_cluster, {"Deployment": [body]}, now=timezone.now())
    client.force_login(ada)
    path = f"/c/{fleet_cluster.name}/adoption/convert/"
    text = client.get(path, {"namespace": "ai-serving"}).text
    assert "Deployment <b>chat</b>" in text
    assert "Not read, so there may be more: Pod." in text


def test_a_live_pod_is_given_back_as_it_was_written():
    token = {"name": "kube-api-access-x", "mountPath": "/var/run"}
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "p",
            "uid": "u",
            "resourceVersion": "1",
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"},
        },
        "spec": {
            "nodeName": "n",
            "priority": 0,
            "tolerations": [{"key": "node.kubernetes.io/not-ready"}, {"key": "own"}],
            "volumes": [{"name": "kube-api-access-x"}],
            "containers": [{"name": "c", "volumeMounts": [token]}],
        },
        "status": {"phase": "Running"},
    }

    assert as_written(body) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"tolerations": [{"key": "own"}], "containers": [{"name": "c"}]},
    }


def test_a_live_job_loses_what_its_controller_put_there():
    labels = {"job-name": "j", "batch.kubernetes.io/controller-uid": "u", "app": "a"}
    body = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "labels": dict(labels)},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {}},
        },
    }
    written = as_written(body)
    assert written["metadata"] == {"name": "j", "labels": {"app": "a"}}
    assert written["spec"] == {
        "template": {"metadata": {"labels": {"app": "a"}}, "spec": {}}
    }

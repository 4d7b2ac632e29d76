"""What a pending claim waits for: others' ends, its priority, and Kueue's queues."""

from __future__ import annotations

import uuid
from contextlib import suppress

import pytest

from claims.services.checking import Checker
from inventory.domain.kinds import (
    LOCAL_QUEUE,
    QUEUED_WORKLOAD,
    WORKLOAD_PRIORITY_CLASS,
)
from inventory.gateways.errors import NotFound
from inventory.gateways.transport import Call
from inventory.gateways.transport import call as send
from inventory.models import KubeObject
from tests.integration.api.conftest import call, no_counts  # noqa: F401  fixtures
from tests.integration.claims.objects import manifest_of
from tests.integration.pages.conftest import claim, result

L40S = 'device.attributes["gpu.nvidia.com"].productName == "NVIDIA L40S"'
PAGE = "/c/demo/claims/ai-training/urgent-gpu/waiting/"


def pod(name, namespace, priority, **refs):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}"},
        "spec": {
            "priority": priority,
            "resourceClaims": [{"name": "gpu", **refs}],
            "containers": [{"name": "c"}],
        },
        "status": {"phase": "Running"},
    }


def held(namespace, name, device):
    body = claim(namespace, name, result("gpu-l40s-a", device))
    body["status"]["reservedFor"] = [{"resource": "pods", "name": f"{name}-pod"}]
    return body


@pytest.fixture
def crowded(load_fleets):
    """Return a cluster all of whose L40S are held, and a claim that waits for one."""
    waiting = manifest_of(
        kind="Claim",
        namespace="ai-training",
        device_class="gpu.nvidia.com",
        selectors=[{"cel": {"expression": L40S}}],
    )
    waiting["metadata"] |= {
        "name": "urgent-gpu",
        "uid": "uid-urgent-gpu",
        "ownerReferences": [{"kind": "Pod", "uid": "uid-urgent"}],
    }
    extra = [
        waiting,
        pod("urgent", "ai-training", 1000, resourceClaimTemplateName="t"),
        held("ai-serving", "orchid-low", "gpu-0"),
        pod("orchid-low-pod", "ai-serving", 5, resourceClaimName="orchid-low"),
        held("maple-lab", "maple-one", "gpu-1"),
        held("maple-lab", "maple-two", "gpu-2"),
        held("maple-lab", "maple-three", "gpu-3"),
    ]
    return load_fleets("nvidia-t4-l40s", extra=extra)


def test_ends_are_named_within_rights_and_a_priority_is_put_right(crowded, client, ada):
    client.force_login(ada)
    text = client.get(PAGE).text

    assert "preemption is limited with DRA" in text
    assert "priority 1000" in text
    assert "ai-serving/orchid-low of yours ends" in text
    assert "Its pod has a lower priority." in text
    assert "another tenant’s claim" in text
    assert "maple" not in text
    # Files have no server, and so no queues.
    assert "Kueue" not in text


def test_who_may_see_all_reads_every_name(crowded, client, dora):
    client.force_login(dora)
    assert "maple-lab/maple-one" in client.get(PAGE).text


def test_the_page_of_the_claim_leads_there_while_it_waits(crowded, client, ada, cleo):
    client.force_login(ada)
    assert PAGE in client.get(PAGE.removesuffix("waiting/")).text
    other = "/c/demo/claims/ai-serving/orchid-low/"
    assert "/waiting/" not in client.get(other).text
    assert "waits for nothing" in client.get(f"{other}waiting/").text
    client.force_login(cleo)
    assert client.get(PAGE).status_code == 404


def test_the_api_says_the_same(crowded, call, ada):  # noqa: F811
    path = "clusters/demo/claims/ai-training/urgent-gpu/waiting"
    found = call(ada).get(path).json()

    assert found["pods"] == [
        {"name": "urgent", "priority": 1000, "priorityClass": None}
    ]
    assert found["fits"] == []
    by_claim = {each["claim"]: each["lowerPriority"] for each in found["endings"]}
    assert by_claim["ai-serving/orchid-low"] is True
    assert None in by_claim
    assert found["kueue"] is None
    done = call(ada).get("clusters/demo/claims/ai-serving/orchid-low/waiting")
    assert (done.status_code, done.json()["code"]) == (409, "claim.not_pending")


def kueue(kind, name, namespace="", **more):
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": kind,
        "metadata": metadata,
        **more,
    }


@pytest.fixture
def queues(admin):
    """Put Kueue's objects into the cluster, and take them away again."""
    name = f"t-{uuid.uuid4().hex[:8]}"
    ref = {"name": "gpu", "resourceClaimTemplateName": name}
    podset = {"template": {"spec": {"resourceClaims": [ref]}}}
    bodies = [
        kueue(
            "LocalQueue",
            "gpus",
            "ai-serving",
            spec={"clusterQueue": "all"},
            status={"pendingWorkloads": 3},
        ),
        kueue(
            "Workload",
            "job-train",
            "ai-serving",
            spec={"queueName": "gpus", "podSets": [podset], "priority": 9},
            status={
                "conditions": [
                    {
                        "type": "QuotaReserved",
                        "status": "False",
                        "message": "insufficient quota for gpus",
                    }
                ]
            },
        ),
        kueue("WorkloadPriorityClass", "high", value=100),
    ]
    kinds = (LOCAL_QUEUE, QUEUED_WORKLOAD, WORKLOAD_PRIORITY_CLASS)
    paths = []
    for kind, body in zip(kinds, bodies, strict=True):
        namespace = body["metadata"].get("namespace", "")
        path = kind.path("v1beta2", namespace)
        send(admin.connection, Call("POST", path, body=body), ())
        one = f"{path}/{body['metadata']['name']}"
        paths.append(one)
        if "status" in body:
            made = send(admin.connection, Call("GET", one), ())
            told = {**made, "status": body["status"]}
            send(admin.connection, Call("PUT", f"{one}/status", body=told), ())
    yield name
    for path in paths:
        with suppress(NotFound):
            send(admin.connection, Call("DELETE", path), ())


def test_a_request_shows_its_place_in_the_queue(queues, active, client, ada, cleo):
    manifest = manifest_of()
    manifest["metadata"]["name"] = queues
    row = active(manifest)
    path = f"/requests/{row.public_id}/queue/"
    client.force_login(ada)

    text = client.get(path).text

    assert "job-train" in text
    assert "Waits for quota" in text
    assert "insufficient quota for gpus" in text
    assert "kueue.x-k8s.io/queue-name: gpus" in text
    assert path in client.get(f"/requests/{row.public_id}/").text
    chosen = client.get(path, {"priority": "high", "queue": "made-up"}).text
    assert "kueue.x-k8s.io/priority-class: high" in chosen
    assert "queue-name: made-up" not in chosen
    found = client.get(f"/api/v1/claim-requests/{row.public_id}/queue").json()["kueue"]
    assert [each["name"] for each in found["workloads"]] == ["job-train"]
    assert "gpus" in [each["name"] for each in found["queues"]]
    client.force_login(cleo)
    assert client.get(path).status_code == 404


def test_who_may_not_read_queues_is_told_so(
    queues, cluster, active, client, ada, admin
):
    manifest = manifest_of()
    row = active(manifest)
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/slicewise:tenant"
    role = send(admin.connection, Call("GET", path), ())
    narrow = [
        rule for rule in role["rules"] if "kueue.x-k8s.io" not in rule["apiGroups"]
    ]
    send(admin.connection, Call("PUT", path, body={**role, "rules": narrow}), ())
    client.force_login(ada)
    try:
        text = client.get(f"/requests/{row.public_id}/queue/").text
    finally:
        now = send(admin.connection, Call("GET", path), ())
        back = {**now, "rules": role["rules"]}
        send(admin.connection, Call("PUT", path, body=back), ())
    assert "You may not read the queues of ai-serving." in text


def test_kueue_is_checked_only_where_a_queue_is_used(load_fleets):
    template = manifest_of(namespace="ai-training", device_class="gpu.nvidia.com")
    request = template["spec"]["spec"]["devices"]["requests"][0]
    request["exactly"]["allocationMode"] = "All"
    name = template["metadata"]["name"]
    used = pod("p", "ai-training", 0, resourceClaimTemplateName=name)
    cluster = load_fleets("nvidia-t4-l40s", extra=[template, used])

    def codes():
        row = type(cluster).objects.get(pk=cluster.pk)
        found = Checker(row, previews=False).findings(template)
        return [each.path for each in found if each.code == "kueue.unsupported"]

    assert codes() == []
    KubeObject.objects.filter(kind="Pod").delete()
    used["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "gpus"}
    cluster = load_fleets("nvidia-t4-l40s", extra=[template, used])
    assert codes() == ["spec.spec.devices.requests[0].exactly.allocationMode"]

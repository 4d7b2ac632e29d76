"""What the field guides say of the way to DRA, a test a system: S16 to S18, S22."""

from __future__ import annotations

import pytest

from claims.domain.checks.objects import cluster_findings
from claims.services.checking import Checker
from inventory.models import KubeObject
from tests.integration.adoption.test_readiness import half_way  # noqa: F401  fixture
from tests.integration.api.conftest import call, no_counts  # noqa: F401  fixtures
from tests.integration.claims.objects import manifest_of
from tests.integration.claims.test_waiting import crowded, pod  # noqa: F401  fixture

pytestmark = pytest.mark.django_db
READINESS = "clusters/demo/adoption/readiness"


@pytest.fixture
def verdicts(call, dora):  # noqa: F811
    """Return a function that reads code → answer of a cluster's readiness."""

    def read():
        response = call(dora).get(READINESS)
        assert response.status_code == 200, response.content
        return {each["code"]: each for each in response.json()["verdicts"]}

    return read


def test_s16_each_prerequisite_has_its_verdict_and_evidence(half_way, verdicts):  # noqa: F811
    found = verdicts()

    wanted = {
        "resource.v1",
        "server.version",
        "driver.ready",
        "driver.version",
        "operator.cdi",
    }
    assert wanted <= set(found)
    assert all(each["evidence"] for each in found.values())
    assert {each["answer"] for each in found.values()} == {"yes", "no", "unknown"}


def test_s17_both_kinds_of_the_operator_at_once_are_refused(half_way, verdicts):  # noqa: F811
    assert verdicts()["operator.one"]["answer"] == "no"

    KubeObject.objects.filter(kind="GPUCluster").delete()

    # A file without one does not say that the cluster has none.
    assert verdicts()["operator.one"]["answer"] == "unknown"


def test_s18_five_phases_each_with_gate_and_rollback(half_way, call, dora):  # noqa: F811
    caller, path = call(dora), "clusters/demo/adoption/plan"
    phases = [each["phase"] for each in caller.get(path).json()["phases"]]

    assert phases == ["control-plane", "canary", "mapping", "templates", "drain"]
    for phase in phases:
        found = caller.get(f"{path}/phases/{phase}").json()
        assert found["gate"] != "yes"
        for steps in (found["actions"], found["rollback"]):
            assert all(each["commands"] for each in steps)
            assert steps


def test_s22_a_priority_frees_no_device_and_the_page_says_whose_end_would(
    crowded,  # noqa: F811
    call,  # noqa: F811
    ada,
):
    path = "clusters/demo/claims/ai-training/urgent-gpu/waiting"

    found = call(ada).get(path).json()

    assert "preemption is limited with DRA" in found["preemption"]
    ends = {each["claim"]: each["lowerPriority"] for each in found["endings"]}
    assert ends["ai-serving/orchid-low"] is True
    assert "maple" not in str(found)


def test_s22_kueue_takes_exact_counts_through_templates_only(load_fleets):
    template = manifest_of(namespace="ai-training", device_class="gpu.nvidia.com")
    [request] = template["spec"]["spec"]["devices"]["requests"]
    alternative = {"name": "first", **request.pop("exactly")}
    request["firstAvailable"] = [alternative]
    name = template["metadata"]["name"]
    pods = [
        pod("by-template", "ai-training", 0, resourceClaimTemplateName=name),
        pod("by-claim", "ai-training", 0, resourceClaimName="one"),
    ]
    for each in pods:
        each["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "gpus"}
    cluster = load_fleets("nvidia-t4-l40s", extra=[template, *pods])

    checker = Checker(cluster, previews=False)

    found = checker.findings(template)
    assert [each.path for each in found if each.code == "kueue.unsupported"] == [
        "spec.spec.devices.requests[0].firstAvailable"
    ]
    about = [
        (each.kind, each.name)
        for each in cluster_findings(checker.world)
        if each.finding.code == "kueue.unsupported"
    ]
    assert about == [("Pod", "by-claim")]

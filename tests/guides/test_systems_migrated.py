"""What the field guides say of the way to DRA, a test a system: S16 to S18, S22."""

from __future__ import annotations

import pytest

from inventory.models import KubeObject
from tests.integration.adoption.test_readiness import half_way  # noqa: F401  fixture
from tests.integration.api.conftest import call, no_counts  # noqa: F401  fixtures

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

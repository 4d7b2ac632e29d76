"""What the field guides govern, a test a system: S9 and S19 to S21."""

from __future__ import annotations

import json

import pytest
from django.utils import timezone

from claims.domain.lifecycle import State
from claims.services.ending import revoke
from claims.services.working import sweep
from inventory.domain.fragmentation import Piece, severity
from inventory.domain.kinds import BY_NAME
from inventory.domain.quantity import GIB
from inventory.gateways.errors import NotFound
from portal.admission.domain import questions as q
from portal.admission.domain.advice import (
    UNCALIBRATED,
    Asked,
    Outcome,
    Resources,
    decide,
    guard,
    read_advice,
    state_of,
)
from portal.admission.domain.calibration import calibrate
from tests.conftest import DATA
from tests.guides.manifests import GPU, claim, one_gpu
from tests.guides.test_systems_seen import FULL, answer
from tests.integration.api.conftest import call, no_counts  # noqa: F401  fixtures
from tests.integration.approvals.conftest import (  # noqa: F401  fixtures
    ada,
    admin,
    asked,
    clean,
    cluster,
    granted,
    kubeconfigs,
    observe,
    say,
)
from tests.unit.admission.test_advice import answers
from tests.unit.admission.test_calibration import CONFIDENCE, SAFE, history

pytestmark = pytest.mark.django_db
TEMPLATE = BY_NAME["ResourceClaimTemplate"]
GUIDE = json.loads((DATA / "guides" / "000-systemone.json").read_text())


def test_s09_admin_access_needs_approval_and_ends(
    asked,  # noqa: F811
    granted,  # noqa: F811
    admin,  # noqa: F811
    dora,
):
    waiting = asked()
    assert waiting.state == State.PENDING_APPROVAL
    with pytest.raises(NotFound):
        admin.get(TEMPLATE, waiting.plan.name, waiting.plan.namespace)

    active = granted()
    made = admin.get(TEMPLATE, active.plan.name, active.plan.namespace)
    (request,) = made["spec"]["spec"]["devices"]["requests"]
    assert request["exactly"]["adminAccess"]
    revoke(active, user=dora, reason="Enough.", request_id="s09", now=timezone.now())
    sweep(clock=timezone.now)
    active.refresh_from_db()
    assert active.state == State.RELEASED
    with pytest.raises(NotFound):
        admin.get(TEMPLATE, active.plan.name, active.plan.namespace)


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ({}, Outcome.ADMIT),
        ({"safe": 0.5}, Outcome.DENY),
        ({"action": q.REJECT}, Outcome.DENY),
        ({"action": q.MUTATE}, Outcome.MUTATE),
    ],
)
def test_s19_system_one_is_asked_what_the_guide_asks_and_every_branch_follows(
    said, outcome
):
    resources = Resources(**GUIDE["state"]["cluster_resource_slices"])
    wish = Asked(**GUIDE["state"]["incoming_claim_spec"])
    assert state_of(resources, wish) == GUIDE["state"]
    assert set(q.QUESTIONS["ko"]) == set(GUIDE["questions"])
    assert severity([Piece(16 * GIB)] * 5 + [Piece(0)] * 11, asked=2) == 1
    refused = guard(asks_admin=True, labelled=False)
    assert refused is not None
    assert refused.outcome == Outcome.DENY

    advice = read_advice(answers(**said))
    found = decide(advice, UNCALIBRATED, tier="batch-offline", can_mutate=True)

    assert found.outcome == outcome


def test_s20_calibration_finds_the_threshold_that_is_there():
    found = calibrate(history(1_000), precision=0.99)

    assert found.thresholds.safe == pytest.approx(SAFE, abs=0.02)
    assert found.thresholds.confidence == pytest.approx(CONFIDENCE, abs=0.04)


@pytest.mark.django_db(transaction=True)
def test_s21_the_hosts_rules_and_a_resource_quota_both_count(load_fleets, call, dora):  # noqa: F811
    hard = {f"{GPU}.deviceclass.resource.k8s.io/devices": "1"}
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "gpus", "namespace": "ai-serving"},
        "spec": {"hard": hard},
        "status": {"hard": hard, "used": dict.fromkeys(hard, "1")},
    }
    load_fleets(FULL, extra=[quota])
    manifest = claim("one-more", "ai-serving", one_gpu())

    found = answer(
        call(dora).post("clusters/demo/quota-preview", {"manifest": manifest})
    )

    assert not found["passes"]
    assert any(each["quota"] == "gpus" for each in found["charges"])

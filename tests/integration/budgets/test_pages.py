"""The page of budgets and quotas: what each person sees, and what an admin changes."""

from __future__ import annotations

import pytest

from inventory.domain.kinds import BY_NAME
from inventory.gateways.errors import NotFound
from portal.audit.models import Seal
from portal.audit.services.sealing import seal
from portal.budgets.models import AppliedQuota, Budget
from portal.budgets.services.editing import BudgetChanged, change_budget
from tests.integration.budgets.conftest import GPU_CLASS

QUOTA = BY_NAME["ResourceQuota"]


def test_a_member_sees_their_teams_budget_and_no_other(client, ada, cleo, budget, ask):
    budget(vram_hard=512, cards_soft=1)
    budget(tenant="maple", vram_hard=64)
    ask(count=2)
    client.force_login(ada)

    page = client.get("/budgets/").text

    assert "160 GiB" in page
    assert "352 GiB" in page  # left
    assert "over the soft limit" in page
    assert "maple" not in page
    assert "New budget" not in page


def test_an_admin_changes_limits_and_a_second_one_is_told(client, dora, budget, now):
    row = budget(vram_hard=512)
    client.force_login(dora)
    address = f"/budgets/{row.public_id}/"
    assert 'name="version" value="1"' in client.get(address).text

    answer = client.post(address, {"version": 1, "vram_hard": 100, "reason": "less"})

    assert answer.status_code == 302
    row.refresh_from_db()
    assert (row.vram_hard, row.version, row.changed_by) == (100, 2, dora.username)
    late = client.post(address, {"version": 1, "vram_hard": 900})
    assert late.status_code == 409
    assert "changed this budget meanwhile" in late.text
    assert 'value="900"' in late.text  # nothing that was typed is lost


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"vram_soft": "9", "vram_hard": "3"}, "cannot be higher"),
        ({"vram_hard": "-1"}, "greater than or equal to 0"),
        ({"vram_hard": "many"}, "whole number, or empty"),
        ({"vram_hard": str(10**12)}, "less than or equal to"),
    ],
)
def test_bad_limits_are_said_at_their_field(client, dora, budget, typed, said):
    row = budget(vram_hard=512)
    client.force_login(dora)

    answer = client.post(f"/budgets/{row.public_id}/", {"version": 1, **typed})

    assert answer.status_code == 422
    assert said in answer.text


def test_an_admin_makes_a_budget_once(client, dora, ada):
    client.force_login(dora)
    form = {"scope": "orchid|demo|ai-serving", "cards_hard": "4"}

    assert client.post("/budgets/new/", form).status_code == 302
    again = client.post("/budgets/new/", form)

    assert again.status_code == 422
    assert "There is a budget of that tenant for that already" in again.text
    assert Budget.objects.get().namespace == "ai-serving"


def test_a_change_is_in_the_audit_trail(budget, dora, now):
    from portal.audit.queries.trail import Filters, trail
    from portal.audit.services.sealing import seal

    row = budget(vram_hard=512)
    change_budget(
        row,
        version=1,
        limits={"vram_hard": 8},
        reason="They left.",
        user=dora,
        request_id="r-1",
        now=now,
    )
    with pytest.raises(BudgetChanged):
        change_budget(
            row, version=1, limits={}, reason="", user=dora, request_id="", now=now
        )
    seal()

    newest = trail(Filters(table="budgets.BudgetEvent")).first()
    assert (newest.actor, newest.reason) == (dora.username, "They left.")
    assert newest.changes["vram_hard"] == [512, 8]


@pytest.fixture
def may_write(admin):
    """Let Dora write quotas in ai-serving."""
    from contextlib import suppress

    from inventory.gateways.errors import AlreadyExists
    from inventory.gateways.transport import Call
    from inventory.gateways.transport import call as send

    body = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "quota-managers", "namespace": "ai-serving"},
        "subjects": [
            {
                "kind": "User",
                "name": "dora@platform",
                "apiGroup": "rbac.authorization.k8s.io",
            }
        ],
        "roleRef": {
            "kind": "ClusterRole",
            "name": "slicewise:quota-manager",
            "apiGroup": "rbac.authorization.k8s.io",
        },
    }
    path = "/apis/rbac.authorization.k8s.io/v1/namespaces/ai-serving/rolebindings"
    with suppress(AlreadyExists):
        send(admin.connection, Call("POST", path, body=body), ())
    yield
    with suppress(NotFound):
        admin.delete(QUOTA, "slicewise-devices", "ai-serving")


def test_a_quota_is_tried_shown_and_written_as_the_admin(
    client, dora, budget, gpus, admin, may_write
):
    row = budget(cards_hard=4)
    client.force_login(dora)
    address = f"/budgets/{row.public_id}/quota/"
    form = {"space": "demo|ai-serving", f"class-{GPU_CLASS}": "4", "claims": "9"}

    tried = client.post(address, {**form, "action": "try"})

    key = f"{GPU_CLASS}.deviceclass.resource.k8s.io/devices"
    assert tried.status_code == 200, tried.text
    assert key in tried.text
    with pytest.raises(NotFound):
        admin.get(QUOTA, "slicewise-devices", "ai-serving")
    written = client.post(address, {**form, "action": "apply", "seen": ""})
    assert written.status_code == 302, written.text
    found = admin.get(QUOTA, "slicewise-devices", "ai-serving")
    assert found["spec"]["hard"] == {
        key: "4",
        "count/resourceclaims.resource.k8s.io": "9",
    }
    assert AppliedQuota.objects.get().hard_before is None
    seal()
    [sealed] = Seal.objects.filter(table="budgets.AppliedQuotaEvent")
    assert len(sealed.audit_ids) == 1
    stale = client.post(address, {**form, "action": "apply", "seen": ""})
    assert stale.status_code == 409
    assert "has changed since you looked" in stale.text


def test_the_cluster_has_the_last_word_on_quotas(client, dora, budget, gpus):
    row = budget(cards_hard=4)
    client.force_login(dora)
    form = {"space": "demo|ai-training", f"class-{GPU_CLASS}": "4", "action": "try"}

    answer = client.post(f"/budgets/{row.public_id}/quota/", form)

    assert answer.status_code == 409
    assert "resourcequotas" in answer.text


def test_quotas_of_ones_own_namespaces_are_explained(
    client, dora, cleo, ada, budget, gpus, admin, may_write
):
    from django.utils import timezone

    from inventory.services.store import replace_kinds

    admin.create(
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "slicewise-devices", "namespace": "ai-serving"},
            "spec": {
                "hard": {
                    "count/resourceclaims.resource.k8s.io": "5",
                    f"{GPU_CLASS}.deviceclass.resource.k8s.io/devices": "3",
                    "requests.nvidia.com/gpu": "2",
                    "pods": "10",
                }
            },
        }
    )
    quotas = {"ResourceQuota": admin.list(QUOTA).items}
    replace_kinds(gpus, quotas, now=timezone.now())

    client.force_login(ada)
    page = client.get("/budgets/").text
    assert "how many claims there are" in page
    assert (
        f"devices of the class {GPU_CLASS}: of alternatives the most, All as 32" in page
    )
    assert "the extended resource nvidia.com/gpu" in page
    assert ">pods<" not in page
    client.force_login(cleo)
    assert "slicewise-devices" not in client.get("/budgets/").text

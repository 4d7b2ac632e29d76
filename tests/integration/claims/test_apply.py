"""From a submitted form to an object in the cluster, against an API server."""

from __future__ import annotations

import datetime as dt
import re
import uuid

import pytest
from django.utils import timezone

from claims.domain.lifecycle import State
from claims.domain.manifest import REQUEST_LABEL, digest_of
from claims.models import ClaimPlan, ClaimRequest
from claims.services import applying, moving
from claims.services.submit import SubmitRefused
from claims.services.working import sweep, work_on
from inventory.domain.kinds import BY_NAME
from inventory.gateways.errors import ClusterForbidden, Invalid, NotFound

TEMPLATE = BY_NAME["ResourceClaimTemplate"]


def stored(admin, claim_request):
    plan = claim_request.plan
    return admin.get(BY_NAME[plan.kind], plan.name, plan.namespace)


def work(claim_request, *, now=None):
    assert work_on(claim_request.pk, now=now or timezone.now())
    claim_request.refresh_from_db()


@pytest.mark.parametrize("kind", ["Template", "Claim"])
def test_submit_and_apply_makes_the_object_as_the_person(
    admin, submitted, template, kind
):
    claim_request = submitted(template(kind=kind))
    with pytest.raises(NotFound):
        stored(admin, claim_request)
    assert claim_request.state == State.SUBMITTED
    assert claim_request.acting_groups == ["slicewise:orchid"]

    work(claim_request)

    body = stored(admin, claim_request)
    assert (claim_request.state, claim_request.message) == (State.ACTIVE, "")
    assert claim_request.object_uid == body["metadata"]["uid"]
    assert body["metadata"]["labels"][REQUEST_LABEL] == str(claim_request.public_id)
    assert digest_of(body) == claim_request.plan.digest
    assert claim_request.lease_until is None
    inner = body["spec"]["spec"] if kind == "Template" else body["spec"]
    assert inner["devices"]["requests"][0]["exactly"]["count"] == 1


def test_template_marks_the_claims_made_from_it(admin, submitted, template):
    claim_request = submitted(template())
    work(claim_request)

    labels = stored(admin, claim_request)["spec"]["metadata"]["labels"]

    assert labels[REQUEST_LABEL] == str(claim_request.public_id)


def test_plan_pins_classes_and_the_defaulted_spec(admin, submitted, template):
    claim_request = submitted(template())

    body = admin.get(BY_NAME["DeviceClass"], "gpu.example.com")
    [pin] = claim_request.plan.class_pins
    assert pin["uid"] == body["metadata"]["uid"]
    assert pin["generation"] == body["metadata"].get("generation")
    asked = claim_request.plan.defaulted["spec"]["spec"]["devices"]["requests"][0]
    assert asked["exactly"]["allocationMode"] == "ExactCount"


def test_same_key_is_the_same_request(submitted, template):
    key = uuid.uuid4()
    manifest = template()

    first, second = submitted(manifest, key=key), submitted(template(), key=key)

    assert first.pk == second.pk
    assert ClaimPlan.objects.count() == ClaimRequest.objects.count() == 1


def test_same_key_at_the_same_time_is_the_same_request(
    submitted, template, monkeypatch
):
    from claims.services import submit as module

    key = uuid.uuid4()
    first = submitted(template(), key=key)
    # The second form's look-up came before the first one's commit.
    monkeypatch.setattr(
        module.ClaimRequest.objects, "filter", lambda **_: ClaimRequest.objects.none()
    )

    second = submitted(template(), key=key)

    assert first.pk == second.pk
    assert ClaimPlan.objects.count() == 1


@pytest.mark.parametrize("namespace", ["maple-lab", "kube-system", ""])
def test_submit_refuses_a_namespace_of_others(submitted, template, namespace):
    with pytest.raises(SubmitRefused) as refused:
        submitted(template(namespace=namespace))

    assert refused.value.paths == ("metadata.namespace",)
    assert "ai-serving" in refused.value.message
    assert not ClaimRequest.objects.exists()


def test_submit_refuses_admin_access_where_nobody_may_approve(submitted, template):
    with pytest.raises(SubmitRefused, match="too few people may decide") as refused:
        submitted(template(adminAccess=True, allocationMode="All"))
    assert refused.value.code == "policy.denied"


def test_submit_stops_at_diagnostics_of_level_error(submitted, template):
    warning = {"code": "w", "level": "warning", "message": "Hm."}
    error = {"code": "cel.compile", "level": "error", "message": "No.", "path": "spec"}

    assert submitted(template(), preview={"diagnostics": [warning]}).pk
    with pytest.raises(SubmitRefused, match="No") as refused:
        submitted(template(), preview={"diagnostics": [warning, error]})
    assert (refused.value.code, refused.value.paths) == ("cel.compile", ("spec",))


def test_submit_refuses_an_unknown_class(submitted, template):
    with pytest.raises(SubmitRefused, match="nope") as refused:
        submitted(template(device_class="nope"))

    assert refused.value.code == "class.missing"


def test_submit_refuses_a_taken_name(submitted, template):
    manifest = template()
    work(submitted(manifest))

    with pytest.raises(SubmitRefused, match="rename") as refused:
        submitted(manifest)
    assert refused.value.paths == ("metadata.name",)


def test_submit_shows_what_the_server_says(submitted, template):
    bad = template(selectors=[{"cel": {"expression": "device.nothing == 1"}}])

    with pytest.raises(Invalid) as refused:
        submitted(bad)
    assert any("selectors[0]" in cause.field for cause in refused.value.causes)
    assert not ClaimRequest.objects.exists()


def test_submit_refuses_fields_that_nobody_knows(submitted, template):
    with pytest.raises(Invalid, match="unknown field"):
        submitted(template(gpuMemory="16Gi"))


def test_submit_refuses_what_the_server_does_not_keep(submitted, template):
    with pytest.raises(SubmitRefused, match="does not keep") as refused:
        submitted(template(count=0))

    assert refused.value.code == "apply.field_dropped"
    assert refused.value.paths == ("spec.spec.devices.requests[0].exactly.count",)
    assert not ClaimRequest.objects.exists()


def test_submit_asks_kubernetes_whether_the_person_may(submitted, template, ada):
    [tenant] = ada.tenants.all()
    tenant.namespaces.create(cluster="demo", namespace="default")

    with pytest.raises(ClusterForbidden, match="ada@orchid"):
        submitted(template(namespace="default"))


def test_apply_fails_when_a_class_changed(admin, submitted, template, observe):
    claim_request = submitted(template(device_class="changing.example.com"))
    kind = BY_NAME["DeviceClass"]
    expression = f'device.driver == "{uuid.uuid4().hex[:8]}.example.com"'
    patch = {"spec": {"selectors": [{"cel": {"expression": expression}}]}}
    admin.patch(kind, "changing.example.com", patch)

    work(claim_request)

    assert claim_request.state == State.APPLY_FAILED
    assert "changing.example.com" in claim_request.message
    with pytest.raises(NotFound):
        stored(admin, claim_request)


def test_apply_fails_when_the_name_went_to_another(admin, submitted, template):
    manifest = template()
    claim_request = submitted(manifest)
    admin.create(manifest)

    work(claim_request)

    assert claim_request.state == State.APPLY_FAILED
    assert "another name" in claim_request.message


def test_apply_fails_for_someone_who_left_the_tenant(submitted, template, ada):
    claim_request = submitted(template())
    ada.tenants.clear()

    work(claim_request)

    assert claim_request.state == State.APPLY_FAILED
    assert "orchid" in claim_request.message


def test_apply_finds_what_an_earlier_worker_made(admin, submitted, template):
    claim_request = submitted(template())
    leased = moving.lease(claim_request.pk, now=timezone.now())
    applying._create(leased, None)

    work(claim_request, now=timezone.now() + dt.timedelta(seconds=21))

    assert claim_request.state == State.ACTIVE
    assert claim_request.object_uid == stored(admin, claim_request)["metadata"]["uid"]


def test_apply_takes_back_what_is_not_what_was_shown(admin, submitted, template):
    claim_request = submitted(template())
    plan = claim_request.plan
    ClaimPlan.objects.filter(pk=plan.pk).update(digest="sha256:other")

    work(claim_request)

    assert claim_request.state == State.APPLY_FAILED
    with pytest.raises(NotFound):
        stored(admin, claim_request)


def test_apply_waits_for_a_server_that_is_away(
    cluster, kubeconfigs, submitted, template
):
    from portal.core.secrets import encrypt

    claim_request = submitted(template())
    good = cluster.kubeconfig_encrypted
    away = encrypt(re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:9", kubeconfigs[1]))
    type(cluster).objects.update(kubeconfig_encrypted=away)

    work(claim_request)

    assert claim_request.state == State.APPLYING
    assert claim_request.retry_at > timezone.now()
    assert "127.0.0.1" in claim_request.message or "demo" in claim_request.message
    assert not work_on(claim_request.pk, now=timezone.now())

    type(cluster).objects.update(kubeconfig_encrypted=good)
    later = timezone.now() + dt.timedelta(seconds=30)
    assert sweep(clock=lambda: later) == 1
    claim_request.refresh_from_db()
    assert (claim_request.state, claim_request.message) == (State.ACTIVE, "")


def test_two_workers_take_a_row_once(submitted, template):
    claim_request = submitted(template())
    now = timezone.now()

    first, second = (moving.lease(claim_request.pk, now=now) for _ in range(2))

    assert first is not None
    assert second is None


def test_a_worker_that_lost_its_lease_records_nothing(submitted, template):
    claim_request = submitted(template())
    slow = moving.lease(claim_request.pk, now=timezone.now())
    late = timezone.now() + dt.timedelta(seconds=21)
    assert moving.lease(claim_request.pk, now=late)

    assert not moving.move(
        slow, State.ACTIVE, actor="slow", now=late, object_uid="wrong"
    )
    assert not moving.postpone(slow, "wrong", now=late)

    claim_request.refresh_from_db()
    assert (claim_request.state, claim_request.object_uid) == (State.APPLYING, "")


def test_poison_is_pushed_back_and_the_next_row_is_done(
    submitted, template, monkeypatch, caplog
):
    poison, good = submitted(template()), submitted(template())
    real = applying.apply

    def apply(claim_request, *, now):
        if claim_request.pk == poison.pk:
            raise ZeroDivisionError
        real(claim_request, now=now)

    monkeypatch.setattr(applying, "apply", apply)

    assert sweep(clock=timezone.now) == 2

    poison.refresh_from_db()
    good.refresh_from_db()
    assert (poison.state, good.state) == (State.APPLYING, State.ACTIVE)
    assert poison.retry_at > timezone.now()
    assert "unexpected" in poison.message
    lines = [each.msg for each in caplog.records if each.levelname == "ERROR"]
    ids = [(line["claim_request"], line["request_id"]) for line in lines]
    assert ids == [(str(poison.public_id), "test-request-id")]


def test_every_move_is_audited(submitted, template):
    from claims.queries.requests import timeline

    claim_request = submitted(template())
    work(claim_request)

    entries = timeline(claim_request)

    assert [entry.state for entry in entries] == ["Submitted", "Applying", "Active"]
    assert [entry.actor for entry in entries] == [
        "ada@orchid",
        "slicewise-worker",
        "slicewise-worker",
    ]

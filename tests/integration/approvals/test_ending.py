"""The whole life of administrative access, and its end, on an API server."""

from __future__ import annotations

import datetime as dt
import time
import uuid
from contextlib import suppress

import pytest
from django.utils import timezone

from claims.domain.lifecycle import State
from claims.domain.pod import demo_pod
from claims.queries.requests import timeline
from claims.services.ending import NotEndable, expire_due, revoke
from claims.services.releasing import release
from claims.services.starting import start_pod
from claims.services.working import sweep
from inventory.domain.kinds import BY_NAME
from inventory.gateways.errors import NotFound
from portal.audit.models import Seal
from portal.audit.queries.trail import Filters, trail
from portal.audit.services.sealing import seal, verify

pytestmark = pytest.mark.django_db
SPACE = "gpu-monitoring"
POD, CLAIM = BY_NAME["Pod"], BY_NAME["ResourceClaim"]
LATER = dt.timedelta(hours=2)


def later():
    return timezone.now() + LATER


def names(admin, kind):
    return {body["metadata"]["name"] for body in admin.list(kind, SPACE).items}


def wait_for(condition):
    deadline = time.monotonic() + 20
    while not (found := condition()):
        assert time.monotonic() < deadline, "not within 20 s"
        time.sleep(0.2)
    return found


def with_devices(admin):
    """Return the claims there that hold devices with administrative access."""
    return [
        body
        for body in admin.list(CLAIM, SPACE).items
        for result in ((body.get("status") or {}).get("allocation") or {})
        .get("devices", {})
        .get("results", [])[:1]
        if result.get("adminAccess")
    ]


def play_kubelet(admin):
    """End pods that are being deleted, as a kubelet does."""
    for body in admin.list(POD, SPACE).items:
        if body["metadata"].get("deletionTimestamp"):
            with suppress(NotFound):
                admin.delete(POD, body["metadata"]["name"], SPACE, gracePeriodSeconds=0)


def sweep_until_released(claim_request, admin, clock=later):
    def step():
        play_kubelet(admin)
        # As if each pause were over.
        type(claim_request).objects.filter(pk=claim_request.pk).update(retry_at=None)
        sweep(clock=clock)
        claim_request.refresh_from_db()
        return claim_request.state == State.RELEASED

    wait_for(step)


@pytest.mark.parametrize("kind", ["Template", "Claim"])
def test_at_its_end_everything_that_used_it_is_gone(granted, admin, kind):
    claim_request = granted(kind=kind)
    start_pod(claim_request)
    # Somebody else's pod, which the portal was never shown.
    plan = claim_request.plan
    admin.create(demo_pod(plan.kind, plan.name, SPACE, "11111111"))
    wait_for(lambda: len(with_devices(admin)) >= (2 if kind == "Template" else 1))

    sweep(clock=timezone.now)
    claim_request.refresh_from_db()
    assert claim_request.state == State.ACTIVE
    sweep_until_released(claim_request, admin)

    assert not names(admin, POD)
    assert not names(admin, CLAIM)
    assert not names(admin, BY_NAME["ResourceClaimTemplate"])
    states = [entry.state for entry in timeline(claim_request)]
    assert states[-4:] == ["Expired", "Releasing", "Releasing", "Released"] or (
        "Expired" in states and states[-1] == "Released"
    )
    assert {e.actor for e in timeline(claim_request) if e.state == "Expired"} == {
        "slicewise-clock"
    }


def test_a_pod_that_does_not_end_keeps_it_from_being_released(granted, admin):
    claim_request = granted()
    name = start_pod(claim_request)
    wait_for(lambda: with_devices(admin))
    held = {"metadata": {"finalizers": ["example.com/holds"]}}
    admin.patch(POD, name, held, namespace=SPACE)
    try:
        for _ in range(3):
            type(claim_request).objects.filter(pk=claim_request.pk).update(
                retry_at=None
            )
            sweep(clock=later)
        claim_request.refresh_from_db()
        assert claim_request.state == State.RELEASING
        assert name in claim_request.message
    finally:
        admin.patch(POD, name, {"metadata": {"finalizers": None}}, namespace=SPACE)
    sweep_until_released(claim_request, admin)


def test_it_ends_although_its_requester_has_lost_every_right(granted, admin, ada):
    from inventory.gateways.transport import Call, call
    from tests.integration.claims.objects import _binding, _rbac_path

    claim_request = granted()
    start_pod(claim_request)
    wait_for(lambda: with_devices(admin))
    ada.is_active = False
    ada.save()
    ada.tenants.clear()
    body = _binding(SPACE)
    call(admin.connection, Call("DELETE", f"{_rbac_path(body)}/tenant"), ())
    try:
        sweep_until_released(claim_request, admin)
    finally:
        call(admin.connection, Call("POST", _rbac_path(body), body=body), ())
    assert not names(admin, POD)


def test_taking_the_label_away_ends_nothing_but_revoking_does(
    granted, admin, ben, observe
):
    claim_request = granted()
    start_pod(claim_request)
    wait_for(lambda: with_devices(admin))
    label = "resource.kubernetes.io/admin-access"
    space = BY_NAME["Namespace"]
    admin.patch(space, SPACE, {"metadata": {"labels": {label: None}}})
    try:
        time.sleep(1)
        assert with_devices(admin)
        assert names(admin, POD)

        revoke(
            claim_request,
            user=ben,
            reason="The incident is over.",
            request_id="r",
            now=timezone.now(),
        )
        assert claim_request.state == State.RELEASING
        sweep_until_released(claim_request, admin, clock=timezone.now)
    finally:
        admin.patch(space, SPACE, {"metadata": {"labels": {label: "true"}}})
    assert not with_devices(admin)
    assert not names(admin, POD)
    [entry] = [e for e in timeline(claim_request) if e.state == "Revoked"]
    assert entry.actor == "ben@platform"
    assert "The incident is over." in entry.message
    with pytest.raises(NotEndable):
        revoke(claim_request, user=ben, reason="x", request_id="r", now=timezone.now())


def test_each_write_is_recorded_under_its_id_in_the_servers_audit_log(
    granted, admin, ben
):
    claim_request = granted()
    revoke(
        claim_request, user=ben, reason="Enough.", request_id="r", now=timezone.now()
    )
    sweep_until_released(claim_request, admin, clock=timezone.now)
    seal()

    mine = [
        row
        for row in Seal.objects.filter(table="claims.ClaimRequestEvent")
        if row.content["event"]["public_id"] == str(claim_request.public_id)
    ]
    found = [audit_id for row in mine for audit_id in row.audit_ids]
    [made] = [row for row in mine if row.changes.get("object_uid", [None, ""])[1]]
    ended = [row for row in mine if row.audit_ids and row.number > made.number]
    assert len(made.audit_ids) == 1
    assert ended
    assert {row.content["event"]["state"] for row in ended} <= {
        State.RELEASING,
        State.RELEASED,
    }
    assert len(set(found)) == len(found)
    assert all(str(uuid.UUID(each)) == each for each in found)
    [one] = trail(Filters(text=made.audit_ids[0]))
    assert one.number == made.number
    assert not verify().faults


def test_time_ends_a_release_that_left_pods_alone(granted, admin, ada):
    claim_request = granted()
    start_pod(claim_request)
    wait_for(lambda: with_devices(admin))
    release(claim_request, user=ada, pods=[], request_id="r", now=timezone.now())
    sweep(clock=timezone.now)
    claim_request.refresh_from_db()
    assert claim_request.state == State.RELEASING
    assert claim_request.ended_by == ""

    sweep_until_released(claim_request, admin)
    assert claim_request.ended_by == "slicewise-clock"
    assert not names(admin, POD)


def test_a_worker_that_was_dead_over_the_deadline_ends_it_when_it_is_back(
    granted, admin
):
    claim_request = granted()
    start_pod(claim_request)
    wait_for(lambda: with_devices(admin))
    # No sweep for a day, and a lease of a worker that died before that.
    a_day_later = lambda: timezone.now() + dt.timedelta(days=1)  # noqa: E731
    sweep_until_released(claim_request, admin, clock=a_day_later)
    assert not names(admin, POD)


def test_another_object_of_that_name_is_left_alone(granted, admin):
    claim_request = granted()
    plan = claim_request.plan
    kind = BY_NAME["ResourceClaimTemplate"]
    admin.delete(kind, plan.name, SPACE)
    other = {**plan.manifest, "metadata": {"name": plan.name, "namespace": SPACE}}
    made = admin.create(other)
    # Nobody uses either, so there is nothing else to end.
    sweep_until_released(claim_request, admin)
    assert (
        admin.get(kind, plan.name, SPACE)["metadata"]["uid"] == made["metadata"]["uid"]
    )


def test_expiry_is_done_once_whoever_sweeps(granted):
    claim_request = granted()
    assert expire_due(now=later()) == 1
    assert expire_due(now=later()) == 0
    states = [entry.state for entry in timeline(claim_request)]
    assert states.count("Expired") == 1

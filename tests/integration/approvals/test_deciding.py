"""Who decides, what counts, and what is said to whoever comes too late."""

from __future__ import annotations

import datetime as dt
import threading
import uuid

import pytest
from django.db import connection
from django.utils import timezone

from claims.domain.lifecycle import State
from claims.models import ClaimPlan, ClaimRequest
from claims.services.ending import cancel
from claims.services.gate import NotApproved
from claims.services.submit import SubmitRefused
from claims.services.working import sweep, work_on
from inventory.domain.kinds import BY_NAME
from inventory.gateways.errors import NotFound
from portal.accounts.models import Membership, Tenant, User
from portal.accounts.services import make_service_account
from portal.approvals.domain.policy import Effect, Rule
from portal.approvals.models import Approval, Decision
from portal.approvals.queries.inbox import in_tab, waiting_for
from portal.approvals.services.deciding import (
    NotYours,
    OtherDigest,
    ReasonMissing,
    TooLate,
)
from portal.approvals.services.gating import ApprovalGate
from portal.approvals.services.policies import store_policy
from portal.notices.models import Notice

pytestmark = pytest.mark.django_db
TEMPLATE = BY_NAME["ResourceClaimTemplate"]


def with_rules(*rules):
    store_policy(rules, by="dora@platform", note="", now=timezone.now())


def approving(n=1, **more):
    return Rule(
        name="few", effect=Effect.APPROVE, admin_access=True, approvals=n, **more
    )


def test_nothing_is_made_before_enough_people_agree(asked, say, ben, dora, admin):
    claim_request = asked()
    assert claim_request.state == State.PENDING_APPROVAL
    assert not work_on(claim_request.pk, now=timezone.now())

    assert say(claim_request, ben).state == State.PENDING_APPROVAL
    sweep(clock=timezone.now)
    with pytest.raises(NotFound):
        admin.get(TEMPLATE, claim_request.plan.name, "gpu-monitoring")

    assert say(claim_request, dora, reason="Fine.").state == State.APPROVED
    sweep(clock=timezone.now)
    claim_request.refresh_from_db()
    assert claim_request.state == State.ACTIVE
    assert admin.get(TEMPLATE, claim_request.plan.name, "gpu-monitoring")


def test_submit_twice_with_one_key_is_one_request_and_one_approval(asked, ben, dora):
    key = uuid.uuid4()
    assert asked(key=key).pk == asked(key=key).pk
    assert Approval.objects.count() == 1


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"justification": " "}, "policy.justification"),
        ({"hours": None}, "policy.too_long"),
        ({"hours": 169}, "policy.too_long"),
        ({"hours": -1}, "policy.too_long"),
    ],
)
def test_a_reason_and_an_end_are_needed(asked, ben, dora, more, code):
    with pytest.raises(SubmitRefused) as refused:
        asked(**more)
    assert refused.value.code == code
    assert not ClaimRequest.objects.exists()


def test_too_few_deciders_are_said_before_anything_waits(asked, ben):
    with pytest.raises(SubmitRefused, match=r"too few people .*\(ben@platform\)"):
        asked()


def test_a_requester_never_counts_among_the_deciders(asked, ada, ben):
    ada.roles = ["approver"]
    ada.save()
    with pytest.raises(SubmitRefused, match=r"too few people .*\(ben@platform\)"):
        asked()


def test_nobody_decides_about_their_own(asked, say, ada, ben, dora):
    claim_request = asked()
    ada.roles = ["approver", "admin"]
    ada.save()
    with pytest.raises(NotYours, match="of their own"):
        say(claim_request, ada)
    assert not waiting_for(ada).exists()


def test_members_do_not_decide_about_their_teams_service_account(
    asked, say, ada, ben, dora
):
    team = ada.tenants.get()
    robot = make_service_account(tenant=team, name="nightly")
    claim_request = asked(user=robot)
    say(claim_request, ben)
    Membership.objects.create(user=ben, tenant=team)

    assert not waiting_for(ben).exists()
    assert waiting_for(dora).get().claim_request == claim_request
    say(claim_request, dora)
    # What Ben said before he was one of them counts no longer.
    with pytest.raises(NotApproved):
        ApprovalGate().check_apply(claim_request, now=timezone.now())
    with pytest.raises(SubmitRefused, match=r"too few people .*\(dora@platform\)"):
        asked(user=robot)
    with pytest.raises(NotYours, match="own team's service account"):
        say(claim_request, ben)


def test_others_without_the_right_do_not_decide(asked, say, cleo, eli):
    claim_request = asked()
    for person in (cleo, eli):
        with pytest.raises(NotYours):
            say(claim_request, person)
    assert not Decision.objects.exists()


def test_a_rule_may_name_the_role(asked, say, ben, dora):
    with_rules(approving(1, role="admin"))
    claim_request = asked()
    with pytest.raises(NotYours, match="admin"):
        say(claim_request, ben)
    assert say(claim_request, dora).state == State.APPROVED


@pytest.fixture
def review(ben, dora):
    """Return a team in which Ben is, and Dora is not."""
    made = Tenant.objects.create(name="gpu-review", group="slicewise:gpu-review")
    Membership.objects.create(user=ben, tenant=made)
    return made


def test_a_rule_may_name_the_group(asked, say, review, ben, dora, eli):
    Membership.objects.create(user=eli, tenant=review)  # who may not decide
    with_rules(approving(1, group="gpu-review"))
    claim_request = asked()

    assert Notice.objects.get(event="approval.requested").receipts.count() == 1
    assert not waiting_for(dora).exists()
    assert waiting_for(ben).get().group == "gpu-review"
    with pytest.raises(NotYours, match="members of the team gpu-review"):
        say(claim_request, dora)
    with pytest.raises(NotYours, match="lacks the right"):
        say(claim_request, eli)
    assert say(claim_request, ben).state == State.APPROVED


def test_of_too_small_a_group_not_enough_can_agree(asked, review, ben, dora):
    with_rules(approving(2, group="gpu-review"))
    with pytest.raises(SubmitRefused, match=r"too few people .*\(ben@platform\)"):
        asked()


def test_who_has_left_the_group_does_not_count(asked, say, review, ben, dora):
    with_rules(approving(1, group="gpu-review"))
    claim_request = asked()
    say(claim_request, ben)
    Membership.objects.all().filter(user=ben).delete()

    sweep(clock=timezone.now)

    claim_request.refresh_from_db()
    assert claim_request.state == State.APPLY_FAILED


def test_to_deny_needs_a_reason_and_ends_it(asked, say, ben, dora):
    claim_request = asked()
    say(claim_request, dora)
    with pytest.raises(ReasonMissing):
        say(claim_request, ben, "deny", " ")
    say(claim_request, ben, "deny", "Use the metrics that are there.")
    assert claim_request.state == State.DENIED
    assert "ben@platform: Use the metrics" in claim_request.message


def test_twice_the_same_person_is_no_second_approval(asked, say, ben):
    claim_request = asked()
    say(claim_request, ben)
    with pytest.raises(TooLate, match="already"):
        say(claim_request, ben)
    assert Approval.objects.get().approved_count == 1


def test_a_decision_is_bound_to_what_was_shown(asked, say, ben):
    claim_request = asked()
    with pytest.raises(OtherDigest):
        say(claim_request, ben, digest="sha256:" + "0" * 64)
    assert not Decision.objects.exists()


def test_an_edit_is_another_request_with_an_approval_of_its_own(asked, say, ben, dora):
    first = asked()
    say(first, ben)
    second = asked(allocationMode="ExactCount", count=1)
    assert first.plan.digest != second.plan.digest
    assert Approval.objects.get(claim_request=second).approved_count == 0


@pytest.mark.parametrize("change", ["defaulted", "digest"])
def test_a_plan_changed_after_the_approval_is_not_applied(
    asked, say, ben, dora, change, admin
):
    claim_request = asked()
    say(claim_request, ben)
    say(claim_request, dora)
    plan = claim_request.plan
    if change == "digest":
        plan.digest = "sha256:" + "1" * 64
    else:
        plan.defaulted["spec"]["spec"]["devices"]["requests"][0]["name"] = "other"
    ClaimPlan.objects.filter(pk=plan.pk).update(
        digest=plan.digest, defaulted=plan.defaulted
    )
    work_on(claim_request.pk, now=timezone.now())
    claim_request.refresh_from_db()
    assert claim_request.state == State.APPLY_FAILED
    assert "not what was approved" in claim_request.message
    with pytest.raises(NotFound):
        admin.get(TEMPLATE, plan.name, plan.namespace)


def test_an_approver_who_may_no_longer_decide_does_not_count(asked, say, ben, dora):
    claim_request = asked()
    say(claim_request, ben)
    say(claim_request, dora)
    User.objects.filter(pk=ben.pk).update(roles=[])
    work_on(claim_request.pk, now=timezone.now())
    claim_request.refresh_from_db()
    assert claim_request.state == State.APPLY_FAILED
    assert "Too few" in claim_request.message


def test_the_label_is_checked_again_when_it_is_applied(asked, say, ben, dora, admin):
    claim_request = asked()
    say(claim_request, ben)
    say(claim_request, dora)
    label = "resource.kubernetes.io/admin-access"
    space = BY_NAME["Namespace"]
    admin.patch(space, "gpu-monitoring", {"metadata": {"labels": {label: "True"}}})
    try:
        work_on(claim_request.pk, now=timezone.now())
    finally:
        admin.patch(space, "gpu-monitoring", {"metadata": {"labels": {label: "true"}}})
    claim_request.refresh_from_db()
    assert claim_request.state == State.APPLY_FAILED
    assert "no longer carries the label" in claim_request.message


def test_rbac_has_the_last_word_when_it_is_applied(asked, say, ben, dora, admin):
    from inventory.gateways.transport import Call, call
    from tests.integration.claims.objects import _binding, _rbac_path

    claim_request = asked()
    say(claim_request, ben)
    say(claim_request, dora)
    body = _binding("gpu-monitoring")
    path = _rbac_path(body)
    call(admin.connection, Call("DELETE", f"{path}/tenant"), ())
    try:
        work_on(claim_request.pk, now=timezone.now())
    finally:
        call(admin.connection, Call("POST", path, body=body), ())
    claim_request.refresh_from_db()
    assert claim_request.state == State.APPLY_FAILED
    assert "ada@orchid" in claim_request.message


def test_undecided_it_expires(asked, say, ben, dora):
    claim_request = asked(hours=100)
    late = timezone.now() + dt.timedelta(hours=25)
    with pytest.raises(TooLate):
        say(claim_request, ben, now=late)
    sweep(clock=lambda: late)
    claim_request.refresh_from_db()
    assert claim_request.state == State.EXPIRED
    assert "Nobody decided" in claim_request.message
    assert not waiting_for(ben).exists()
    sweep(clock=lambda: late)
    claim_request.refresh_from_db()
    assert claim_request.state == State.EXPIRED


def test_it_expires_when_its_own_time_is_over_before_it_is_applied(
    asked, say, ben, dora
):
    claim_request = asked(hours=1)
    say(claim_request, ben)
    say(claim_request, dora)
    late = timezone.now() + dt.timedelta(hours=2)
    sweep(clock=lambda: late)
    claim_request.refresh_from_db()
    assert claim_request.state == State.EXPIRED
    assert not claim_request.object_uid


def test_cancelled_it_leaves_the_inbox_and_cannot_be_decided(asked, say, ada, ben):
    claim_request = asked()
    assert [one.claim_request_id for one in waiting_for(ben)] == [claim_request.pk]
    cancel(claim_request, user=ada, request_id="x", now=timezone.now())
    assert not waiting_for(ben).exists()
    with pytest.raises(TooLate, match="Cancelled"):
        say(claim_request, ben)
    assert not Decision.objects.exists()


def test_inbox_tabs(asked, say, ada, ben, dora, cleo):
    claim_request = asked()
    say(claim_request, ben)
    assert [in_tab(ben, tab).count() for tab in ("review", "mine", "all")] == [0, 0, 1]
    assert [in_tab(dora, tab).count() for tab in ("review", "mine", "all")] == [1, 0, 1]
    assert [in_tab(ada, tab).count() for tab in ("review", "mine", "all")] == [0, 1, 1]
    assert [in_tab(cleo, tab).count() for tab in ("review", "mine", "all")] == [0, 0, 0]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("verdicts", [("approve", "approve"), ("approve", "deny")])
@pytest.mark.parametrize("attempt", range(5))
def test_two_at_once_are_one_winner_and_one_clear_answer(
    asked, say, ben, dora, verdicts, attempt
):
    with_rules(approving(1))
    claim_request = asked()
    barrier = threading.Barrier(2)
    answers = []

    def go(person, verdict):
        mine = ClaimRequest.objects.get(pk=claim_request.pk)
        barrier.wait()
        try:
            say(mine, person, verdict, "Because.")
            answers.append("")
        except TooLate as error:
            answers.append(error.message)
        finally:
            connection.close()

    threads = [
        threading.Thread(target=go, args=pair)
        for pair in zip((ben, dora), verdicts, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    [said] = [text for text in answers if text]
    assert "decided a moment before you" in said
    assert Decision.objects.count() == 1
    claim_request.refresh_from_db()
    assert claim_request.state in {State.APPROVED, State.DENIED}
    assert claim_request.state in said


@pytest.mark.django_db(transaction=True)
def test_two_needed_and_two_at_once_both_count(asked, say, ben, dora):
    claim_request = asked()
    barrier = threading.Barrier(2)

    def go(person):
        mine = ClaimRequest.objects.get(pk=claim_request.pk)
        barrier.wait()
        say(mine, person)
        connection.close()

    threads = [threading.Thread(target=go, args=(each,)) for each in (ben, dora)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    claim_request.refresh_from_db()
    assert claim_request.state == State.APPROVED
    assert Approval.objects.get().approved_count == 2

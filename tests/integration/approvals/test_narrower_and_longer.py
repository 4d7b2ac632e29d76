"""Less than was asked, longer than was granted, and what time brings."""

from __future__ import annotations

import datetime as dt

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from claims.domain.lifecycle import State
from claims.models import ClaimRequest
from inventory.models import KubeObject
from portal.accounts.models import Membership, Tenant
from portal.accounts.services import make_service_account
from portal.approvals.domain.policy import Effect, Rule
from portal.approvals.models import Approval, Decision, Extension, IdleClaim
from portal.approvals.queries.inbox import extensions_for
from portal.approvals.services.deciding import NotYours
from portal.approvals.services.extending import NotExtended, ask_longer, say_on_longer
from portal.approvals.services.narrowing import (
    Narrower,
    NotNarrower,
    approve_narrower,
    difference_of,
)
from portal.approvals.services.policies import store_policy
from portal.approvals.services.reminding import remind_undecided, tell_ending
from portal.approvals.services.watching_labels import note_labels
from portal.notices.models import Notice

HOUR = dt.timedelta(hours=1)


def less(approval, user, *, hours=None, digest=None, **counts):
    approve_narrower(
        approval,
        Narrower(hours, counts),
        user=user,
        reason="",
        digest=digest or approval.digest,
        request_id="less-id",
        now=timezone.now(),
    )


@pytest.fixture
def approval(ben, dora, asked):
    row = asked(allocationMode="ExactCount", count=3, hours=5)
    return Approval.objects.select_related("claim_request__plan__cluster").get(
        claim_request=row
    )


def test_fewer_devices_are_another_digest_that_all_have_to_agree_to(
    approval, say, ben, dora, observe
):
    from claims.services.working import work_on

    row, before = approval.claim_request, approval.digest
    say(row, ben)
    approval.refresh_from_db()

    less(approval, dora, gpu=1)

    row.refresh_from_db()
    approval = Approval.objects.get(claim_request=row)
    assert approval.digest != before
    assert (approval.approved_count, approval.narrowed_by) == (1, dora.username)
    assert ("-", "          count: 3") in [
        (sign, line.rstrip()) for sign, line in difference_of(approval)
    ] or any("count: 3" in line for _sign, line in difference_of(approval))
    assert row.state == State.PENDING_APPROVAL
    say(row, ben)
    assert row.state == State.APPROVED
    assert Decision.objects.filter(person=ben).count() == 2
    assert work_on(row.pk, now=timezone.now())
    row.refresh_from_db()
    assert row.state == State.ACTIVE, row.message


def test_fewer_hours_leave_the_digest_and_the_count(approval, say, ben, dora):
    row = approval.claim_request
    say(row, ben)
    approval.refresh_from_db()

    less(approval, dora, hours=2)

    row.refresh_from_db()
    assert row.state == State.APPROVED
    assert row.expires_at - timezone.now() < 2 * HOUR


@pytest.mark.parametrize(
    "wish", [{}, {"gpu": 3}, {"gpu": 4}, {"other": 1}, {"hours": 9}]
)
def test_what_is_not_less_is_refused(approval, ben, wish):
    with pytest.raises(NotNarrower):
        less(approval, ben, **wish)
    assert Decision.objects.count() == 0


def test_longer_waits_for_as_many_as_a_new_one_would(granted, ada, ben, dora):
    row = granted()
    until = row.expires_at + HOUR
    made = ask_longer(
        row,
        user=ada,
        until=until,
        reason="Not done.",
        request_id="x",
        now=timezone.now(),
    )
    assert (made.state, made.needed) == (Extension.State.OPEN, 2)
    with pytest.raises(NotExtended):
        ask_longer(
            row, user=ada, until=until, reason="x", request_id="", now=timezone.now()
        )

    for person in (ben, dora):
        say_on_longer(
            made,
            user=person,
            verdict=Decision.Verdict.APPROVE,
            reason="",
            request_id="x",
            now=timezone.now(),
        )

    row.refresh_from_db()
    made.refresh_from_db()
    assert (row.expires_at, made.state) == (until, Extension.State.GRANTED)


def granted_by(person, made, *, not_by, why):
    """Have one refused who may not grant that it lasts longer, and another grant it."""
    said = {"verdict": "approve", "reason": "", "request_id": "x"}
    with pytest.raises(NotYours, match=why):
        say_on_longer(made, user=not_by, now=timezone.now(), **said)
    say_on_longer(made, user=person, now=timezone.now(), **said)
    made.refresh_from_db()
    assert made.state == Extension.State.GRANTED


def test_members_of_the_group_alone_decide_whether_it_is_longer(
    granted, ada, ben, dora
):
    row = granted()
    team = Tenant.objects.create(name="gpu-review", group="slicewise:gpu-review")
    Membership.objects.create(user=ben, tenant=team)
    rules = [Rule(name="few", effect=Effect.APPROVE, group="gpu-review")]
    store_policy(rules, by="dora@platform", note="", now=timezone.now())
    made = ask_longer(
        row,
        user=ada,
        until=row.expires_at + HOUR,
        reason="Not done.",
        request_id="x",
        now=timezone.now(),
    )

    assert (list(extensions_for(ben)), list(extensions_for(dora))) == ([made], [])
    granted_by(ben, made, not_by=dora, why="members of the team gpu-review")


def test_of_a_teams_service_account_others_decide_whether_it_is_longer(
    granted, ada, ben, dora
):
    team = ada.tenants.get()
    robot = make_service_account(tenant=team, name="nightly")
    row = granted(user=robot)
    Membership.objects.create(user=ben, tenant=team)
    wish = {
        "user": robot,
        "until": row.expires_at + HOUR,
        "reason": "Not done.",
        "request_id": "x",
        "now": timezone.now(),
    }
    with pytest.raises(NotExtended, match=r"too few people .*\(dora@platform\)"):
        ask_longer(row, **wish)
    rules = [Rule(name="one", effect=Effect.APPROVE, approvals=1)]
    store_policy(rules, by="dora@platform", note="", now=timezone.now())
    made = ask_longer(row, **wish)

    told = Notice.objects.filter(event="approval.requested").latest("pk")
    assert [each.person for each in told.receipts.all()] == [dora]
    assert (list(extensions_for(ben)), list(extensions_for(dora))) == ([], [made])
    granted_by(dora, made, not_by=ben, why="own team's service account")


def test_where_policy_lets_it_pass_it_is_longer_at_once(submitted_with_end, ada):
    row = submitted_with_end
    until = row.expires_at + HOUR

    made = ask_longer(
        row, user=ada, until=until, reason="More.", request_id="", now=timezone.now()
    )

    row.refresh_from_db()
    assert (row.expires_at, made.state) == (until, Extension.State.GRANTED)


@pytest.fixture
def submitted_with_end(granted):
    row = granted()
    rules = [Rule(name="all", effect=Effect.AUTO)]
    store_policy(rules, by="x", note="", now=timezone.now())
    # Administrative access never passes by itself: this stands for a request without.
    plan = row.plan
    asks = plan.manifest["spec"]["spec"]["devices"]["requests"][0]["exactly"]
    asks.pop("adminAccess")
    plan.save()
    return row


def test_reminders_and_ends_are_told_once(approval, granted, ben, dora, ada):
    half = approval.created_at + (approval.decide_by - approval.created_at) / 2
    # By then its own time would be over, but for this.
    ClaimRequest.objects.update(expires_at=None)
    assert remind_undecided(now=half) == 1
    assert remind_undecided(now=half) == 0
    [notice] = Notice.objects.filter(event="approval.reminder")
    assert {each.person for each in notice.receipts.all()} == {ben, dora}


def test_an_end_that_comes_near_is_told_once(granted, ada):
    row = granted(hours=3)
    near = row.expires_at - HOUR / 2

    assert tell_ending(now=near) == 1
    assert tell_ending(now=near) == 0
    assert Notice.objects.get(event="claim.ending-soon").receipts.get().person == ada


def test_whether_it_was_told_is_looked_up_not_searched_for(approval, granted):
    """Each minute, for each request: all notices of months must not be read for it."""
    now = timezone.now()
    Notice.objects.bulk_create(
        Notice(event="claim.active", subject="x", url=f"/r/{n}/", at=now)
        for n in range(5000)
    )
    row = granted(hours=5)
    with CaptureQueriesContext(connection) as asked, connection.cursor() as cursor:
        cursor.execute("ANALYZE notices_notice")
        remind_undecided(
            now=approval.decide_by - (approval.decide_by - approval.created_at) / 4
        )
        tell_ending(now=row.expires_at - dt.timedelta(minutes=30))
    begin = 'SELECT 1 AS "a" FROM "notices_notice"'
    lookups = {q["sql"] for q in asked.captured_queries if q["sql"].startswith(begin)}
    assert len(lookups) >= 2
    for lookup in lookups:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN {lookup}")
            assert "Seq Scan" not in str(cursor.fetchall())


def test_a_label_that_appears_is_told_and_one_that_was_there_is_not(
    cluster, observe, ben, ada
):
    type(cluster).objects.update(kinds={"Namespace": {"state": "watching"}})
    now = timezone.now()
    assert note_labels(now=now) == 0
    space = KubeObject.objects.get(cluster=cluster, kind="Namespace", name="ai-serving")
    label = {"resource.kubernetes.io/admin-access": "true"}
    space.body["metadata"]["labels"] = label
    space.save()

    assert note_labels(now=now) == 1
    assert note_labels(now=now) == 0
    notice = Notice.objects.get(event="exposure.appeared")
    assert notice.payload["namespace"] == "ai-serving"
    assert ben in {each.person for each in notice.receipts.all()}


def test_what_somebody_removed_ends_by_itself(granted, observe, admin, cluster):
    from claims.services.ending import release_missing
    from claims.services.working import work_on
    from inventory.domain.kinds import BY_NAME

    row = granted()
    plan = row.plan
    admin.delete(BY_NAME[plan.kind], plan.name, plan.namespace)
    observe()
    type(cluster).objects.update(kinds={plan.kind: {"state": "watching"}})
    later = timezone.now() + dt.timedelta(minutes=6)
    type(cluster).objects.update(heard_at=later)

    assert release_missing(now=timezone.now()) == 0  # it may come back
    assert release_missing(now=later) == 1

    assert work_on(row.pk, now=later)
    row.refresh_from_db()
    assert row.state == State.RELEASED


def test_idle_claims_are_noted_told_and_forgotten(cluster, observe, ada):
    from portal.approvals.services.idling import note_idle, tell_idle

    now = timezone.now()
    body = {
        "metadata": {"name": "left", "namespace": "ai-serving", "uid": "u-left"},
        "spec": {},
        "status": {"allocation": {"devices": {"results": []}}},
    }
    KubeObject.objects.create(
        cluster=cluster,
        kind="ResourceClaim",
        namespace="ai-serving",
        name="left",
        uid="u-left",
        body=body,
        revision=1,
        seen_at=now,
    )
    kinds = {kind: {"state": "watching"} for kind in ("ResourceClaim", "Pod")}
    type(cluster).objects.update(kinds=kinds, heard_at=now)

    assert note_idle(now=now) == 1
    assert tell_idle(now=now) == 0
    later = now + 7 * HOUR
    type(cluster).objects.update(heard_at=later)
    assert note_idle(now=later) == 1
    assert tell_idle(now=later) == 1
    assert tell_idle(now=later) == 0
    assert Notice.objects.get(event="claim.idle").receipts.get().person == ada
    KubeObject.objects.filter(uid="u-left").update(deleted_at=later)
    note_idle(now=later)
    assert not IdleClaim.objects.exists()


def idle_since(row, hours, now):
    """Let the one claim of a request be idle, and its owner told, for so long."""
    return IdleClaim.objects.create(
        cluster=row.plan.cluster,
        namespace=row.plan.namespace,
        name=f"{row.plan.name}-made",
        uid="u-idle",
        claim_request=row,
        since=now - hours * HOUR,
        told_at=now - 2 * HOUR,
    )


def unreserved(row, now):
    """Store a claim of the request that holds devices and that no pod uses."""
    from claims.domain.manifest import MANAGED_BY, MANAGED_BY_LABEL, REQUEST_LABEL

    plan = row.plan
    KubeObject.objects.create(
        cluster=plan.cluster,
        kind="ResourceClaim",
        namespace=plan.namespace,
        name=f"{plan.name}-made",
        uid="u-idle",
        body={
            "metadata": {
                "name": f"{plan.name}-made",
                "namespace": plan.namespace,
                "uid": "u-idle",
                "labels": {
                    MANAGED_BY_LABEL: MANAGED_BY,
                    REQUEST_LABEL: str(row.public_id),
                },
            },
            "spec": {},
            "status": {"allocation": {"devices": {"results": []}}},
        },
        revision=1,
        seen_at=now,
    )


@pytest.mark.parametrize(
    ("policy_hours", "idle_hours", "released"),
    [(8, 9, 1), (8, 7, 0), (None, 100, 0)],
)
def test_what_is_idle_is_released_as_policy_says(
    submitted_with_end, policy_hours, idle_hours, released
):
    from portal.approvals.services.idling import release_what_is_idle

    row, now = submitted_with_end, timezone.now()
    rules = [Rule(name="all", effect=Effect.AUTO, idle_hours=policy_hours)]
    store_policy(rules, by="x", note="", now=now)
    unreserved(row, now)
    idle_since(row, idle_hours, now)

    assert release_what_is_idle(now=now) == released
    row.refresh_from_db()
    assert row.state == (State.RELEASING if released else State.ACTIVE)

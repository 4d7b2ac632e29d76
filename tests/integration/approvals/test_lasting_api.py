"""Extensions, idle claims and drift over the API."""

from __future__ import annotations

import datetime as dt

import pytest
from django.utils import timezone

from claims.queries.requests import timeline
from inventory.models import KubeObject
from portal.approvals.models import Extension, IdleClaim
from tests.integration.api.conftest import call  # noqa: F401  a fixture

HOUR = dt.timedelta(hours=1)


@pytest.fixture
def row(granted):
    return granted()


def test_one_asks_and_two_agree(call, row, ada, ben, dora, cleo, eli):  # noqa: F811
    address = f"claim-requests/{row.public_id}/extensions"
    until = row.expires_at + HOUR
    own = call(ada)
    asked = own.post(address, {"until": until.isoformat(), "reason": "Not done."})
    assert asked.status_code == 200, asked.content
    assert asked.json()["extensions"][0]["state"] == "open"
    assert asked.json()["mayDecide"] is False

    again = own.post(address, {"until": until.isoformat(), "reason": "x"})
    assert (again.status_code, again.json()["code"]) == (409, "extension.refused")
    decide = f"{address}/decision"
    first = call(ben)
    seen = first.get(address)
    assert seen.json()["mayDecide"] is True
    assert first.post(decide, {"verdict": "approve"}).status_code == 428
    silent = first.post(decide, {"verdict": "deny"}, If_Match=seen["ETag"])
    assert silent.status_code == 422
    word = first.post(decide, {"verdict": "approve"}, If_Match=seen["ETag"])
    assert word.status_code == 200, word.content
    second = call(dora)
    late = second.post(decide, {"verdict": "approve"}, If_Match=seen["ETag"])
    assert late.status_code == 412
    done = second.post(decide, {"verdict": "approve"}, If_Match=word["ETag"])
    assert done.json()["extensions"][0]["state"] == "granted"
    assert dt.datetime.fromisoformat(done.json()["expiresAt"]) == until
    closed = first.post(decide, {"verdict": "approve"}, If_Match=done["ETag"])
    assert closed.status_code == 409
    assert call(cleo).get(address).status_code == 404
    assert call(eli).get(address).status_code == 200


def test_asking_for_no_reason_or_no_later_is_refused(call, row, ada, ben):  # noqa: F811
    address = f"claim-requests/{row.public_id}/extensions"
    until = (row.expires_at + HOUR).isoformat()
    own = call(ada)

    for body, status in [
        ({"until": until}, 400),
        ({"until": until, "reason": ""}, 400),
        ({"until": row.expires_at.isoformat(), "reason": "x"}, 409),
        ({"until": "soon", "reason": "x"}, 400),
    ]:
        assert own.post(address, body).status_code == status, body
    other = call(ben).post(address, {"until": until, "reason": "x"})
    assert other.status_code == 409
    assert not Extension.objects.exists()


def test_idle_and_drift_are_told_to_those_whose_they_are(call, row, ada, cleo, eli):  # noqa: F811
    plan = row.plan
    IdleClaim.objects.create(
        cluster=plan.cluster,
        namespace=plan.namespace,
        name="idle-one",
        uid="u-1",
        claim_request=row,
        since=timezone.now() - HOUR,
    )
    made = KubeObject.objects.filter(kind=plan.kind, name=plan.name)
    made.update(deleted_at=timezone.now())

    assert call(ada).get("clusters/demo/lifetime").json()["known"] is False
    kinds = {kind: {"state": "watching"} for kind in ("ResourceClaim", "Pod")}
    type(plan.cluster).objects.update(kinds=kinds)

    found = call(ada).get("clusters/demo/lifetime").json()

    assert found["known"] is True
    assert [(each["name"], each["claimRequest"]) for each in found["idle"]] == [
        ("idle-one", str(row.public_id))
    ]
    assert ("missing", plan.name) in [(d["drift"], d["name"]) for d in found["drift"]]
    assert call(eli).get("clusters/demo/lifetime").json()["idle"] == found["idle"]
    others = call(cleo).get("clusters/demo/lifetime").json()
    assert (others["idle"], others["drift"]) == ([], [])


def test_what_was_approved_is_revoked_with_a_reason(call, row, ada, ben, cleo, eli):  # noqa: F811
    address = f"approvals/{row.public_id}/revoke"
    body = {"reason": "The incident is over."}
    approver = call(ben)
    etag = approver.get(f"approvals/{row.public_id}")["ETag"]

    assert call(ada).post(address, body, If_Match=etag).status_code == 403
    assert call(cleo).post(address, body, If_Match=etag).status_code == 403
    assert approver.post(address, body).status_code == 428
    assert approver.post(address, {}, If_Match=etag).status_code == 400
    done = approver.post(address, body, If_Match=etag, X_Request_ID="revoke-4711")

    assert done.status_code == 200, done.content
    row.refresh_from_db()
    assert row.state == "Releasing"
    trail = call(eli).items("audit")
    assert "revoke-4711" in {each["requestId"] for each in trail}
    [entry] = [each for each in timeline(row) if each.state == "Revoked"]
    assert (entry.actor, body["reason"] in entry.message) == ("ben@platform", True)
    again = approver.post(address, body, If_Match=done["ETag"])
    assert again.status_code == 409

"""Approving and denying with the client: what was looked at, and no other."""

from __future__ import annotations

import json
import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from claims.models import ClaimRequest
from portal.approvals.domain.policy import Effect, Rule
from portal.approvals.models import Approval
from tests.integration.api.stored import make_request

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def asked(ada, ben, call, held_cluster, slicewise, monkeypatch):
    """Return the id of a request of Ada's that waits; commands are Ben's."""
    monkeypatch.setenv("SLICEWISE_TOKEN", call(ben).token)
    public_id, now = str(uuid.uuid4()), timezone.now()
    make_request(public_id, ada, held_cluster, now)
    ClaimRequest.objects.update(state="PendingApproval", object_uid="")
    row = ClaimRequest.objects.get()
    row.plan.digest = "sha256:1"
    row.plan.save()
    Approval.objects.create(
        claim_request=row,
        digest="sha256:1",
        policy_version=0,
        rule=Rule(name="test", effect=Effect.APPROVE).document(),
        reasons=[],
        needed=1,
        role="",
        decide_by=now + timedelta(hours=1),
        created_at=now,
    )
    return public_id


def test_what_waits_is_listed_and_approved(slicewise, asked):
    status, text, errors = slicewise("get", "approvals")
    assert (status, asked in text) == (0, True), errors

    status, text, errors = slicewise("approve", asked, "--digest", "sha256:1")

    assert status == 0, errors
    assert "1 of 1" in text
    assert ClaimRequest.objects.get().state == "Approved"
    assert slicewise("approve", asked)[0] == 1


def test_what_changed_since_it_was_looked_at_is_refused(slicewise, asked):
    status, _text, errors = slicewise("approve", asked, "--digest", "sha256:0")

    assert status == 1
    assert "sha256:1" in errors
    assert ClaimRequest.objects.get().state == "PendingApproval"


def test_a_denial_says_why(slicewise, asked):
    assert slicewise("deny", asked)[0] == 2

    status, text, errors = slicewise(
        "deny", asked, "--reason", "Too many.", "-o", "json"
    )

    assert status == 0, errors
    assert json.loads(text)["decisions"][0]["reason"] == "Too many."
    assert ClaimRequest.objects.get().state == "Denied"

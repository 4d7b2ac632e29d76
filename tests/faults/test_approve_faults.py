"""An approval counts once or not at all, whatever dies while it is taken.

A web process is killed at each step of a decision over REST; then the same decision is
sent to another, as a person would who got no answer.
"""

from __future__ import annotations

import time

import httpx
import pytest
from django.utils import timezone

from claims.domain.lifecycle import State
from portal.accounts.domain.scopes import Scope
from portal.accounts.tokens import make_token
from portal.approvals.domain.policy import Effect, Rule
from portal.approvals.models import Approval, Decision
from portal.approvals.services.policies import store_policy
from portal.notices.models import Notice
from tests.faults.counting import moves_too_many, states_of
from tests.faults.world import until

pytestmark = pytest.mark.slow

NAMES = {
    "decided": "web killed once a decision is written, before it counts",
    "counted": "web killed once an approval is counted, before the request moves",
    "approved": "web killed once a request is approved, before that is committed",
    "agreed": "web killed once an approval is committed, before a worker hears of it",
}


@pytest.fixture
def decide(ben):
    """Return a function that approves a request as Ben, once seen, over REST."""
    scopes = [Scope.APPROVALS_READ, Scope.APPROVALS_DECIDE, Scope.TENANTS_READ]
    made = make_token(user=ben, name="x", scopes=scopes, days=1, now=timezone.now())
    heads = {"Authorization": f"Bearer {made[1]}"}

    def do(address, claim_request):
        path = f"/api/v1/approvals/{claim_request.public_id}"
        with httpx.Client(base_url=address, headers=heads, timeout=60) as client:
            seen = client.get(path)
            assert seen.status_code == 200, seen.text
            body = {"verdict": "approve", "digest": claim_request.plan.digest}
            match = {"If-Match": seen.headers["ETag"]}
            return client.post(f"{path}/decision", json=body, headers=match)

    return do


def test_web_killed_while_it_approves(world, ask, healed, decide, ben, dora):
    store_policy(
        [Rule(name="all", effect=Effect.APPROVE, approvals=1)],
        by=dora.username,
        note="",
        now=timezone.now(),
    )
    world.start_worker()
    _name, whole = world.start_web()
    for point, name in NAMES.items():
        claim_request = ask(justification="Watch XID errors.")
        assert claim_request.state == State.PENDING_APPROVAL
        web, address = world.start_web(fault=point)
        with pytest.raises(httpx.TransportError):
            decide(address, claim_request)
        until(lambda web=web: not world.is_running(web), seconds=30)
        since = time.monotonic()

        said = Decision.objects.filter(approval__claim_request=claim_request)
        approval = Approval.objects.get(claim_request=claim_request)
        counted = (said.count(), approval.approved_count, approval.is_open)
        if point == "agreed":
            assert counted == (1, 1, False)
        else:
            assert counted == (0, 0, True)
            assert states_of([claim_request]) == {State.PENDING_APPROVAL}
        again = decide(whole, claim_request)

        assert again.status_code == (409 if point == "agreed" else 200), again.text
        healed(name, [claim_request], since=since)
        assert said.count() == 1
        assert moves_too_many([claim_request], State.APPROVED) == 0
        path = f"/requests/{claim_request.public_id}/"
        told = Notice.objects.filter(event="claim.approved", url=path)
        assert told.count() == 1

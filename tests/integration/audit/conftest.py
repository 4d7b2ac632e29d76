"""Something that was recorded, without any cluster."""

from __future__ import annotations

import uuid

import pytest

from portal.audit.context import acting


@pytest.fixture
def recorded(ada, now):
    """Return a request with four recorded events: made, moved, leased, cancelled."""
    from claims.models import ClaimPlan, ClaimRequest
    from inventory.models import Cluster

    cluster = Cluster.objects.create(name="demo", kind="offline")
    plan = ClaimPlan.objects.create(
        cluster=cluster,
        kind="ResourceClaim",
        namespace="ai-serving",
        name="x",
        manifest={"spec": {}},
        defaulted={"spec": {}},
        digest="sha256:0",
        revision=1,
        created_at=now,
    )
    with acting(actor="ada@orchid", request_id="request-one"):
        row = ClaimRequest.objects.create(
            requester=ada,
            tenant=ada.tenants.get(),
            plan=plan,
            submission_key=uuid.uuid4(),
            submitted_at=now,
            changed_at=now,
        )
    mine = ClaimRequest.objects.filter(pk=row.pk)
    with acting(actor="ben@platform", reason="=HYPERLINK(1)"):
        mine.update(state="Applying")
    with acting(actor="slicewise-worker"):
        mine.update(attempt_count=1, lease_until=now)
    with acting(actor="ada@orchid"):
        mine.update(state="Cancelled", message="Enough.")
    return row

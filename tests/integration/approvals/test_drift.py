"""What is no longer as the portal made it: shown with its difference, and ended."""

from __future__ import annotations

import datetime as dt

import pytest
from django.utils import timezone

from claims.domain.lifecycle import State
from claims.domain.manifest import MANAGED_BY, MANAGED_BY_LABEL, REQUEST_LABEL
from claims.services.ending import release_missing
from claims.services.working import work_on
from inventory.domain.kinds import BY_NAME
from inventory.models import KubeObject
from portal.approvals.domain.policy import Effect, Rule
from portal.approvals.queries.lifetime import drift_of
from portal.approvals.services.policies import would_change
from tests.integration.claims.objects import manifest_of

pytestmark = pytest.mark.django_db
PAGE = "/c/demo/lifetime/"
UNKNOWN = "00000000-0000-4000-8000-000000000009"


@pytest.fixture
def watched(cluster):
    """Let the cluster count as one whose claims and pods are heard of."""
    kinds = ("ResourceClaim", "ResourceClaimTemplate", "Pod")
    found = {kind: {"state": "watching"} for kind in kinds}

    def do(at):
        type(cluster).objects.update(kinds=found, heard_at=at)
        cluster.refresh_from_db()

    do(timezone.now())
    return do


def test_what_was_changed_outside_is_shown_with_both_values(
    granted, cluster, watched, client, ada, cleo
):
    row = granted(kind="Claim")
    stored = KubeObject.objects.get(kind="ResourceClaim", name=row.plan.name)
    labels = stored.body["metadata"]["labels"]
    labels[MANAGED_BY_LABEL] = "somebody-else"
    stored.save()

    [found] = drift_of(ada, cluster)

    assert (found.kind, found.claim_request) == ("changed", row)
    path = f"metadata.labels[{MANAGED_BY_LABEL}]"
    assert found.fields == ((path, MANAGED_BY, "somebody-else"),)
    client.force_login(ada)
    page = client.get(PAGE).content.decode()
    assert f"<del>{MANAGED_BY}</del> → <ins>somebody-else</ins>" in page
    assert drift_of(cleo, cluster) == []


def test_where_another_took_its_name_the_request_ends_and_the_other_stays(
    granted, observe, admin, cluster, watched, ada
):
    row = granted(kind="Claim")
    plan = row.plan
    kind = BY_NAME[plan.kind]
    admin.delete(kind, plan.name, plan.namespace)
    theirs = manifest_of(kind="Claim", namespace=plan.namespace)
    theirs["metadata"]["name"] = plan.name
    made = admin.create(theirs)
    observe()
    later = timezone.now() + dt.timedelta(minutes=6)
    watched(later)

    assert [each.kind for each in drift_of(ada, cluster)] == ["replaced"]
    assert release_missing(now=later) == 1
    assert work_on(row.pk, now=later)

    row.refresh_from_db()
    assert row.state == State.RELEASED
    there = admin.get(kind, plan.name, plan.namespace)
    assert there["metadata"]["uid"] == made["metadata"]["uid"]
    assert drift_of(ada, cluster) == []


def test_what_says_that_it_is_ours_and_is_not_is_an_orphan(
    observe, admin, cluster, watched, ada, cleo, eli, client
):
    body = manifest_of(kind="Claim", namespace="gpu-monitoring")
    body["metadata"]["labels"] = {MANAGED_BY_LABEL: MANAGED_BY, REQUEST_LABEL: UNKNOWN}
    name = admin.create(body)["metadata"]["name"]
    observe()

    for person in (ada, eli):
        [found] = drift_of(person, cluster)
        assert (found.kind, found.name) == ("orphan", name)
    assert drift_of(cleo, cluster) == []
    client.force_login(ada)
    page = client.get(PAGE).content.decode()
    assert name in page
    assert "no open request did" in page


@pytest.mark.parametrize(("days", "counted"), [(89, 1), (91, 0)])
def test_a_policy_is_tried_on_the_last_ninety_days(asked, ben, dora, days, counted):
    row = asked()
    now = timezone.now()
    type(row).objects.update(submitted_at=now - dt.timedelta(days=days))

    total, changed = would_change([Rule(name="no", effect=Effect.DENY)], now=now)

    assert (total, len(changed)) == (counted, counted)

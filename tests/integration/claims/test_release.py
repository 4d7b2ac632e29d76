"""Pods that use a request, and its end, against an API server."""

from __future__ import annotations

from contextlib import suppress

import pytest
from django.utils import timezone

from claims.domain.follow import ClaimState, ObjectState
from claims.domain.lifecycle import State
from claims.queries.requests import following
from claims.services.releasing import NotReleasable, release
from claims.services.starting import NotActive, start_pod
from claims.services.working import work_on
from inventory.domain.kinds import BY_NAME
from inventory.gateways.errors import NotFound

pytestmark = pytest.mark.usefixtures("no_pods")


def state_of(claim_request):
    return following(claim_request, now=timezone.now())


def reserved(claim_request):
    found = state_of(claim_request)
    ready = all(claim.state == ClaimState.RESERVED for claim in found.claims)
    return found if found.claims and ready else None


def say_release(claim_request, pods, user=None):
    claim_request.refresh_from_db()
    release(
        claim_request,
        user=user or claim_request.requester,
        pods=[(pod.name, pod.uid) for pod in pods],
        request_id="release-test-id",
        now=timezone.now(),
    )


def work_when_due(claim_request):
    """Work on it as if its pause were over."""
    claim_request.refresh_from_db()
    assert work_on(claim_request.pk, now=claim_request.retry_at or timezone.now())
    claim_request.refresh_from_db()


def work_until_released(claim_request, until, admin):
    """Work on a release as the sweep would; stand in for a kubelet that ends pods."""

    def tick():
        for pod in admin.list(BY_NAME["Pod"], claim_request.plan.namespace).items:
            metadata = pod["metadata"]
            if metadata.get("deletionTimestamp"):
                with suppress(NotFound):
                    admin.delete(
                        BY_NAME["Pod"],
                        metadata["name"],
                        metadata["namespace"],
                        uid=metadata["uid"],
                        gracePeriodSeconds=0,
                    )

    def step():
        work_when_due(claim_request)
        return claim_request.state == State.RELEASED

    return until(step, tick=tick)


@pytest.mark.parametrize("kind", ["Template", "Claim"])
def test_follow_sees_pod_claim_devices_and_node(active, template, until, admin, kind):
    claim_request = active(template(kind=kind))
    before = state_of(claim_request)

    name = start_pod(claim_request)
    found = until(lambda: reserved(claim_request))

    assert before.state == ObjectState.PRESENT
    assert [claim.state for claim in before.claims] == (
        [] if kind == "Template" else [ClaimState.PENDING]
    )
    [claim], [pod] = found.claims, found.pods
    assert pod.name == name
    assert claim.pods == (name,)
    assert (claim.node, pod.node) == ("claims-node", "claims-node")
    assert claim.devices[0].label.startswith("example.com/claims-node/gpu-")
    pods = admin.list(BY_NAME["Pod"], "ai-serving").items
    say_release(claim_request, found.pods)
    work_until_released(claim_request, until, admin)
    assert name in {body["metadata"]["name"] for body in pods}


@pytest.mark.parametrize("kind", ["Template", "Claim"])
def test_release_ends_pods_object_and_claims(active, template, until, admin, kind):
    claim_request = active(template(kind=kind))
    start_pod(claim_request)
    found = until(lambda: reserved(claim_request))

    say_release(claim_request, found.pods)
    claim_request.refresh_from_db()
    assert claim_request.state == State.RELEASING
    work_until_released(claim_request, until, admin)

    left = {
        body["metadata"]["name"]
        for of_kind in ("ResourceClaimTemplate", "ResourceClaim", "Pod")
        for body in admin.list(BY_NAME[of_kind], "ai-serving").items
    }
    gone = {claim_request.plan.name, found.claims[0].name, found.pods[0].name}
    assert not left & gone
    assert state_of(claim_request) is None


def test_release_leaves_a_pod_that_was_not_shown(active, template, until, admin):
    claim_request = active(template())
    start_pod(claim_request)
    shown = until(lambda: reserved(claim_request))
    unseen = start_pod(claim_request)
    until(lambda: len(state_of(claim_request).claims) == 2)

    say_release(claim_request, shown.pods)
    for _ in range(2):
        work_when_due(claim_request)

    assert claim_request.state == State.RELEASING
    assert unseen in claim_request.message
    pod = admin.get(BY_NAME["Pod"], unseen, "ai-serving")
    assert "deletionTimestamp" not in pod["metadata"]

    say_release(claim_request, state_of(claim_request).pods)
    work_until_released(claim_request, until, admin)


def test_release_of_what_is_gone_already_succeeds(active, template, admin):
    claim_request = active(template())
    plan = claim_request.plan
    admin.delete(BY_NAME[plan.kind], plan.name, plan.namespace)

    say_release(claim_request, [])
    assert work_on(claim_request.pk, now=timezone.now())

    claim_request.refresh_from_db()
    assert claim_request.state == State.RELEASED


def test_release_leaves_another_of_that_name(active, template, admin):
    manifest = template()
    claim_request = active(manifest)
    plan = claim_request.plan
    admin.delete(BY_NAME[plan.kind], plan.name, plan.namespace)
    admin.create(manifest)

    say_release(claim_request, [])
    assert work_on(claim_request.pk, now=timezone.now())

    claim_request.refresh_from_db()
    assert claim_request.state == State.RELEASED
    assert admin.get(BY_NAME[plan.kind], plan.name, plan.namespace)


def test_follow_says_missing_when_somebody_removed_it(active, template, admin, observe):
    claim_request = active(template())
    plan = claim_request.plan
    admin.delete(BY_NAME[plan.kind], plan.name, plan.namespace)
    observe()

    assert state_of(claim_request).state == ObjectState.MISSING


def test_follow_says_missing_when_another_took_its_place(
    active, template, admin, observe
):
    manifest = template()
    claim_request = active(manifest)
    plan = claim_request.plan
    admin.delete(BY_NAME[plan.kind], plan.name, plan.namespace)
    admin.create(manifest)
    observe()

    assert state_of(claim_request).state == ObjectState.MISSING


def test_follow_says_unseen_before_the_watcher_came_that_far(submitted, template):
    claim_request = submitted(template())
    work_on(claim_request.pk, now=timezone.now())
    claim_request.refresh_from_db()

    assert state_of(claim_request).state == ObjectState.UNSEEN


def test_release_needs_something_to_release(submitted, template):
    claim_request = submitted(template())

    with pytest.raises(NotReleasable, match="Submitted"):
        say_release(claim_request, [])


def test_start_pod_needs_an_active_request(submitted, template):
    with pytest.raises(NotActive):
        start_pod(submitted(template()))

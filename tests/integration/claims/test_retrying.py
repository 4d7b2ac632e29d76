"""What could not be applied is tried again, or taken back, by its requester alone."""

from __future__ import annotations

import datetime as dt

import pytest
from django.urls import reverse
from django.utils import timezone

from claims.domain.lifecycle import State
from claims.models import ClaimRequest
from claims.queries.requests import timeline
from claims.services.ending import NotEndable, cancel
from claims.services.retrying import NotRetryable, try_again
from claims.services.working import work_on
from inventory.domain.kinds import BY_NAME

pytestmark = pytest.mark.usefixtures("no_pods")
TEMPLATE = BY_NAME["ResourceClaimTemplate"]


@pytest.fixture
def failed(admin, submitted, template):
    """Return a request that failed, since its name had gone to another meanwhile."""
    manifest = template()
    claim_request = submitted(manifest)
    admin.create(manifest)
    work_on(claim_request.pk, now=timezone.now())
    claim_request.refresh_from_db()
    assert claim_request.state == State.APPLY_FAILED
    return claim_request


def again(claim_request, now=None):
    try_again(
        claim_request,
        user=claim_request.requester,
        request_id="again-id",
        now=now or timezone.now(),
    )


def free_its_name(admin, claim_request):
    admin.delete(TEMPLATE, claim_request.plan.name, claim_request.plan.namespace)


def test_tried_again_it_is_applied(admin, failed):
    free_its_name(admin, failed)

    again(failed)
    assert (failed.state, failed.message) == (State.APPLYING, "")
    work_on(failed.pk, now=timezone.now())

    failed.refresh_from_db()
    assert failed.state == State.ACTIVE
    said = [(each.state, each.actor) for each in timeline(failed)]
    assert ("Applying", failed.requester.username) in said


def test_tried_again_it_fails_while_the_cause_is_there(failed):
    again(failed)
    work_on(failed.pk, now=timezone.now())

    failed.refresh_from_db()
    assert failed.state == State.APPLY_FAILED
    assert "another name" in failed.message


def test_two_who_try_again_at_once_begin_it_once(failed):
    other = ClaimRequest.objects.select_related("plan").get(pk=failed.pk)
    again(failed)

    with pytest.raises(NotRetryable, match="Applying by now"):
        again(other)


def test_cancelled_meanwhile_it_is_not_tried_again(failed):
    other = ClaimRequest.objects.get(pk=failed.pk)
    cancel(other, user=other.requester, request_id="x", now=timezone.now())

    with pytest.raises(NotRetryable, match="Cancelled by now"):
        again(failed)
    assert not work_on(failed.pk, now=timezone.now())


def test_what_has_not_failed_is_not_tried_again(submitted, template):
    claim_request = submitted(template())

    with pytest.raises(NotRetryable, match="Submitted by now"):
        again(claim_request)


def test_what_is_over_is_not_tried_again(failed):
    failed.expires_at = timezone.now() - dt.timedelta(seconds=1)

    with pytest.raises(NotRetryable, match="submit anew"):
        again(failed)


def test_what_a_worker_has_begun_cannot_be_cancelled(failed):
    again(failed)

    with pytest.raises(NotEndable, match="Applying by now"):
        cancel(failed, user=failed.requester, request_id="x", now=timezone.now())


def page_of(claim_request, name="request-detail"):
    return reverse(f"claims:{name}", args=[claim_request.public_id])


def test_the_page_offers_both_and_does_them(client, ada, admin, failed):
    client.force_login(ada)
    page = client.get(page_of(failed)).text
    assert 'id="retry"' in page
    assert 'id="cancel"' in page
    free_its_name(admin, failed)

    answer = client.post(page_of(failed, "request-retry"))

    assert answer.status_code == 302
    failed.refresh_from_db()
    assert failed.state == State.APPLYING
    page = client.get(page_of(failed)).text
    assert 'id="retry"' not in page
    assert 'id="cancel"' not in page
    late = client.post(page_of(failed, "request-retry"), follow=True)
    assert "There is nothing to try again" in late.text


def test_nobody_else_tries_it_again(client, dora, failed):
    client.force_login(dora)

    assert 'id="retry"' not in client.get(page_of(failed)).text
    assert client.post(page_of(failed, "request-retry")).status_code == 404
    failed.refresh_from_db()
    assert failed.state == State.APPLY_FAILED

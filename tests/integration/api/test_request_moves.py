"""Cancelling and trying again over the API: seen before it is changed, followed after."""

from __future__ import annotations

import pytest
from django.utils import timezone

from claims.models import ClaimRequest
from claims.services.working import work_on
from inventory.domain.kinds import BY_NAME

pytestmark = pytest.mark.usefixtures("no_pods")


@pytest.fixture
def as_ada(call, ada, cluster):
    return call(ada)


@pytest.fixture
def asked(as_ada):
    """Return a function that submits a manifest and returns the request's address."""

    def do(manifest):
        answer = as_ada.post(
            "claim-requests", {"cluster": "demo", "manifest": manifest}
        )
        assert answer.status_code == 202, answer.content
        return f"claim-requests/{answer.json()['id']}"

    return do


@pytest.fixture
def failed(asked, template, admin):
    """Return the address of a request that failed, and what stands in its way."""
    manifest = template()
    path = asked(manifest)
    admin.create(manifest)
    work()
    return path, manifest["metadata"]


def work():
    work_on(ClaimRequest.objects.get().pk, now=timezone.now())


def test_tried_again_it_is_followed_to_its_end(as_ada, admin, failed):
    path, metadata = failed
    seen = as_ada.get(path)
    assert seen.json()["state"] == "ApplyFailed"
    admin.delete(
        BY_NAME["ResourceClaimTemplate"], metadata["name"], metadata["namespace"]
    )

    missing = as_ada.post(f"{path}/retry", {})
    begun = as_ada.post(f"{path}/retry", {}, If_Match=seen["ETag"])
    stale = as_ada.post(f"{path}/retry", {}, If_Match=seen["ETag"])

    assert (missing.status_code, stale.status_code) == (428, 412)
    assert begun.status_code == 202, begun.content
    assert as_ada.get(begun["Location"]).json()["status"] == "running"
    work()
    assert as_ada.get(begun["Location"]).json()["status"] == "succeeded"


def test_one_key_tries_again_once(as_ada, failed):
    path, _metadata = failed
    etag = as_ada.get(path)["ETag"]

    first = as_ada.post(f"{path}/retry", {}, If_Match=etag, Idempotency_Key="r-1")
    second = as_ada.post(f"{path}/retry", {}, If_Match=etag, Idempotency_Key="r-1")

    assert (first.status_code, second.status_code) == (202, 202)
    assert second["Idempotency-Replayed"] == "true"


def test_what_has_not_failed_is_a_conflict(as_ada, asked, template):
    answer = as_ada.post(f"{asked(template())}/retry", {}, If_Match="*")

    assert answer.status_code == 409
    assert answer.json()["code"] == "request.not_retryable"


def test_cancelled_nothing_is_made_of_it(as_ada, asked, template):
    path = asked(template())
    etag = as_ada.get(path)["ETag"]

    assert as_ada.post(f"{path}/cancel", {}).status_code == 428
    done = as_ada.post(f"{path}/cancel", {}, If_Match=etag)

    assert done.status_code == 202, done.content
    assert done.json()["state"] == "Cancelled"
    assert as_ada.get(done["Location"]).json()["status"] == "cancelled"
    row = ClaimRequest.objects.get()
    assert not work_on(row.pk, now=timezone.now())
    again = as_ada.post(f"{path}/cancel", {}, If_Match="*")
    assert (again.status_code, again.json()["code"]) == (409, "request.not_endable")


def test_only_the_requester_may(as_ada, call, dora, cleo, failed):
    path, _metadata = failed
    for verb in ("cancel", "retry"):
        answer = call(dora).post(f"{path}/{verb}", {}, If_Match="*")
        assert answer.status_code == 403
        assert answer.json()["code"] == "request.not_yours"
        assert call(cleo).post(f"{path}/{verb}", {}, If_Match="*").status_code == 404
    assert as_ada.get(path).json()["state"] == "ApplyFailed"

"""Many at once: each by itself, nothing twice, and what could not be done is tried again."""

from __future__ import annotations

import pytest

from claims.domain.lifecycle import State
from claims.models import ClaimRequest
from portal.api.models import KeptAnswer


@pytest.fixture
def as_ada(cluster, call, ada):
    return call(ada)


def test_each_is_submitted_or_refused_by_itself(as_ada, template):
    good, foreign, bad = template(), template(namespace="maple-lab"), template(count=-1)
    body = {
        "cluster": "demo",
        "items": [{"manifest": each} for each in (foreign, good, bad)],
    }

    answer = as_ada.post("claim-requests/bulk", body, Idempotency_Key="nightly")
    again = as_ada.post("claim-requests/bulk", body, Idempotency_Key="nightly")

    assert answer.status_code == 207, answer.content
    found = answer.json()
    assert [item["status"] for item in found["items"]] == [403, 202, 422]
    assert (found["succeeded"], found["failed"]) == (1, 2)
    refused, made, _invalid = found["items"]
    assert refused["problem"]["code"] == "submit.namespace"
    assert refused["problem"]["errors"][0]["pointer"] == (
        "#/manifest/metadata/namespace"
    )
    assert made["claimRequest"]["state"] == "Submitted"
    assert as_ada.get(made["operation"]).json()["status"] == "queued"
    assert again["Idempotency-Replayed"] == "true"
    assert again.json() == found
    assert ClaimRequest.objects.count() == 1


def test_what_passes_is_not_kept_and_nothing_is_made_twice(
    as_ada, template, monkeypatch
):
    from claims.api import requests
    from inventory.gateways.errors import ClusterUnavailable

    items = [{"manifest": template()} for _turn in range(3)]
    body = {"cluster": "demo", "items": items}
    real, calls = requests.request_claim, []

    def fail_the_second(*args, **more):
        calls.append(1)
        if len(calls) == 2:
            raise ClusterUnavailable("The cluster is away.")
        return real(*args, **more)

    monkeypatch.setattr(requests, "request_claim", fail_the_second)
    first = as_ada.post("claim-requests/bulk", body, Idempotency_Key="k").json()
    assert [item["status"] for item in first["items"]] == [202, 503, 202]
    assert not KeptAnswer.objects.exists()
    second = as_ada.post("claim-requests/bulk", body, Idempotency_Key="k").json()

    assert [item["status"] for item in second["items"]] == [202, 202, 202]
    assert ClaimRequest.objects.count() == 3
    ids = [item["claimRequest"]["id"] for item in second["items"]]
    assert ids[0] == first["items"][0]["claimRequest"]["id"]
    assert KeptAnswer.objects.count() == 1


def test_each_release_needs_the_state_that_was_seen(
    as_ada, call, dora, active, template
):
    rows = [active(template()) for _turn in range(2)]
    etags = [as_ada.get(f"claim-requests/{row.public_id}")["ETag"] for row in rows]
    items = [
        {"id": str(rows[0].public_id), "etag": etags[0]},
        {"id": str(rows[1].public_id), "etag": '"old"'},
        {"id": str(rows[1].public_id)},
        {"id": "0b8d3a52-0000-4000-8000-000000000009", "etag": "*"},
    ]

    answer = as_ada.post("claim-requests/bulk-release", {"items": items})
    others = call(dora).post("claim-requests/bulk-release", {"items": items[:1]})
    again = as_ada.post("claim-requests/bulk-release", {"items": items[:1]})

    assert [each["status"] for each in answer.json()["items"]] == [202, 412, 428, 404]
    assert [each["status"] for each in others.json()["items"]] == [403]
    assert [each["status"] for each in again.json()["items"]] == [202]
    for row in rows:
        row.refresh_from_db()
    assert [row.state for row in rows] == [State.RELEASING, State.ACTIVE]


def test_many_count_as_many_against_the_limit(as_ada, settings, template):
    settings.SLICEWISE_API_RATES = {"read": 10, "check": 10, "write": 3}
    body = {"cluster": "demo", "items": [{"manifest": template()}] * 4}

    answer = as_ada.post("claim-requests/bulk", body)

    assert answer.status_code == 429
    assert not ClaimRequest.objects.exists()


@pytest.mark.parametrize("items", [[], [{}], [{"manifest": {}, "cluster": "demo"}]])
def test_a_body_of_another_shape_is_refused_whole(items, as_ada):
    answer = as_ada.post("claim-requests/bulk", {"cluster": "demo", "items": items})

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"].startswith("#/items")

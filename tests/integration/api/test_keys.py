"""An Idempotency-Key on whatever else is posted: made once, or refused in words."""

from __future__ import annotations

import orjson
import pytest
from django.conf import settings

from claims.models import ComposeDraft
from portal.accounts.models import Tenant
from portal.api.document import openapi_document
from portal.api.models import KeptAnswer

CLAIM = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaim",
    "metadata": {"name": "a", "namespace": "ai-serving"},
    "spec": {
        "devices": {
            "requests": [
                {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}
            ]
        }
    },
}
SECRETS = {
    "createSubscription",
    "rotateSubscriptionSecret",
    "createServiceAccountToken",
    "createPasswordLink",
}


def test_whatever_is_written_takes_a_key_but_what_shows_a_secret():
    without = set()
    for operations in orjson.loads(openapi_document())["paths"].values():
        operation = operations.get("post", {"parameters": []})
        names = {each["name"] for each in operation.get("parameters", [])}
        scope = operation.get("description", "").rpartition("Token use: `")[2]
        writes = ":write`" in scope or ":decide`" in scope
        checks = operation.get("tags") == ["validate"] or "preview" in str(operation)
        if writes and not checks and "Idempotency-Key" not in names:
            without.add(operation["operationId"])
    assert without == SECRETS


def test_the_same_key_makes_one_draft_and_gives_one_answer(call, ada, held_cluster):
    caller, body = call(ada), {"cluster": "demo", "manifest": CLAIM}

    first = caller.post("drafts", body, Idempotency_Key="d-1")
    second = caller.post("drafts", body, Idempotency_Key="d-1")
    other = caller.post("drafts", {**body, "manifest": {}}, Idempotency_Key="d-1")

    assert (first.status_code, second.status_code) == (201, 201), first.content
    assert second.json() == first.json()
    assert second["Idempotency-Replayed"] == "true"
    assert (other.status_code, other.json()["code"]) == (422, "idempotency.reused")
    assert ComposeDraft.objects.count() == 1
    assert call(ada).post("drafts", body, Idempotency_Key="d-1").status_code == 201
    assert ComposeDraft.objects.count() == 2  # a key belongs to its token


def test_an_answer_keeps_the_etag_that_the_next_change_needs(call, dora):
    caller, body = call(dora), {"name": "willow", "group": "willow"}

    first = caller.post("tenants", body, Idempotency_Key="t-1")
    second = caller.post("tenants", body, Idempotency_Key="t-1")

    assert first.status_code == 201, first.content
    assert (second.status_code, second["ETag"]) == (201, first["ETag"])
    assert Tenant.objects.filter(name="willow").count() == 1


def test_a_refusal_is_no_answer_to_keep(call, ada, held_cluster):
    caller = call(ada)

    refused = caller.post("drafts", {"cluster": "demo"}, Idempotency_Key="d-2")

    assert refused.status_code == 400
    assert not KeptAnswer.objects.exists()


def test_what_shows_a_secret_takes_no_key(call, ada):
    body = {"name": "x", "channel": "webhook", "events": ["claim.active"]}

    answer = call(ada).post(
        "subscriptions",
        {**body, "address": "https://hooks.example.com/"},
        Idempotency_Key="s-1",
    )

    assert (answer.status_code, answer.json()["code"]) == (400, "idempotency.key")
    assert answer.json()["errors"][0]["header"] == "Idempotency-Key"
    assert not KeptAnswer.objects.exists()


@pytest.mark.parametrize("key", ["has space", "k" * 256])
def test_a_key_of_another_form_is_refused(key, call, ada):
    answer = call(ada).post("drafts", {}, Idempotency_Key=key)

    assert (answer.status_code, answer.json()["code"]) == (400, "idempotency.key")


def test_a_body_that_is_too_large_is_refused_as_without_a_key(call, ada):
    body = b'"' + b"x" * settings.DATA_UPLOAD_MAX_MEMORY_SIZE + b'"'

    assert call(ada).post("drafts", body, Idempotency_Key="k").status_code == 413

"""Tokens: scoped, expiring, hashed, revocable, and never more than their owner."""

from __future__ import annotations

import datetime as dt

import pytest
from django.test import Client
from django.utils import timezone

from portal.accounts.models import ApiToken
from portal.accounts.tokens import make_token, use_token
from tests.integration.api.conftest import Caller


def test_a_token_is_stored_as_its_digest_alone(ada, now):
    row, token = make_token(
        user=ada, name="ci", scopes=["inventory:read"], days=7, now=now
    )

    stored = ApiToken.objects.values().get(pk=row.pk)

    assert token not in str(stored)
    assert len(row.digest) == 64
    assert token.startswith(row.prefix)
    assert row.expires_at == now + dt.timedelta(days=7)


def test_without_a_token_nothing_is_told(nobody, held_cluster):
    answer = nobody.get("clusters")

    assert answer.status_code == 401
    assert answer["WWW-Authenticate"].startswith("Bearer")
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["code"] == "auth.missing"


@pytest.mark.parametrize(
    "header", ["Bearer swt_unknown", "Bearer a b", "Basic YTpi", "Bearer", "Bearer ü"]
)
def test_a_wrong_header_is_refused_with_a_sentence(header, nobody, db):
    answer = nobody.get("clusters", Authorization=header)

    assert answer.status_code == 401
    assert answer.json()["code"] == "auth.failed"


def test_a_token_ends_with_its_time(ada, now):
    _row, token = make_token(user=ada, name="x", scopes=[], days=1, now=now)

    assert use_token(token, now=now + dt.timedelta(hours=23))
    assert use_token(token, now=now + dt.timedelta(hours=24)) is None


def test_a_revoked_token_works_no_longer(call, ada):
    caller = call(ada)
    (token,) = caller.get("tokens").json()["items"]

    assert caller.send("DELETE", f"tokens/{token['id']}").status_code == 204
    assert caller.get("me").status_code == 401


def test_nobody_revokes_another_persons_token(call, ada, cleo):
    other = call(cleo).get("tokens").json()["items"][0]

    assert call(ada).send("DELETE", f"tokens/{other['id']}").status_code == 404
    assert ApiToken.objects.get(public_id=other["id"]).revoked_at is None


def test_a_token_of_someone_switched_off_works_no_longer(call, ada):
    caller = call(ada)
    ada.is_active = False
    ada.save()

    assert caller.get("me").status_code == 401


def test_last_use_is_noted_once_a_minute(ada, now):
    row, token = make_token(user=ada, name="x", scopes=[], days=1, now=now)

    for seconds in (10, 30, 100):
        use_token(token, now=now + dt.timedelta(seconds=seconds))

    row.refresh_from_db()
    assert row.last_used_at == now + dt.timedelta(seconds=100)
    use_token(token, now=now + dt.timedelta(seconds=130))
    row.refresh_from_db()
    assert row.last_used_at == now + dt.timedelta(seconds=100)


def test_a_token_does_only_what_its_scopes_say(call, ada, held_cluster):
    caller = call(ada, "inventory:read")

    assert caller.get("clusters/demo/pools").status_code == 200
    refused = caller.get("claim-requests")
    assert refused.status_code == 403
    assert refused.json()["code"] == "auth.scope"
    assert "claims:read" in refused.json()["detail"]


def test_a_token_bound_to_networks_says_so_and_works_from_them_alone(call, ada):
    caller = call(ada)
    ApiToken.objects.update(addresses=["10.0.0.0/8"])

    answer = caller.get("tokens")
    assert (answer.status_code, answer.json()["code"]) == (403, "auth.address")

    caller.client.defaults["REMOTE_ADDR"] = "10.1.2.3"
    (token,) = caller.get("tokens").json()["items"]
    assert token["addresses"] == ["10.0.0.0/8"]


def test_a_token_gives_its_owner_no_more(call, ada, held_cluster):
    page = call(ada, "inventory:read", "tenants:read").get("clusters/demo/cards")

    assert "maple-" not in page.text


def test_names_of_others_need_both_the_role_and_the_scope(call, dora, held_cluster):
    with_names = call(dora, "inventory:read", "tenants:read")
    without = call(dora, "inventory:read", "claims:read")

    assert "maple-share" in with_names.get("clusters/demo/cards").text
    assert "maple-share" not in without.get("clusters/demo/cards").text
    assert without.get("clusters/demo/claims").json()["items"] == []


def test_a_session_reads_and_needs_a_csrf_token_to_write(ada, held_cluster):
    client = Client(enforce_csrf_checks=True)
    client.force_login(ada)

    assert client.get("/api/v1/clusters").status_code == 200
    answer = client.post(
        "/api/v1/clusters/demo/cel",
        {"expression": "true"},
        content_type="application/json",
    )
    assert answer.status_code == 403
    assert answer["Content-Type"] == "application/problem+json"


def test_a_session_has_all_that_its_person_has(ada, held_cluster):
    client = Client()
    client.force_login(ada)

    assert client.get("/api/v1/me").json()["scopes"] is None
    assert client.get("/api/v1/claim-requests").status_code == 200


def test_the_page_makes_a_token_and_shows_it_once(ada, client):
    client.force_login(ada)
    form = {"name": "nightly", "days": "30", "scopes": ["inventory:read"]}

    made = client.post("/tokens/", form)
    token = ApiToken.objects.get(user=ada)

    assert made.status_code == 200
    (shown,) = [
        w
        for w in made.text.replace("<", " ").replace(">", " ").split()
        if w.startswith("swt_") and len(w) > 40
    ]
    assert Caller(shown).get("me").json()["username"] == "ada@orchid"
    assert shown not in client.get("/tokens/").text
    assert token.expires_at - timezone.now() > dt.timedelta(days=29)


@pytest.mark.parametrize(
    "form",
    [
        {"name": "", "days": "3", "scopes": ["inventory:read"]},
        {"name": "x", "days": "400", "scopes": ["inventory:read"]},
        {"name": "x", "days": "3", "scopes": []},
        {"name": "x", "days": "3", "scopes": ["root"]},
    ],
)
def test_the_page_says_what_is_wrong_and_makes_nothing(form, ada, client):
    client.force_login(ada)

    answer = client.post("/tokens/", form)

    assert answer.status_code == 422
    assert 'class="error"' in answer.text
    assert not ApiToken.objects.exists()


def test_the_page_revokes_own_tokens_alone(ada, cleo, client, call):
    call(cleo)
    call(ada)
    client.force_login(ada)
    own, other = (ApiToken.objects.get(user=user) for user in (ada, cleo))

    assert client.post(f"/tokens/{own.public_id}/revoke/").status_code == 302
    assert client.post(f"/tokens/{other.public_id}/revoke/").status_code == 404
    own.refresh_from_db()
    assert own.revoked_at
    assert "revoked" in client.get("/tokens/").text

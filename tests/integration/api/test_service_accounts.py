"""Service accounts over the API: a tenant's own, and never more than their maker."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from portal.accounts.models import ApiToken, User
from tests.integration.api.conftest import ALL, Caller

CI = {"tenant": "orchid", "name": "nightly-ci"}


def token_body(**more):
    return {"name": "ci", "scopes": ["claims:read"], "days": 1, **more}


@pytest.fixture
def made(call, ada):
    answer = call(ada).post("service-accounts", CI)
    assert answer.status_code == 201, answer.content
    return answer.json()


def test_a_member_makes_lists_and_ends_an_account(call, ada, made):
    caller = call(ada)
    path = f"service-accounts/{made['id']}"
    assert made["username"] == "service:orchid:nightly-ci"
    assert caller.items("service-accounts") == [made]
    assert caller.get(path).json() == made

    secret = caller.post(f"{path}/tokens", token_body())
    assert secret.status_code == 201, secret.content
    assert secret["Cache-Control"] == "no-store"
    own = Caller(secret.json()["token"])
    me = own.get("me").json()
    assert (me["username"], me["scopes"]) == (made["username"], ["claims:read"])
    [shown] = caller.items(f"{path}/tokens")
    assert shown["id"] == secret.json()["id"]
    assert "token" not in shown

    assert caller.send("DELETE", f"{path}/tokens/{shown['id']}").status_code == 204
    assert caller.send("DELETE", f"{path}/tokens/{shown['id']}").status_code == 404
    assert own.get("me").status_code == 401
    other = Caller(caller.post(f"{path}/tokens", token_body()).json()["token"])
    assert other.get("me").status_code == 200
    assert caller.send("DELETE", path).status_code == 204
    assert other.get("me").status_code == 401
    assert caller.items("service-accounts") == []
    again = caller.post("service-accounts", CI)
    assert again.status_code == 422
    assert again.json()["errors"][0]["pointer"] == "#/name"


def test_other_teams_see_and_change_nothing(call, ben, made):
    caller = call(ben)
    path = f"service-accounts/{made['id']}"
    assert caller.items("service-accounts") == []
    assert caller.get(path).status_code == 404
    assert caller.send("DELETE", path).status_code == 404
    assert caller.post(f"{path}/tokens", token_body()).status_code == 404
    refused = caller.post("service-accounts", CI)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == "#/tenant"


@pytest.mark.parametrize(
    ("more", "pointer"),
    [
        ({"scopes": ["claims:write"]}, "#/scopes"),
        ({"days": 30}, "#/days"),
        ({"addresses": ["0.0.0.0/0"]}, "#/addresses"),
    ],
)
def test_a_token_makes_none_that_can_more(call, ada, made, more, pointer):
    caller = call(ada, "people:write", "claims:read", days=2)
    ApiToken.objects.filter(user=ada).update(addresses=["127.0.0.0/8"])
    path = f"service-accounts/{made['id']}/tokens"

    refused = caller.post(path, token_body(**more))

    assert refused.status_code == 422, refused.content
    assert refused.json()["errors"][0]["pointer"] == pointer
    assert caller.post(path, token_body()).status_code == 201
    row = ApiToken.objects.get(user_id=made["id"])
    assert row.addresses == ["127.0.0.0/8"]
    assert row.expires_at < timezone.now() + timedelta(days=2)


def test_a_service_account_makes_no_others(call, ada, made):
    own = call(User.objects.get(pk=made["id"]), *ALL)

    assert own.post("service-accounts", {**CI, "name": "b"}).status_code == 403
    path = f"service-accounts/{made['id']}"
    assert own.post(f"{path}/tokens", token_body()).status_code == 403
    assert own.send("DELETE", path).status_code == 403


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        (token_body(addresses=["nowhere"]), "#/addresses"),
        (token_body(scopes=[]), "#/scopes"),
        (token_body(days=366), "#/days"),
    ],
)
def test_a_token_that_cannot_be_is_refused_with_its_place(
    call, ada, made, body, pointer
):
    answer = call(ada).post(f"service-accounts/{made['id']}/tokens", body)

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"].startswith(pointer)

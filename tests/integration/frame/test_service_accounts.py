"""Tokens that work from some networks alone, and accounts that are no person's."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.utils import timezone

from portal.accounts.models import ApiToken, User
from portal.accounts.services import make_service_account
from portal.accounts.tokens import make_token, works_from


@pytest.mark.parametrize(
    ("address", "works"),
    [
        ("10.1.2.3", True),
        ("::ffff:10.1.2.3", True),
        ("fd00::7%eth0", True),
        ("11.1.2.3", False),
        ("fe80::1", False),
        ("", False),
        ("unknown", False),
    ],
)
def test_a_bound_token_works_from_its_networks_alone(address, works):
    row = ApiToken(addresses=["10.0.0.0/8", "fd00::/8"])

    assert works_from(row, address) is works
    assert works_from(ApiToken(addresses=[]), address)


def test_the_api_refuses_a_token_from_elsewhere(client, ada):
    _row, token = make_token(
        user=ada,
        name="ci",
        scopes=[],
        days=1,
        now=timezone.now(),
        addresses=["10.0.0.0/8"],
    )
    headers = {"Authorization": f"Bearer {token}"}

    there = client.get("/api/v1/me", headers=headers, REMOTE_ADDR="10.9.9.9")
    here = client.get("/api/v1/me", headers=headers, REMOTE_ADDR="192.0.2.1")

    assert there.status_code == 200
    assert (here.status_code, here.json()["code"]) == (403, "auth.address")


def test_the_page_takes_networks_and_names_what_is_none(client, ada):
    client.force_login(ada)
    form = {"name": "ci", "days": "9", "scopes": ["claims:read"]}

    wrong = client.post("/tokens/", {**form, "addresses": "10.0.0.0/8, somewhere"})
    right = client.post("/tokens/", {**form, "addresses": "10.1.2.3/8, fd00::/8"})

    assert wrong.status_code == 422
    assert "“somewhere” is no network" in wrong.content.decode()
    assert right.status_code == 200
    assert ApiToken.objects.get().addresses == ["10.0.0.0/8", "fd00::/8"]


def test_a_service_account_is_its_teams_and_signs_in_by_tokens_alone(client, ada, cleo):
    client.force_login(ada)
    made = client.post("/service-accounts/", {"tenant": "orchid", "name": "nightly"})
    path = made["Location"]
    form = {"name": "ci", "days": "9", "scopes": ["claims:read"]}
    page = client.post(path, form).content.decode()
    (token,) = re.findall(r"swt_[\w-]{20,}", page)
    headers = {"Authorization": f"Bearer {token}"}

    me = Client().get("/api/v1/me", headers=headers).json()
    assert me["username"] == "service:orchid:nightly"
    assert (me["tenants"], me["roles"]) == (["orchid"], [])
    account = User.objects.get(username=me["username"])
    account.set_password("correct horse battery")  # even with one
    account.save()
    tried = {"username": account.username, "password": "correct horse battery"}
    assert "do not fit" in Client().post("/sign-in/", tried).content.decode()

    other = Client()
    other.force_login(cleo)
    assert other.get(path).status_code == 404
    assert other.post(f"{path}end").status_code == 404
    client.post(f"{path}end")
    assert Client().get("/api/v1/me", headers=headers).status_code == 401
    again = client.post("/service-accounts/", {"tenant": "orchid", "name": "nightly"})
    assert "take another" in again.content.decode()
    foreign = client.post("/service-accounts/", {"tenant": "maple", "name": "x"})
    assert foreign.status_code == 422


def test_nobody_approves_what_their_own_teams_account_asked_for(ben, ada):
    from portal.accounts.services import join
    from portal.approvals.models import Approval
    from portal.approvals.services.deciding import NotYours, decide

    orchid = ada.tenants.get()
    account = make_service_account(tenant=orchid, name="nightly")
    join(user=ben, tenant=orchid)

    class Asked:
        requester = account
        requester_id = account.pk

    approval = Approval(digest="sha256:0")
    approval._state.fields_cache["claim_request"] = Asked()
    with pytest.raises(NotYours, match="service account"):
        decide(
            approval,
            user=ben,
            verdict="approve",
            reason="",
            digest="sha256:0",
            request_id="",
            now=timezone.now(),
        )

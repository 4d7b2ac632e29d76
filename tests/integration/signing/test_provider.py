"""Signing in by a provider: the real redirects, and what follows from its groups."""

from __future__ import annotations

import jwt
import pytest
from django.test import Client

from portal.accounts.models import GroupMapping, Tenant, User
from tests.integration.signing.conftest import free_port, sentence


@pytest.fixture
def mapped(db):
    """Return the tenant orchid; groups of the provider give it, and roles."""
    orchid = Tenant.objects.create(name="orchid", group="slicewise:orchid")
    GroupMapping.objects.create(group="orchid-team", tenant=orchid)
    GroupMapping.objects.create(group="gpu-approvers", role="approver")
    GroupMapping.objects.create(group="gpu-admins", role="admin")
    return orchid


def test_the_way_there_and_back_makes_the_person(provider, visitor, mapped):
    provider.has("s-1", email="ada@orchid", groups=["orchid-team", "gpu-approvers"])

    answer = provider.sign_in(visitor, "s-1")

    assert (answer.status_code, answer["Location"]) == (302, "/tokens/")
    assert "ada@orchid" in visitor.get("/tokens/").content.decode()
    user = User.objects.get(username="ada@orchid")
    assert (user.issuer, user.subject) == (provider.url, "s-1")
    assert user.roles == ["approver"]
    assert list(user.tenants.all()) == [mapped]
    assert not user.has_usable_password()


def test_roles_and_teams_follow_the_groups_each_time(provider, visitor, mapped):
    provider.has("s-2", email="x@orchid", groups=["orchid-team", "gpu-admins"])
    provider.sign_in(visitor, "s-2")
    provider.has("s-2", email="y@orchid", groups=["gpu-approvers", "unheard-of"])

    provider.sign_in(Client(), "s-2")

    user = User.objects.get(subject="s-2")
    assert (user.username, user.roles) == ("y@orchid", ["approver"])
    assert not user.tenants.exists()
    provider.has("s-2", email="y@orchid")  # it says nothing of groups
    provider.sign_in(Client(), "s-2")
    assert User.objects.get(subject="s-2").roles == []


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ({"email": "dora@platform"}, "Somebody else has the name dora@platform"),
        ({"email": "system:admin"}, "Nobody may have the name system:admin"),
        ({"email": "service:orchid:ci"}, "Nobody may have the name"),
        ({"email": "a" * 151}, "Nobody may have the name"),
        ({"name": "x"}, "sends no “email” for you"),
        ({"email": "z@x", "email_verified": False}, "is not verified"),
    ],
)
def test_no_name_is_taken_over_or_made_up(provider, visitor, dora, claims, said):
    provider.has("s-3", groups=[], **claims)
    people = User.objects.count()

    answer = provider.sign_in(visitor, "s-3")

    assert answer.status_code == 403
    assert said in sentence(answer)
    assert "_auth_user_id" not in visitor.session
    assert User.objects.count() == people


def test_the_name_is_the_clusters(provider, visitor, settings):
    settings.SLICEWISE_OIDC_USERNAME_CLAIM = "preferred_username"
    settings.SLICEWISE_OIDC_USERNAME_PREFIX = "oidc:"
    provider.has("s-4", preferred_username="ada")

    provider.sign_in(visitor, "s-4")

    assert User.objects.get(subject="s-4").username == "oidc:ada"


def test_who_is_switched_off_stays_out(provider, visitor):
    provider.has("s-5", email="off@orchid")
    provider.sign_in(visitor, "s-5")
    User.objects.filter(subject="s-5").update(is_active=False)

    answer = provider.sign_in(Client(), "s-5")

    assert answer.status_code == 403
    assert "switched off" in sentence(answer)
    assert visitor.get("/tokens/").status_code == 302  # nor does the old session go on


def test_the_provider_refuses_in_a_sentence(provider, visitor):
    start = visitor.get("/sign-in/provider/")["Location"]

    answer = visitor.get(provider.answer(start, action="deny"))

    assert answer.status_code == 403
    assert "did not sign you in" in sentence(answer)


def test_the_provider_is_down(settings, visitor, db):
    settings.SLICEWISE_OIDC_ISSUER = f"http://127.0.0.1:{free_port()}"

    answer = visitor.get("/sign-in/provider/")

    assert answer.status_code == 503
    assert "does not answer" in sentence(answer)
    assert visitor.get("/sign-in/").status_code == 200


def test_what_was_not_begun_here_is_not_ended_here(provider, visitor):
    back = provider.answer(visitor.get("/sign-in/provider/")["Location"], sub="s-0")

    stranger = Client().get(back)
    visitor.get(back)
    again = visitor.get(back)

    assert stranger.status_code == 403
    assert again.status_code == 403
    assert "could not be trusted" in sentence(again)


def test_next_never_leads_elsewhere(provider, visitor):
    provider.has("s-6", email="n@orchid")
    start = "/sign-in/provider/?next=https://evil.example/"

    assert provider.sign_in(visitor, "s-6", start)["Location"] == "/"


def test_the_session_is_renewed_and_then_follows_the_groups(
    provider, visitor, mapped, settings
):
    provider.has("s-7", email="r@orchid", groups=["gpu-approvers"])
    settings.OIDC_RENEW_ID_TOKEN_EXPIRY_SECONDS = -1
    provider.sign_in(visitor, "s-7")
    provider.has("s-7", email="r@orchid", groups=[])

    sent = visitor.get("/tokens/")
    fragment = visitor.get("/tokens/", headers={"HX-Request": "true"})

    assert "prompt=none" in sent["Location"]
    assert fragment.status_code == 200
    # As a provider answers that the person is still signed in at.
    silent = sent["Location"].replace("prompt=none", "")
    back = visitor.get(provider.answer(silent, sub="s-7"))
    assert back["Location"] == "/tokens/"
    assert User.objects.get(subject="s-7").roles == []


def test_a_session_of_a_password_is_not_renewed(provider, visitor, ada):
    visitor.force_login(ada, "django.contrib.auth.backends.ModelBackend")

    assert visitor.get("/tokens/").status_code == 200


def me(token):
    return Client().get("/api/v1/me", headers={"Authorization": f"Bearer {token}"})


def test_the_api_takes_id_tokens_of_this_portal_alone(provider, visitor, mapped):
    provider.has("s-8", email="b@orchid", groups=["gpu-admins", "gpu-approvers"])
    unknown = me(provider.tokens("s-8", "slicewise")["id_token"])
    provider.sign_in(visitor, "s-8")
    both = provider.tokens("s-8", "slicewise")

    mine = me(both["id_token"])
    assert mine.status_code == 200, mine.content
    assert mine.json()["username"] == "b@orchid"
    assert "people.manage" in mine.json()["permissions"]
    assert unknown.status_code == 401
    assert me(both["access_token"]).status_code == 401
    assert me(provider.tokens("s-8", "other")["id_token"]).status_code == 401
    head, body, _signature = both["id_token"].split(".")
    assert me(f"{head}.{body}.AAAA").status_code == 401
    forged = jwt.encode({"sub": "s-8"}, "k" * 32, algorithm="HS256")
    assert me(forged).status_code == 401
    assert me("swt_nothing").status_code == 401


def test_an_id_token_gives_no_more_than_either_person_or_token(
    provider, visitor, mapped
):
    provider.has("s-9", email="c@orchid", groups=["gpu-admins"])
    provider.sign_in(visitor, "s-9")
    old = provider.tokens("s-9", "slicewise")["id_token"]
    provider.has("s-9", email="c@orchid", groups=["gpu-approvers"])
    fewer = provider.tokens("s-9", "slicewise")["id_token"]

    assert "approvals.decide" in me(fewer).json()["permissions"]  # an admin may, too
    assert "people.manage" not in me(fewer).json()["permissions"]
    provider.sign_in(visitor, "s-9")
    assert "people.manage" not in me(old).json()["permissions"]
    User.objects.filter(subject="s-9").update(is_active=False)
    assert me(old).status_code == 401


def test_access_tokens_are_taken_for_the_audience_that_was_set_alone(
    provider, visitor, settings
):
    provider.has("s-12", email="t@orchid")
    provider.sign_in(visitor, "s-12")
    # A JWT by the provider's keys for another audience than the portal's client.
    token = provider.tokens("s-12", "api-slicewise")["id_token"]
    head, body, _signature = token.split(".")
    assert me(token).status_code == 401

    settings.SLICEWISE_OIDC_AUDIENCE = "api-slicewise"

    assert me(token).json()["username"] == "t@orchid"
    assert me(f"{head}.{body}.AAAA").status_code == 401
    assert me(provider.tokens("s-12", "other")["id_token"]).status_code == 401
    assert me(provider.tokens("s-12", "slicewise")["id_token"]).status_code == 200
    settings.SLICEWISE_OIDC_ISSUER = provider.url.replace("127.0.0.1", "localhost")
    assert me(token).status_code == 401


def test_the_issuer_of_an_id_token_is_checked(provider, visitor, settings):
    provider.has("s-10", email="i@orchid")
    provider.sign_in(visitor, "s-10")
    token = provider.tokens("s-10", "slicewise")["id_token"]
    assert me(token).status_code == 200

    settings.SLICEWISE_OIDC_ISSUER = provider.url.replace("127.0.0.1", "localhost")

    assert me(token).status_code == 401


def test_a_provider_that_must_ask_is_led_to_and_back(provider, visitor, settings):
    provider.has("s-11", email="q@orchid")
    settings.OIDC_RENEW_ID_TOKEN_EXPIRY_SECONDS = -1
    provider.sign_in(visitor, "s-11")
    sent = visitor.get("/tokens/")

    back = visitor.get(provider.answer(sent["Location"], sub="s-11"))

    assert back["Location"] == "/sign-in/provider/?next=%2Ftokens%2F"
    answer = provider.sign_in(visitor, "s-11", back["Location"])
    assert answer["Location"] == "/tokens/"

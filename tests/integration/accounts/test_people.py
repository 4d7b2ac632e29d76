"""People and teams by hand: on pages and over the API, by compare-and-set, audited."""

from __future__ import annotations

import datetime as dt
import re
import threading

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.test import Client

from inventory.models import Cluster
from portal.accounts import second_factor
from portal.accounts.models import SecondFactor, Tenant, User
from portal.accounts.people import PersonRefused, change_person, state_of
from portal.budgets.models import Budget
from tests.integration.api.conftest import call  # noqa: F401  a fixture

NEW = "another long phrase"


@pytest.fixture
def demo_cluster(db):
    return Cluster.objects.create(name="demo", kind="offline")


@pytest.fixture
def admin_page(client, dora):
    client.force_login(dora)
    return client


def actors(model):
    events = apps.get_model("accounts", model).objects
    return set(events.values_list("pgh_context__metadata__actor", flat=True))


def test_createsuperuser_makes_an_administrator(db):
    call_command("createsuperuser", username="root@x", email="", interactive=False)

    assert User.objects.get(username="root@x").roles == ["admin"]


def test_an_admin_makes_a_person_who_chooses_a_password_by_a_link(admin_page, dora):
    made = admin_page.post("/people/", {"username": "zoe@lotus", "roles": ["approver"]})
    zoe = User.objects.get(username="zoe@lotus")
    assert made["Location"] == f"/people/{zoe.pk}/"
    assert zoe.roles == ["approver"]
    assert not zoe.has_usable_password()

    shown = admin_page.post(f"/people/{zoe.pk}/link").content.decode()
    [path] = re.findall(r"http://testserver(/set-password/[^<\s]+)", shown)
    visitor = Client()
    form = visitor.get(path)["Location"]
    assert "zoe@lotus" in visitor.get(form).content.decode()
    short = visitor.post(form, {"new_password1": "x", "new_password2": "x"})
    done = visitor.post(form, {"new_password1": NEW, "new_password2": NEW})

    assert "too short" in short.content.decode()
    assert done["Location"] == "/sign-in/"
    assert "works no longer" in Client().get(path).content.decode()
    entered = visitor.post("/sign-in/", {"username": "zoe@lotus", "password": NEW})
    assert entered.status_code == 302
    assert actors("UserEvent") == {dora.username, "zoe@lotus"}


@pytest.mark.parametrize(
    "name", ["system:admin", "service:x:y", "ada@orchid", "a b", "", "x" * 200]
)
def test_a_name_that_cannot_be_is_refused_in_words(admin_page, ada, name):
    answer = admin_page.post("/people/", {"username": name})

    assert answer.status_code == 422
    assert 'class="error"' in answer.content.decode()
    assert not User.objects.exclude(username__in=["ada@orchid", "dora@platform"])


def test_roles_change_by_compare_and_set(admin_page, ada):
    seen = state_of(ada)
    form = {"roles": ["auditor"], "is_active": "on", "seen": seen, "reason": "on leave"}

    first = admin_page.post(f"/people/{ada.pk}/", form)
    second = admin_page.post(f"/people/{ada.pk}/", {**form, "roles": ["admin"]})

    assert first.status_code == 302
    assert second.status_code == 409
    assert "Somebody changed this person meanwhile" in second.content.decode()
    ada.refresh_from_db()
    assert ada.roles == ["auditor"]
    event = apps.get_model("accounts", "UserEvent").objects.get()
    assert event.pgh_context.metadata["reason"] == "on leave"


def test_the_last_administrator_stays(admin_page, dora, ada):
    form = {"roles": [], "is_active": "on", "seen": state_of(dora)}
    refused = admin_page.post(f"/people/{dora.pk}/", form)
    off = {"roles": ["admin"], "seen": state_of(dora)}
    assert refused.status_code == 422
    assert "last administrator" in refused.content.decode()
    assert admin_page.post(f"/people/{dora.pk}/", off).status_code == 422

    User.objects.filter(pk=ada.pk).update(roles=["admin"])

    assert admin_page.post(f"/people/{dora.pk}/", form).status_code == 302


@pytest.mark.django_db(transaction=True)
def test_two_administrators_cannot_remove_each_other(ada, dora):
    User.objects.filter(pk=ada.pk).update(roles=["admin"])
    both = list(User.objects.order_by("pk"))
    start, said = threading.Barrier(2), []

    def remove(actor, other):
        start.wait()
        try:
            change_person(
                other,
                seen=state_of(other),
                roles=[],
                is_active=True,
                reason="",
                actor=actor,
                request_id="",
            )
            said.append("removed")
        except PersonRefused:
            said.append("refused")
        finally:
            connection.close()

    threads = [
        threading.Thread(target=remove, args=pair) for pair in (both, both[::-1])
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    assert sorted(said) == ["refused", "removed"]


def test_whoever_comes_by_a_provider_keeps_the_roles_of_their_groups(admin_page, cleo):
    User.objects.filter(pk=cleo.pk).update(subject="s-1", issuer="https://x")
    form = {"roles": ["admin"], "is_active": "on", "seen": state_of(cleo)}

    refused = admin_page.post(f"/people/{cleo.pk}/", form)
    off = admin_page.post(f"/people/{cleo.pk}/", {"roles": [], "seen": state_of(cleo)})

    assert "follow their groups" in refused.content.decode()
    assert off.status_code == 302
    cleo.refresh_from_db()
    assert not cleo.is_active
    assert admin_page.post(f"/people/{cleo.pk}/link").status_code == 409


def test_an_admin_resets_a_second_factor_with_a_reason(admin_page, dora, ada, now):
    SecondFactor.objects.create(
        user=ada, secret_encrypted="x", begun_at=now, confirmed_at=now
    )

    silent = admin_page.post(f"/people/{ada.pk}/reset", {"reason": " "})
    assert silent.status_code == 409
    assert second_factor.is_on(ada)
    done = admin_page.post(f"/people/{ada.pk}/reset", {"reason": "phone lost"})
    again = admin_page.post(f"/people/{ada.pk}/reset", {"reason": "phone lost"})
    own = admin_page.post(f"/people/{dora.pk}/reset", {"reason": "x"})

    assert done.status_code == 302
    assert not second_factor.is_on(ada)
    assert "has no second factor" in again.content.decode()
    assert own.status_code == 409
    events = apps.get_model("accounts", "SecondFactorEvent").objects
    last = events.filter(pgh_label="delete").get()
    assert last.pgh_context.metadata["actor"] == "dora@platform"
    assert last.pgh_context.metadata["reason"] == "phone lost"


def test_the_page_of_people_finds_and_pages(admin_page, ada, cleo):
    User.objects.bulk_create(User(username=f"p{n:03d}") for n in range(120))

    first = admin_page.get("/people/").content.decode()
    following = re.search(r'rel="next" href="([^"]+)"', first)[1]
    second = admin_page.get(f"/people/{following.replace('&amp;', '&')}")

    assert "p119" not in first
    assert "p119" in second.content.decode()
    assert "cleo@maple" in admin_page.get("/people/?q=CLEO").content.decode()
    assert "cleo@maple" not in admin_page.get("/people/?q=ada").content.decode()


TEAM = {
    "name": "lotus",
    "group": "slicewise:lotus",
    "members": "ada@orchid",
    "namespaces": "demo/lotus-lab demo/lotus-ci",
}


def test_an_admin_makes_a_team(admin_page, demo_cluster, ada, dora):
    made = admin_page.post("/new-team/", TEAM)

    assert made["Location"] == "/teams/lotus/"
    team = Tenant.objects.get(name="lotus")
    assert [user.username for user in team.members.all()] == ["ada@orchid"]
    assert {str(row) for row in team.namespaces.all()} == {
        "demo/lotus-lab",
        "demo/lotus-ci",
    }
    for model in ("TenantEvent", "MembershipEvent", "TenantNamespaceEvent"):
        assert actors(model) == {dora.username}
    page = admin_page.get("/teams/lotus/").content.decode()
    assert "lotus-ci" in page
    assert "ada@orchid" in page


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("name", "orchid", "a team of that name"),
        ("name", "a b", "valid"),
        ("group", "slicewise:orchid", "Another team has that group"),
        ("group", "system:masters", "belongs to Kubernetes"),
        ("members", "nobody@x", "no person named nobody@x"),
        ("namespaces", "lotus-lab", "not written as cluster/namespace"),
        ("namespaces", "dmeo/lotus-lab", "no cluster named “dmeo”"),
        ("namespaces", "demo/Lotus", "small letters"),
        ("namespaces", "demo/ai-serving", "another team"),
    ],
)
def test_a_team_that_cannot_be_is_refused_and_loses_nothing(
    admin_page, demo_cluster, ada, field, value, said
):
    answer = admin_page.post("/new-team/", {**TEAM, field: value})

    html = answer.content.decode()
    assert answer.status_code == 422
    assert said in html
    assert value in html
    assert not Tenant.objects.exclude(name="orchid").exists()


def test_a_team_changes_by_compare_and_set(admin_page, demo_cluster, ada, cleo):
    orchid = ada.tenants.get()
    form = {
        "group": orchid.group,
        "members": "ada@orchid\ncleo@maple",
        "namespaces": "demo/ai-serving",
        "version": "1",
    }

    first = admin_page.post("/teams/orchid/edit/", form)
    late = admin_page.post("/teams/orchid/edit/", {**form, "members": ""})

    assert first.status_code == 302
    assert late.status_code == 409
    assert "meanwhile" in late.content.decode()
    assert set(orchid.members.values_list("username", flat=True)) == {
        "ada@orchid",
        "cleo@maple",
    }
    assert [str(row) for row in orchid.namespaces.all()] == ["demo/ai-serving"]
    assert "cleo@maple" in admin_page.get("/teams/orchid/edit/").content.decode()


def test_members_by_the_provider_and_service_accounts_stay(
    admin_page, demo_cluster, ada, cleo
):
    orchid = ada.tenants.get()
    User.objects.filter(pk=ada.pk).update(subject="s-1", issuer="https://x")
    User.objects.filter(pk=cleo.pk).update(subject="s-2", issuer="https://x")
    service = User.objects.create(username="service:orchid:ci", service_of=orchid)
    orchid.members.add(service)
    form = {"group": orchid.group, "members": "", "namespaces": "", "version": "1"}

    refused = admin_page.post("/teams/orchid/edit/", {**form, "members": "cleo@maple"})
    admin_page.post("/teams/orchid/edit/", form)

    assert "map one of their groups" in refused.content.decode()
    assert orchid.members.count() == 2
    shown = admin_page.get("/teams/orchid/").content.decode()
    assert "a group of the provider" in shown


def test_a_team_is_removed_where_nothing_was_ever_asked_for(admin_page, ada, cleo, now):
    Budget.objects.create(tenant=ada.tenants.get(), changed_by="x", changed_at=now)

    kept = admin_page.post("/teams/orchid/remove", {"version": "1"})
    late = admin_page.post("/teams/maple/remove", {"version": "7"})
    gone = admin_page.post("/teams/maple/remove", {"version": "1"})

    assert kept.status_code == late.status_code == 409
    assert "their record stays" in kept.content.decode()
    assert gone.status_code == 302
    assert list(Tenant.objects.values_list("name", flat=True)) == ["orchid"]


def test_a_member_sees_their_own_team_alone(client, ada, cleo):
    client.force_login(ada)

    assert "maple" not in client.get("/teams/").content.decode()
    assert client.get("/teams/orchid/").status_code == 200
    assert client.get("/teams/maple/").status_code == 404
    assert client.get("/teams/orchid/edit/").status_code == 403


def test_the_api_makes_and_changes_a_tenant(call, dora, ada, cleo, demo_cluster):  # noqa: F811
    caller = call(dora)
    body = {
        "name": "lotus",
        "group": "slicewise:lotus",
        "members": ["ada@orchid"],
        "namespaces": [{"cluster": "demo", "namespace": "lotus-lab"}],
    }
    made = caller.post("tenants", body)
    assert made.status_code == 201, made.content
    change = {key: body[key] for key in ("group", "namespaces")}
    change["members"] = ["cleo@maple"]

    without = caller.send("PUT", "tenants/lotus", change)
    done = caller.send("PUT", "tenants/lotus", change, If_Match=made["ETag"])
    late = caller.send("PUT", "tenants/lotus", change, If_Match=made["ETag"])

    assert (without.status_code, late.status_code) == (428, 412)
    assert done.json()["members"] == [{"username": "cleo@maple", "by": "hand"}]
    wrong = caller.send(
        "PUT",
        "tenants/lotus",
        {**change, "members": ["nobody"]},
        If_Match=done["ETag"],
    )
    assert wrong.status_code == 422
    assert wrong.json()["errors"][0]["pointer"] == "#/members"
    assert caller.get("tenants/lotus").json()["members"] == done.json()["members"]
    gone = caller.send("DELETE", "tenants/lotus", If_Match=done["ETag"])
    assert gone.status_code == 204


def test_the_api_lists_own_tenants_alone(call, ada, cleo, dora):  # noqa: F811
    own = [row["name"] for row in call(ada).items("tenants")]
    narrow = call(dora, "govern:read").items("tenants")
    both = [row["name"] for row in call(dora).items("tenants")]

    assert (own, narrow, both) == (["orchid"], [], ["maple", "orchid"])
    assert call(dora, "govern:write").get("people").json()["code"] == "auth.scope"


def test_the_api_makes_changes_and_resets_people(call, dora, now):  # noqa: F811
    caller = call(dora)
    made = caller.post("people", {"username": "zoe@lotus", "roles": ["auditor"]})
    assert made.status_code == 201, made.content
    address = f"people/{made.json()['id']}"
    change = {"roles": [], "isActive": False, "reason": "left"}

    done = caller.send("PUT", address, change, If_Match=made["ETag"])
    late = caller.send("PUT", address, change, If_Match=made["ETag"])

    assert done.json()["isActive"] is False
    assert late.status_code == 412
    assert caller.send("PUT", address, change).status_code == 428
    link = caller.post(f"{address}/password-link", {}).json()["link"]
    assert "/set-password/" in link
    zoe = User.objects.get(username="zoe@lotus")
    SecondFactor.objects.create(
        user=zoe, secret_encrypted="x", begun_at=now, confirmed_at=now
    )
    reset = f"{address}/reset-second-factor"
    assert caller.get(address).json()["hasSecondFactor"] is True
    assert caller.post(reset, {}).status_code == 422
    assert caller.post(reset, {"reason": "phone lost"}).status_code == 204
    assert caller.get("people?q=zoe").json()["items"][0]["hasSecondFactor"] is False
    again = caller.post("people", {"username": "zoe@lotus"})
    assert again.json()["errors"][0]["pointer"] == "#/username"


def test_the_api_maps_groups(call, dora, ada):  # noqa: F811
    caller = call(dora)
    made = caller.post("group-mappings", {"group": "gpu", "tenant": "orchid"})
    assert made.json()["tenant"] == "orchid"

    for body, pointer in [
        ({"group": "gpu"}, "#/role"),
        ({"group": "gpu", "role": "emperor"}, "#/role"),
        ({"group": "gpu", "tenant": "none"}, "#/tenant"),
        ({"group": "gpu", "tenant": "orchid"}, "#/group"),
        ({"group": "gpu", "tenant": "orchid", "role": "admin"}, "#/role"),
    ]:
        answer = caller.post("group-mappings", body)
        assert answer.status_code == 422, body
        assert answer.json()["errors"][0]["pointer"] == pointer
    address = f"group-mappings/{made.json()['id']}"
    assert [row["group"] for row in caller.items("group-mappings")] == ["gpu"]
    assert caller.send("DELETE", address).status_code == 204
    assert caller.send("DELETE", address).status_code == 404
    assert actors("GroupMappingEvent") == {"dora@platform"}


def test_a_link_ends_after_three_days(admin_page, ada, settings):
    shown = admin_page.post(f"/people/{ada.pk}/link").content.decode()
    [path] = re.findall(r"http://testserver(/set-password/[^<\s]+)", shown)

    assert dt.timedelta(days=3).total_seconds() == settings.PASSWORD_RESET_TIMEOUT
    settings.PASSWORD_RESET_TIMEOUT = -1
    assert "works no longer" in Client().get(path).content.decode()

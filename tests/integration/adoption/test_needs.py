"""Admins ask what workloads need of their cards, owners tell, and it counts."""

from __future__ import annotations

import csv
import io
import re

import pytest

from inventory.services.store import replace_kinds
from portal.adoption.models import WorkloadNeed, WorkloadNeedEvent
from portal.notices.models import Notice, Receipt
from tests.integration.adoption.conftest import call, no_counts  # noqa: F401  fixtures
from tests.integration.adoption.test_savings import (  # noqa: F401  fixture
    node,
    plugged,
    pod,
)

GIB = 2**30
NEEDS, SAVINGS = "/c/demo/adoption/needs/", "/c/demo/adoption/savings/"
CHAT = "ai-serving/Deployment/chat"
API = "clusters/demo/adoption"


@pytest.fixture
def owned(plugged):  # noqa: F811
    """Add a Deployment of orchid's, with two pods, and a pod of maple's."""
    from django.utils import timezone

    def owned_pod(name, namespace):
        body = pod(name, "n1")
        body["metadata"]["namespace"] = namespace
        return body

    pods = [owned_pod(f"chat-5d9f8-{x}", "ai-serving") for x in "ab"]
    for each in pods:
        each["metadata"]["ownerReferences"] = [
            {"kind": "ReplicaSet", "name": "chat-5d9f8", "controller": True}
        ]
    pods.append(owned_pod("secret-maple", "maple-lab"))
    pods.append(pod("silent", "n2", cards="2"))
    nodes = [node("n1", "all-disabled"), node("n2", "all-1g.10gb")]
    replace_kinds(plugged, {"Pod": pods, "Node": nodes}, now=timezone.now())
    return plugged


def ask(client, person, *keys, **more):
    client.force_login(person)
    return client.post(f"{NEEDS}ask/", {"workload": keys, **more}, follow=True)


def tell(client, person, gib, version="1", key=CHAT):
    client.force_login(person)
    return client.post(
        NEEDS, {f"gib:{key}": gib, f"version:{key}": version}, follow=True
    )


def test_an_admin_asks_the_owner_tells_and_eta_counts_it(
    owned, client, dora, ada, cleo, eli
):
    answer = ask(client, dora, CHAT)
    assert "The owner of 1 workload is asked." in answer.content.decode()
    notice = Notice.objects.get(event="adoption.need-asked")
    assert notice.subject == "ai-serving/chat (demo)"
    assert [each.person for each in Receipt.objects.filter(notice=notice)] == [ada]

    client.force_login(ada)
    page = client.get(notice.url).content.decode()
    assert "asked by dora@platform" in page
    assert "secret-maple" not in page
    answer = tell(client, ada, "12.5")
    assert "The need of 1 workload is kept." in answer.content.decode()
    assert 'value="12.5"' in answer.content.decode()
    told = Receipt.objects.get(notice__event="adoption.need-told")
    assert told.person == dora

    client.force_login(eli)
    page = client.get(SAVINGS).content.decode()
    # Two cards of 80 GiB are known, of which 12.5 GiB each are needed.
    assert "160 GiB are held and 25 GiB of them needed: ≥ 135 GiB" in page
    assert "What 2 pods need was told by their owners." in page
    text = client.get("/c/demo/adoption/savings.csv").getvalue().decode()
    rows = {row["pod"]: row for row in csv.DictReader(io.StringIO(text))}
    assert rows["chat-5d9f8-a"]["need_told_by"] == "owner"
    assert rows["secret-maple"]["need_told_by"] == ""
    events = WorkloadNeedEvent.objects.order_by("pgh_id")
    assert [(each.asked_by, each.told_by) for each in events] == [
        ("dora@platform", ""),
        ("dora@platform", "ada@orchid"),
    ]
    actors = [each.pgh_context.metadata["actor"] for each in events]
    assert actors == ["dora@platform", "ada@orchid"]


def test_an_annotation_goes_before_what_its_owner_told(owned, client, ada, eli):
    from django.utils import timezone

    tell(client, ada, "12", version="0")
    body = pod("chat-5d9f8-a", "n1", need="6Gi")
    body["metadata"]["namespace"] = "ai-serving"
    body["metadata"]["ownerReferences"] = [
        {"kind": "ReplicaSet", "name": "chat-5d9f8", "controller": True}
    ]
    replace_kinds(owned, {"Pod": [body]}, now=timezone.now())
    client.force_login(eli)
    assert "80 GiB are held and 6 GiB of them needed" in (
        client.get(SAVINGS).content.decode()
    )


@pytest.mark.parametrize("typed", ["0", "-3", "lots", "nan", "1e9"])
def test_what_is_no_amount_is_said_and_stays_in_the_form(typed, owned, client, ada):
    answer = tell(client, ada, typed, version="0")
    page = answer.content.decode()
    assert answer.status_code == 422
    assert f"{CHAT}: Write how many GiB" in page
    assert f'value="{typed}"' in page
    assert not WorkloadNeed.objects.exists()


def test_who_is_second_is_told_and_keeps_what_was_typed(owned, client, ada):
    tell(client, ada, "12", version="0")
    answer = tell(client, ada, "30", version="0")
    page = answer.content.decode()
    assert answer.status_code == 409
    assert "Somebody asked or told meanwhile" in page
    assert 'value="30"' in page
    assert re.search(rf'name="version:{CHAT}" value="1"', page)
    assert WorkloadNeed.objects.get().memory == 12 * GIB


def test_nobody_tells_of_others_workloads(owned, client, cleo, call):  # noqa: F811
    tell(client, cleo, "12", version="0")
    assert not WorkloadNeed.objects.exists()
    body = {"namespace": "ai-serving", "kind": "Deployment", "name": "chat"}
    answer = call(cleo).post(
        f"{API}/needs/answers", {**body, "memoryBytes": GIB, "version": 0}
    )
    assert (answer.status_code, answer.json()["code"]) == (403, "need.not_yours")


def test_what_nobody_owns_or_is_gone_is_said(owned, client, dora):
    page = ask(client, dora, "ai/Pod/silent").content.decode()
    assert "Nobody to ask, since these namespaces are no tenant’s: ai." in page
    page = ask(client, dora, "ai-serving/Deployment/gone").content.decode()
    assert "holds no whole card any more" in page
    page = ask(client, dora).content.decode()
    assert "Choose 1 to 500 workloads." in page
    assert not Notice.objects.exists()


def test_all_are_asked_about_once(owned, client, dora, ada, cleo):
    page = ask(client, dora, action="all").content.decode()
    assert "The owners of 2 workloads are asked." in page
    assert Receipt.objects.count() == 2
    told = {each.person.username: each.notice.subject for each in Receipt.objects.all()}
    assert "maple" not in told["ada@orchid"]
    assert "chat" not in told["cleo@maple"]


def test_the_same_over_rest(owned, call, dora, ada, eli):  # noqa: F811
    listed = call(ada).get(f"{API}/needs").json()
    assert [(each["name"], each["version"]) for each in listed["workloads"]] == [
        ("chat", 0)
    ]
    assert len(call(eli).get(f"{API}/needs").json()["workloads"]) == 3
    key = {"namespace": "ai-serving", "kind": "Deployment", "name": "chat"}
    asked = call(dora).post(f"{API}/needs/questions", {"workloads": [key]})
    assert asked.json() == {"asked": 1, "withoutTenant": []}

    body = {**key, "memoryBytes": 20 * GIB, "version": 0}
    assert call(ada).post(f"{API}/needs/answers", body).status_code == 409
    told = call(ada).post(f"{API}/needs/answers", {**body, "version": 1}).json()
    assert (told["memoryBytes"], told["version"]) == (20 * GIB, 2)

    found = call(eli).get(f"{API}/savings").json()
    [product] = found["products"]
    assert product["strandedBytes"] == 120 * GIB
    assert product["efficiency"] == 0.25
    assert product["unknownPods"] == 2
    assert found["pools"]["present"] == 2
    [need] = call(ada).get(f"{API}/needs").json()["workloads"]
    assert (need["needBytes"], need["needSource"]) == (20 * GIB, "owner")
    assert (need["askedBy"], need["toldBy"]) == ("dora@platform", "ada@orchid")

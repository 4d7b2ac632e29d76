"""The pages of requests and claims: who sees what, and what their buttons do."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse
from django.utils import timezone

from claims.domain.lifecycle import State
from claims.services.starting import start_pod
from claims.services.working import work_on
from inventory.domain.kinds import BY_NAME

pytestmark = pytest.mark.usefixtures("no_pods")


def page_of(claim_request, name="request-detail"):
    return reverse(f"claims:{name}", args=[claim_request.public_id])


@pytest.fixture
def as_ada(client, ada):
    client.force_login(ada)
    return client


@pytest.fixture
def used(active, template, until):
    """Return an active request whose template a pod uses, as the portal sees it."""
    from claims.queries.requests import following

    claim_request = active(template())
    start_pod(claim_request)

    def reserved():
        claims = following(claim_request, now=timezone.now()).claims
        return claims and claims[0].state == "Reserved"

    until(reserved)
    return claim_request


def test_list_shows_my_requests_alone(as_ada, ada, cleo, client, submitted, template):
    mine = submitted(template())

    page = as_ada.get(reverse("claims:request-list"))
    client.force_login(cleo)
    other = client.get(reverse("claims:request-list"))

    assert mine.plan.name in page.text
    assert page_of(mine) in page.text
    assert mine.plan.name not in other.text
    assert "No requests yet" in other.text


def test_list_answers_htmx_with_its_rows(as_ada, submitted, template):
    submitted(template())

    part = as_ada.get(reverse("claims:request-list"), headers={"HX-Request": "true"})

    assert part.text.lstrip().startswith('<div id="rows"')
    assert "HX-Request" in part["Vary"]


@pytest.mark.parametrize("count", [1, 20])
def test_list_makes_the_same_queries_for_one_and_for_twenty(
    as_ada, submitted, template, django_assert_num_queries, count
):
    manifest = template()
    for index in range(count):
        submitted(
            {
                **manifest,
                "metadata": {
                    **manifest["metadata"],
                    "name": f"{manifest['metadata']['name']}-{index}",
                },
            }
        )

    # Session, person, count, rows, and the frame's clusters and notices.
    with django_assert_num_queries(6):
        as_ada.get(reverse("claims:request-list"))


def test_detail_follows_the_request(as_ada, used):
    page = as_ada.get(page_of(used)).text

    for text in (used.plan.name, used.plan.digest, "example.com/claims-node/gpu-"):
        assert text in page
    for word in ("Submitted", "Applying", "Active", "Reserved", "Running"):
        assert word in page
    assert "resourceClaimTemplateName: " + used.plan.name in page


def test_detail_answers_htmx_with_the_live_part(as_ada, submitted, template):
    url = page_of(submitted(template()))

    part = as_ada.get(url, headers={"HX-Request": "true"}).text

    assert part.lstrip().startswith('<div id="live"')
    assert "sse:claim" in part
    assert "apiVersion" not in part


@pytest.mark.parametrize(
    ("who", "status"), [("cleo", 404), ("ben", 200), ("dora", 200), ("eli", 200)]
)
def test_detail_is_for_the_tenant_and_for_who_may_see_all(
    client, request, submitted, template, who, status
):
    url = page_of(submitted(template()))
    client.force_login(request.getfixturevalue(who))

    assert client.get(url).status_code == status


def test_a_colleague_may_look_and_not_touch(client, submitted, template, ada):
    from portal.accounts.models import User

    claim_request = submitted(template())
    work_on(claim_request.pk, now=timezone.now())
    colleague = User.objects.create_user("amy@orchid", password="correct horse")
    ada.tenants.get().members.add(colleague)
    client.force_login(colleague)

    assert client.get(page_of(claim_request)).status_code == 200
    release = page_of(claim_request, "request-release")
    assert release not in client.get(page_of(claim_request)).text
    assert client.get(release).status_code == 404
    assert client.post(release).status_code == 404
    claim_request.refresh_from_db()
    assert claim_request.state == State.ACTIVE


def test_release_lists_what_ends_and_begins_with_it(as_ada, used):
    url = page_of(used, "request-release")
    page = as_ada.get(url).text
    [pod] = re.findall(r'name="pod" value="([^"]+)"', page)
    assert used.plan.name in page
    assert "example.com/claims-node/gpu-" in page

    answer = as_ada.post(url, {"pod": pod})

    assert answer["Location"] == page_of(used)
    used.refresh_from_db()
    assert used.state == State.RELEASING
    name, _, uid = pod.partition("/")
    assert used.ending_pods == [{"name": name, "uid": uid}]


def test_release_cannot_reach_pods_of_others(as_ada, used, admin, until):
    stranger = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "stranger-", "namespace": "ai-serving"},
        "spec": {"containers": [{"name": "c", "image": "x"}]},
    }
    body = admin.create(stranger)["metadata"]

    as_ada.post(
        page_of(used, "request-release"), {"pod": f"{body['name']}/{body['uid']}"}
    )
    work_on(used.pk, now=timezone.now())

    found = admin.get(BY_NAME["Pod"], body["name"], "ai-serving")
    assert "deletionTimestamp" not in found["metadata"]


def test_release_of_what_is_not_active_says_so(as_ada, submitted, template):
    claim_request = submitted(template())

    answer = as_ada.post(page_of(claim_request, "request-release"), follow=True)

    assert "nothing to release" in answer.text
    claim_request.refresh_from_db()
    assert claim_request.state == State.SUBMITTED


def test_start_pod_is_the_demo_s_alone(as_ada, active, template, settings):
    claim_request = active(template())
    url = page_of(claim_request, "request-pod")

    settings.SLICEWISE_DEMO = False
    assert url not in as_ada.get(page_of(claim_request)).text
    assert as_ada.post(url).status_code == 404

    settings.SLICEWISE_DEMO = True
    assert url in as_ada.get(page_of(claim_request)).text
    assert "was started" in as_ada.post(url, follow=True).text


def test_start_pod_says_what_the_server_says(as_ada, ada, active, template, settings):
    settings.SLICEWISE_DEMO = True
    claim_request = active(template())
    type(claim_request).objects.filter(pk=claim_request.pk).update(acting_groups=[])

    page = as_ada.post(page_of(claim_request, "request-pod"), follow=True)

    assert "forbidden" in page.text


def test_claim_list_keeps_others_out(client, ada, cleo, ben, used):
    url = reverse("claims:claim-list", args=["demo"])
    pages = {}
    for person in (ada, cleo, ben):
        client.force_login(person)
        pages[person.username] = client.get(url).text

    assert used.plan.name in pages["ada@orchid"]
    assert used.plan.name in pages["ben@platform"]
    assert used.plan.name not in pages["cleo@maple"]
    assert "ai-serving" not in pages["cleo@maple"]


def test_claim_list_filters(as_ada, used):
    url = reverse("claims:claim-list", args=["demo"])

    assert used.plan.name in as_ada.get(url, {"q": used.plan.name[:6]}).text
    for query in ({"q": "no-such"}, {"namespace": "ai-training"}, {"namespace": "x"}):
        assert used.plan.name not in as_ada.get(url, query).text.split("<main")[1]


def test_pages_need_a_sign_in(client, submitted, template):
    claim_request = submitted(template())

    for url in (reverse("claims:request-list"), page_of(claim_request)):
        assert client.get(url).status_code == 302


@pytest.mark.parametrize("name", ["request-detail", "request-release", "request-pod"])
def test_unknown_requests_are_not_found(as_ada, name, settings):
    settings.SLICEWISE_DEMO = True
    url = reverse(f"claims:{name}", args=["00000000-0000-0000-0000-000000000000"])
    method = as_ada.post if name == "request-pod" else as_ada.get

    assert method(url).status_code == 404


def test_pages_are_korean_where_asked(as_ada, submitted, template):
    as_ada.cookies["django_language"] = "ko"

    assert "내 요청" in as_ada.get(reverse("claims:request-list")).text

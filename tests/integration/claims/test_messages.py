"""What workers write on a request is read in the reader's language."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse
from django.utils import timezone, translation

from claims.domain.lifecycle import State
from claims.models import ClaimRequest
from claims.queries.requests import timeline
from claims.services.ending import revoke
from claims.services.working import work_on

pytestmark = pytest.mark.usefixtures("no_pods")

NAME_TAKEN = "요청이 만들지 않은"


@pytest.fixture
def failed(admin, submitted, template):
    """Return a request that failed, since its name had gone to another meanwhile."""
    manifest = template()
    claim_request = submitted(manifest)
    admin.create(manifest)
    work_on(claim_request.pk, now=timezone.now())
    claim_request.refresh_from_db()
    return claim_request


def page_of(claim_request):
    return reverse("claims:request-detail", args=[claim_request.public_id])


def test_each_reader_has_their_own_language(client, ada, failed):
    client.force_login(ada)

    english = client.get(page_of(failed)).text
    korean = client.get(page_of(failed), HTTP_ACCEPT_LANGUAGE="ko").text
    listed = client.get(reverse("claims:request-list"), HTTP_ACCEPT_LANGUAGE="ko").text

    assert english.count("that this request did not make") == 2  # and what happened
    assert korean.count(NAME_TAKEN) == 2
    assert NAME_TAKEN in listed
    assert failed.plan.name in korean
    assert "that this request did not make" not in korean


def test_it_is_kept_as_a_code_and_values(failed):
    assert failed.said["code"] == "apply.name_taken"
    assert failed.said["values"]["name"] == failed.plan.name
    assert "that this request did not make" in failed.message


def test_what_a_cluster_said_is_worded_with_its_advice(
    cluster, kubeconfigs, submitted, template
):
    from portal.core.secrets import encrypt

    claim_request = submitted(template())
    away = encrypt(re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:9", kubeconfigs[1]))
    type(cluster).objects.update(kubeconfig_encrypted=away)
    work_on(claim_request.pk, now=timezone.now())

    claim_request.refresh_from_db()

    assert claim_request.said["code"] == "cluster.silent"
    with translation.override("ko"):
        assert "Check that" not in claim_request.shown_message
        assert "127.0.0.1:9" in claim_request.shown_message


def test_an_order_in_korean_is_kept_for_those_who_read_english(active, template, ada):
    claim_request = active(template())
    with translation.override("ko"):
        revoke(
            claim_request,
            user=ada,
            reason="quarter’s end",
            request_id="x",
            now=timezone.now(),
        )

    assert claim_request.message == "Revoked by ada@orchid: quarter’s end"
    said = {each.state: each.message for each in timeline(claim_request)}
    assert said["Revoked"] == claim_request.message
    with translation.override("ko"):
        assert timeline(claim_request)[-1].message != claim_request.message


@pytest.mark.parametrize(
    "said",
    [
        None,
        {"code": "of.a.later.release", "values": {}},
        {"code": "apply.name_taken", "values": {}},
    ],
)
def test_what_cannot_be_worded_keeps_its_text(client, ada, submitted, template, said):
    claim_request = submitted(template())
    ClaimRequest.objects.filter(pk=claim_request.pk).update(
        state=State.APPLY_FAILED, message="As it was written.", said=said
    )
    client.force_login(ada)

    page = client.get(page_of(claim_request), HTTP_ACCEPT_LANGUAGE="ko").text

    assert "As it was written." in page

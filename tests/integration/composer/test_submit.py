"""Submitting the form to an API server that answers for real."""

from __future__ import annotations

import uuid

import pytest
from django.utils import timezone

from claims.models import ClaimRequest
from claims.services.working import work_on
from tests.integration.claims.conftest import (  # noqa: F401  fixtures
    admin,
    cluster,
    kubeconfigs,
    observe,
)
from tests.integration.composer.conftest import Composer

FIRST = "requests-0-alternatives-0"


@pytest.fixture
def live(client, ada, cluster):  # noqa: F811
    client.force_login(ada)
    composer = Composer(client, cluster)
    composer.open()
    composer.fields[f"{FIRST}-class"] = ["gpu.example.com"]
    composer.fields["name"] = [f"form-{uuid.uuid4().hex[:8]}"]
    return composer


def test_what_was_shown_is_what_is_stored(live):
    from tests.integration.composer.test_pages import manifest_of

    shown = manifest_of(live.press("check"))
    response = live.press("submit")
    stored = ClaimRequest.objects.get()
    assert response.status_code == 302
    assert response.url == f"/requests/{stored.public_id}/"
    sent = dict(stored.plan.manifest)
    assert set(sent["metadata"].pop("labels")) == {
        "app.kubernetes.io/managed-by",
        "slicewise.io/request-id",
    }
    assert set(sent["metadata"].pop("annotations")) == {"slicewise.io/http-request-id"}
    assert set(sent["spec"].pop("metadata")) == {"labels"}
    assert sent == shown
    assert stored.plan.preview["engine"]["minor"] == "1.37"


def test_one_form_makes_one_request_however_often_it_is_sent(live):
    first, second = live.press("submit"), live.press("submit")
    assert first.url == second.url
    assert ClaimRequest.objects.count() == 1


def test_a_form_sent_again_leads_to_what_was_made_of_it_meanwhile(live, observe):  # noqa: F811
    first = live.press("submit")
    assert work_on(ClaimRequest.objects.get().pk, now=timezone.now())
    observe()

    second = live.press("submit")

    assert (second.status_code, second.url) == (302, first.url)


def test_a_form_that_was_changed_after_going_back_makes_another_request(live):
    first = live.press("submit")
    second = live.press("submit", name=f"form-{uuid.uuid4().hex[:8]}")
    assert second.status_code == 302
    assert first.url != second.url


def test_htmx_is_led_to_the_request(live):
    response = live.press("submit", headers={"HX-Request": "true"})
    assert response.headers["HX-Redirect"].startswith("/requests/")


def test_a_name_that_is_taken_is_said_beside_the_name(live, admin):  # noqa: F811
    admin.create(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": live.fields["name"][0], "namespace": "ai-serving"},
            "spec": {"spec": {"devices": {}}},
        },
    )
    response = live.press("submit")
    assert response.status_code == 422
    assert b'id="f-name-error"' in response.content
    assert not ClaimRequest.objects.exists()


def test_the_servers_own_refusal_stands_beside_its_field(live, text):
    response = live.press("submit", **{f"{FIRST}-selectors-0": "device.nonsense == 1"})
    assert response.status_code == 422
    assert f'id="f-{FIRST}-selectors-0-error"'.encode() in response.content
    assert live.fields[f"{FIRST}-selectors-0"] == ["device.nonsense == 1"]
    assert not ClaimRequest.objects.exists()


def test_a_namespace_without_rights_is_one_sentence(live, text, ada):
    response = live.press("submit", namespace="ai-training")
    assert response.status_code == 422
    assert "thing to put right; nothing was sent" in text(response)


def test_another_teams_namespace_is_refused(live, text):
    response = live.press("submit", namespace="maple-lab")
    assert response.status_code == 422
    assert "“maple-lab” is none of your namespaces" in text(response)


def test_a_server_that_is_away_loses_nothing(live, text, cluster):  # noqa: F811
    from portal.core.secrets import decrypt, encrypt

    cluster.kubeconfig_encrypted = encrypt(
        _refusing(decrypt(cluster.kubeconfig_encrypted))
    )
    cluster.save()
    before = dict(live.fields)
    response = live.press("submit")
    assert response.status_code == 503
    before.pop("action", None)
    assert {name: live.fields.get(name) for name in before} == before


def _refusing(kubeconfig_text):
    import re

    return re.sub(r"(https?://[^:/]+):[0-9]+", r"\1:9", kubeconfig_text)


def test_an_offline_cluster_takes_nothing(composer, text):
    composer.open("hopper-shares")
    response = composer.press("submit")
    assert response.status_code == 422
    assert "was loaded from files" in text(response)

"""The composer's page: reasons and changes as a browser without script meets them."""

from __future__ import annotations

import html
import re

import pytest
from django.urls import reverse

from tests.integration.composer.conftest import Composer
from tests.integration.why.conftest import holder

pytestmark = pytest.mark.django_db(transaction=True)


def words(response):
    text = re.sub(r"<[^>]+>", " ", response.content.decode())
    return " ".join(html.unescape(text).split())


@pytest.fixture
def composer(client, ada, load_fleets):
    cluster = load_fleets(
        "nvidia-h100-full-8gpu",
        extra=[
            *(
                holder(f"train-{n}", f"gpu-h100-a/gpu-{n}", namespace="ai-training")
                for n in range(3)
            ),
            *(
                holder(f"secret-{n}", f"gpu-h100-a/gpu-{n}", namespace="maple-lab")
                for n in range(3, 5)
            ),
        ],
    )
    client.force_login(ada)
    page = Composer(client, cluster)
    page.open()
    page.press(
        "check",
        **{
            "name": "big",
            "namespace": "ai-serving",
            "requests-0-alternatives-0-class": "gpu.nvidia.com",
            "requests-0-alternatives-0-count": "6",
        },
    )
    return page


def previewed(composer):
    return composer.press("", path="preview/")


def test_preview_says_why_and_names_only_what_may_be_seen(composer):
    text = words(previewed(composer))

    assert (
        "8 devices of class gpu.nvidia.com: 5 are in use (held by"
        " ai-training/train-0, ai-training/train-1, ai-training/train-2,"
        " 2 claims of others), 3 left, 6 needed."
    ) in text
    assert "secret" not in text


def test_a_change_is_made_by_its_button(composer):
    page = previewed(composer).content.decode()
    actions = [html.unescape(a) for a in re.findall(r'value="(apply:[^"]*)"', page)]

    assert actions[0] == "apply:spec.spec.devices.requests[0].exactly.count:3"
    after = composer.press(actions[0])
    assert composer.fields["requests-0-alternatives-0-count"] == ["3"]
    assert composer.fields["name"] == ["big"]
    assert after.status_code == 200
    assert "Fits on 1 of 1 nodes" in words(previewed(composer))


def test_what_if_takes_the_claim_along(composer, client):
    page = previewed(composer).content.decode()
    found = re.search(r'form="whatif" name="manifest" value="([^"]*)"', page)

    assert 'id="whatif"' in page
    manifest = html.unescape(found[1])
    answer = client.post(
        reverse("claims:whatif", args=["demo"]), {"manifest": manifest}
    )
    assert "count: 6" in answer.content.decode()


def test_fragment_for_htmx_holds_the_same(composer):
    response = composer.press("", path="preview/", headers={"HX-Request": "true"})

    assert b"<html" not in response.content
    assert "3 left, 6 needed" in words(response)

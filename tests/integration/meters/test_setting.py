"""Where a cluster's Prometheus is: who may say it, and what is refused."""

from __future__ import annotations

import pytest

from inventory.models import Cluster, Meters
from tests.integration.api.conftest import call
from tests.integration.pages.test_pages import html

__all__ = ["call"]
PAGE = "/clusters/demo/prometheus/"
METADATA = "http://169.254.169.254/latest/meta-data/"


def address() -> str:
    return Cluster.objects.get(name="demo").prometheus_url


def test_an_admin_sets_it_on_the_page(held_cluster, prometheus, browse, dora):
    client = browse(dora)
    answer = client.post(PAGE, {"url": prometheus.url}, follow=True)

    assert "Prometheus answers" in answer.content.decode()
    assert address() == prometheus.url
    assert Meters.objects.get().readings
    assert f'value="{prometheus.url}"' in html(client, "/clusters/")

    client.post(PAGE, {"url": ""})
    assert address() == ""
    assert not Meters.objects.exists()


def test_nobody_else_does(held_cluster, prometheus, browse, ada, ben, eli):
    for person in (ada, ben, eli):
        assert browse(person).post(PAGE, {"url": prometheus.url}).status_code == 403
        assert "prometheus/" not in html(browse(person), "/clusters/")
    assert address() == ""


@pytest.mark.parametrize(
    ("url", "words"),
    [
        (METADATA, "169.254.169.254, which the portal does not speak to"),
        ("file:///etc/passwd", "is no address"),
        ("http://u:p@10.0.0.1/", "Leave user, password"),
        ("http://" + "x" * 600, "is no address"),
    ],
)
def test_what_may_not_be_asked_is_refused(url, words, held_cluster, browse, dora, call):
    page = browse(dora).post(PAGE, {"url": url}, follow=True).content.decode()

    assert words in page
    caller = call(dora)
    etag = caller.get("clusters/demo")["ETag"]
    body = {"prometheusUrl": url}
    answer = caller.send("PATCH", "clusters/demo", body, If_Match=etag)
    assert answer.status_code == (422 if len(url) <= 500 else 400)
    assert answer.json()["errors"][0]["pointer"] == "#/prometheusUrl"
    assert address() == ""


def test_one_that_does_not_answer_is_kept_and_said(
    held_cluster, settings, browse, dora
):
    settings.SLICEWISE_OUTWARD_ALLOW = ["127.0.0.1"]
    answer = browse(dora).post(PAGE, {"url": "http://127.0.0.1:9"}, follow=True)

    assert "does not answer" in answer.content.decode()
    assert "Prometheus cannot be reached" in answer.content.decode()
    assert address() == "http://127.0.0.1:9"


def test_a_name_that_leads_inward_later_is_not_asked(
    held_cluster, prometheus, settings
):
    from django.utils import timezone

    from inventory.services.metering import read, set_prometheus

    set_prometheus(held_cluster, prometheus.url)
    settings.SLICEWISE_OUTWARD_ALLOW = []

    assert not read(held_cluster, now=timezone.now())
    assert "does not speak to" in Meters.objects.get().problem
    assert prometheus.asked == []


def test_over_rest_with_the_right_use_alone(held_cluster, prometheus, call, dora, ada):
    body = {"prometheusUrl": prometheus.url}

    assert call(ada).send("PATCH", "clusters/demo", body).status_code == 403
    narrow = call(dora, "inventory:read").send("PATCH", "clusters/demo", body)
    assert narrow.status_code == 403
    caller = call(dora)
    assert caller.send("PATCH", "clusters/demo", body).status_code == 428
    etag = caller.get("clusters/demo")["ETag"]
    answer = caller.send("PATCH", "clusters/demo", body, If_Match=etag)
    assert answer.json()["prometheus"] is True
    assert answer["ETag"] != etag
    again = caller.send("PATCH", "clusters/demo", body, If_Match=etag)
    assert again.status_code == 412
    assert prometheus.url not in answer.content.decode()
    assert address() == prometheus.url

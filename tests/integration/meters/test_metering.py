"""What cards really use, from a Prometheus with recorded answers to pages and API."""

from __future__ import annotations

import csv
import datetime as dt
import io

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from inventory.models import Cluster, Meters
from inventory.queries.meters import meters_of
from inventory.services.metering import (
    PEAK,
    USED,
    UTILISATION,
    read,
    read_all,
    set_prometheus,
)
from inventory.tasks import read_meters
from tests.integration.api.conftest import call
from tests.integration.pages.test_pages import html

__all__ = ["call"]

L40S = ("gpu.nvidia.com", "gpu-l40s-a")
UUID = "GPU-9ec672fb-a1f1-5c82-b66e-a5f69ceabeaa"
GPUS = "/c/demo/gpus/?q=gpu-l40s-a"
MINUTES = dt.timedelta(minutes=1)


@pytest.fixture
def metered(held_cluster, prometheus):
    """Return a cluster whose Prometheus is set."""
    set_prometheus(held_cluster, prometheus.url + "/")
    return held_cluster


def used(cluster, now, card):
    reading = meters_of(cluster, now).of((*L40S, card))
    return reading and (reading.used, reading.utilisation)


def test_figures_reach_their_cards(metered, prometheus):
    now = timezone.now()

    assert read(metered, now=now)
    page = meters_of(metered, now)

    assert used(metered, now, "gpu-0") == (6 * 2**30, 0)
    assert used(metered, now, "gpu-1") == (40 * 2**30, 97)
    assert used(metered, now, "gpu-2") == (0, 0)
    assert used(metered, now, "gpu-3") is None  # NaN is nothing told
    instances = page.of(("gpu.nvidia.com", "gpu-h100-mig", "gpu-0"))
    assert (instances.used, instances.utilisation) == (3 * 2**30, None)
    assert len(page.readings) == 4
    assert page.problem == ""
    assert prometheus.asked == [USED, UTILISATION, PEAK]


def test_without_an_address_nothing_is_there(held_cluster, browse, ada, call):
    client = browse(ada)
    page = html(client, GPUS + "&view=table")

    assert "Used" not in page
    assert "DCGM" not in page
    table = b"".join(client.get("/c/demo/gpus.csv").streaming_content).decode()
    assert "used_bytes" not in table
    cards = call(ada).items("clusters/demo/cards")
    assert {card["measured"] for card in cards} == {None}
    assert call(ada).get("clusters/demo/occupancy").json()["idleCards"] is None


def test_page_says_used_beside_allocated(metered, browse, ada):
    read(metered, now=timezone.now())

    bars, table = html(browse(ada), GPUS), html(browse(ada), GPUS + "&view=table")

    for page in (bars, table):
        assert "used 6 GiB · 0 %" in page
        assert "used 0 GiB · 0 %" in page  # nobody holds gpu-2: a monitor alone
        assert "use unknown" in page  # gpu-3
        assert "40 GiB · 97" not in page  # maple's
    assert ">Used</th>" in table
    assert "not shown: of others" in table


def test_what_others_use_is_not_told(metered, browse, ada, cleo, eli, call):
    read(metered, now=timezone.now())
    path = "clusters/demo/cards?node=gpu-l40s-a"

    def measured(person):
        return [card["measured"] for card in call(person).items(path)]

    assert measured(ada)[0]["memoryUsed"] == 6 * 2**30
    assert measured(ada)[1] is None
    assert measured(cleo)[0] is None
    assert measured(cleo)[1]["utilisation"] == 97
    assert None not in measured(eli)
    assert measured(eli)[3] == {
        "memoryUsed": None,
        "utilisation": None,
        "idleSince": None,
    }
    page = html(browse(ada), "/c/demo/devices/gpu.nvidia.com/gpu-l40s-a/gpu-1/")
    assert "others hold a part of it" in page


def test_table_has_the_figures(metered, browse, ada):
    read(metered, now=timezone.now())
    answer = browse(ada).get("/c/demo/gpus.csv?q=gpu-l40s-a")
    text = b"".join(answer.streaming_content).decode()
    rows = {row["card"]: row for row in csv.DictReader(io.StringIO(text))}

    assert rows["gpu-0"]["used_bytes"] == str(6 * 2**30)
    assert rows["gpu-0"]["utilisation_percent"] == "0.0"
    assert rows["gpu-1"]["used_bytes"] == ""
    assert rows["gpu-2"]["used_bytes"] == "0"
    assert rows["gpu-3"]["used_bytes"] == ""


def read_for(cluster, minutes, *, since, step=5):
    for at in range(0, minutes + 1, step):
        read(cluster, now=since + at * MINUTES)
    return since + minutes * MINUTES


def test_idle_is_held_and_quiet_for_an_hour(metered, browse, ada, call):
    since = timezone.now() - 70 * MINUTES
    soon = read_for(metered, 55, since=since)
    assert meters_of(metered, soon).idle_since((*L40S, "gpu-0")) is None

    now = read_for(metered, 70, since=since)

    page = meters_of(metered, now)
    assert page.idle_since((*L40S, "gpu-0")) == since
    assert page.idle_since((*L40S, "gpu-1")) is None  # busy
    assert page.idle_since((*L40S, "gpu-2")) is None  # held by nobody
    assert "idle" in html(browse(ada), GPUS)
    overview = html(browse(ada), "/c/demo/")
    assert "gpu-l40s-a/gpu-0" in overview
    (idle,) = call(ada).get("clusters/demo/occupancy").json()["idleCards"]
    assert idle["holders"][0]["claim"] == "orchid-whole"


def test_idle_is_named_to_its_holder_alone(metered, browse, cleo, call):
    read_for(metered, 70, since=timezone.now() - 70 * MINUTES)

    assert call(cleo).get("clusters/demo/occupancy").json()["idleCards"] == []
    assert "gpu-l40s-a/gpu-0" not in html(browse(cleo), "/c/demo/")


def test_a_burst_ends_idleness(metered, prometheus):
    since = timezone.now() - 130 * MINUTES
    read_for(metered, 60, since=since)
    prometheus.change(PEAK, UUID, "12")
    read(metered, now=since + 65 * MINUTES)
    prometheus.change(PEAK, UUID, "0")

    now = read_for(metered, 55, since=since + 70 * MINUTES)

    assert meters_of(metered, now).idle_since((*L40S, "gpu-0")) is None


def test_another_holder_begins_anew(metered):
    from inventory.models import Allocation

    since = timezone.now() - 70 * MINUTES
    middle = read_for(metered, 60, since=since)
    Allocation.objects.filter(claim_name="orchid-whole").update(claim_name="another")
    Cluster.objects.filter(pk=metered.pk).update(revision=metered.revision + 1)
    metered.refresh_from_db()

    now = read_for(metered, 10, since=middle)

    assert meters_of(metered, now).idle_since((*L40S, "gpu-0")) is None


def test_a_gap_in_what_is_known_begins_anew(metered):
    since = timezone.now() - 120 * MINUTES
    read(metered, now=since)
    now = read_for(metered, 30, since=since + 90 * MINUTES)

    assert meters_of(metered, now).idle_since((*L40S, "gpu-0")) is None


def test_half_an_answer_says_so(metered, prometheus, browse, ada):
    now = timezone.now()
    prometheus.fail(USED, 422, '{"status":"error","error":"query timed out"}')

    assert read(metered, now=now)

    assert used(metered, now, "gpu-0") == (None, 0)
    page = html(browse(ada), GPUS)
    assert "Prometheus refuses the question: query timed out." in page
    assert "used unknown · 0 %" in page


def test_warnings_are_passed_on(metered, prometheus, browse, ada):
    status, body = prometheus.answers[USED]
    body = body.replace('"success",', '"success","warnings":["store gone"],', 1)
    prometheus.answers[USED] = status, body
    read(metered, now=timezone.now())

    assert "may be incomplete: store gone." in html(browse(ada), GPUS)


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (200, "<html>", "is no Prometheus (status 200)"),
        (404, "", "is no Prometheus (status 404)"),
        (200, "[]", "is no Prometheus"),
        (
            200,
            '{"status":"success","data":{"resultType":"scalar"}}',
            "is no Prometheus",
        ),
        (503, '{"status":"error","error":"too many"}', "too many"),
        (302, "", "is no Prometheus (status 302)"),
    ],
)
def test_what_is_no_prometheus_is_said(
    status, body, words, metered, prometheus, browse, ada
):
    for expression in (USED, UTILISATION, PEAK):
        prometheus.fail(expression, status, body)

    assert not read(metered, now=timezone.now())

    row = Meters.objects.get()
    assert words in row.problem
    assert row.read_at is None
    page = html(browse(ada), GPUS)
    assert words in page
    assert "used 0" not in page


def test_no_figures_of_dcgm_is_said(metered, prometheus):
    empty = '{"status":"success","data":{"resultType":"vector","result":[]}}'
    for expression in (USED, UTILISATION, PEAK):
        prometheus.fail(expression, 200, empty)
    read(metered, now=timezone.now())

    assert "knows no DCGM figures" in Meters.objects.get().problem


@pytest.mark.parametrize(
    "element",
    [{}, {"metric": []}, {"metric": {}, "value": []}, {"metric": {}, "value": ["x"]},
     {"metric": {"UUID": UUID}, "value": [1, "-5"]}, 7, None,
     {"metric": {"UUID": UUID}, "value": [1, "+Inf"]}],
)  # fmt: skip
def test_odd_elements_are_skipped(element, metered, prometheus):
    import json

    body = {"status": "success", "data": {"resultType": "vector", "result": [element]}}
    prometheus.fail(USED, 200, json.dumps(body))
    now = timezone.now()
    read(metered, now=now)

    assert used(metered, now, "gpu-0") == (None, 0)


def test_old_figures_are_not_shown(metered, browse, ada):
    read(metered, now=timezone.now() - 6 * MINUTES)

    page = html(browse(ada), GPUS)

    assert "too old to be shown" in page
    assert "used 6" not in page


def test_a_failure_keeps_what_was_told_for_a_while(metered, prometheus, browse, ada):
    now = timezone.now()
    read(metered, now=now - MINUTES)
    for expression in (USED, UTILISATION, PEAK):
        prometheus.fail(expression)
    read(metered, now=now)

    page = html(browse(ada), GPUS)
    assert "used 6 GiB" in page
    assert "is no Prometheus (status 503)" in page


def test_page_makes_one_more_query_whatever_is_told(metered, browse, ada):
    client = browse(ada)
    read(metered, now=timezone.now())
    html(client, GPUS)
    with CaptureQueriesContext(connection) as captured:
        html(client, GPUS)
    set_prometheus(metered, "")
    with CaptureQueriesContext(connection) as without:
        html(client, GPUS)

    assert len(captured) == len(without) + 1


def test_all_clusters_with_an_address_are_asked(metered, load_fleets):
    load_fleets("nvidia-t4-l40s", name="other")

    assert read_all(now=timezone.now()) == 1
    read_meters()
    assert Meters.objects.count() == 1


def test_an_address_that_was_taken_away_meanwhile_keeps_nothing(metered):
    Cluster.objects.filter(pk=metered.pk).update(prometheus_url="")

    read(metered, now=timezone.now())

    assert not Meters.objects.exists()

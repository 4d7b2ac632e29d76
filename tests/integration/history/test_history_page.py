"""The history page, its CSV, and the history on a card's page."""

from __future__ import annotations

import csv
import datetime as dt
import io
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from inventory.models import Cluster, HistorySample
from inventory.services.history import record

HX = {"HX-Request": "true"}


@pytest.fixture
def recorded(read_cluster):
    """Return a cluster with an hour of history."""
    moment = timezone.now()
    cluster = read_cluster(moment)
    for minutes in range(60, -1, -5):
        record(cluster, now=moment - dt.timedelta(minutes=minutes))
    return cluster


def html(client, address: str, **more) -> str:
    response = client.get(address, **more)
    assert response.status_code == 200
    return response.content.decode()


@pytest.mark.parametrize("by", ["cluster", "product", "class", "pool", "tenant"])
def test_history_draws_each_scope_with_its_table(by, recorded, browse, ada):
    page = html(browse(ada), f"/c/demo/history/?by={by}")

    assert page.count("<figure") == page.count("</table>") > 0
    assert re.search(r'<path class="other" d="M[\d.]+ 80V', page)
    assert '<rect class="gap"' in page  # most of the day was not recorded
    assert "unknown" in page
    assert not re.search(r"\sstyle=|\son\w+=", page)


def test_history_as_a_part(recorded, browse, ada):
    part = html(browse(ada), "/c/demo/history/", headers=HX)

    assert part.strip().startswith("<section")
    assert "<html" not in part


def test_history_names_no_other_tenant(recorded, browse, ada, cleo, eli):
    address = "/c/demo/history/?by=tenant&hours=720"
    own, other, all_ = (html(browse(who), address) for who in (ada, cleo, eli))

    assert ">orchid</h2>" in own
    assert "maple" not in own
    assert ">maple</h2>" in other
    assert ">orchid</h2>" not in other
    assert ">orchid</h2>" in all_
    assert ">maple</h2>" in all_


def rows(client, query: str) -> list[dict[str, str]]:
    response = client.get(f"/c/demo/history.csv?{query}")
    assert response["Content-Type"].startswith("text/csv")
    assert "attachment" in response["Content-Disposition"]
    text = b"".join(response.streaming_content).decode()
    return list(csv.DictReader(io.StringIO(text)))


def test_history_csv_holds_the_samples(recorded, browse, ada):
    found = rows(browse(ada), "by=pool&q=t4")
    spark = rows(browse(ada), "by=pool&q=spark")

    assert len(found) == 13
    assert found[0]["name"] == "gpu.nvidia.com/gpu-t4-a"
    assert found[0]["allocated_bytes"] == "0"
    assert found[0]["allocated_is_lower_bound"] == "false"
    assert spark[0]["allocated_bytes"] == ""  # unknown is not 0


def test_history_csv_names_no_other_tenant(recorded, browse, ada):
    assert {row["name"] for row in rows(browse(ada), "by=tenant")} == {"orchid"}


def test_history_csv_holds_no_formula(recorded, browse, ada):
    HistorySample.objects.create(
        cluster=recorded, scope="product", key="=1+1", at=timezone.now(), cards=1
    )

    assert "'=1+1" in {row["name"] for row in rows(browse(ada), "by=product")}


@pytest.mark.parametrize("by", ["cluster", "pool"])
def test_history_makes_constant_queries(by, recorded, browse, ada):
    client = browse(ada)
    client.get(f"/c/demo/history/?by={by}")
    with CaptureQueriesContext(connection) as captured:
        client.get(f"/c/demo/history/?by={by}")

    assert len(captured) == 8


@pytest.mark.parametrize(
    "query", ["by=nothing&hours=x", "hours=9999999999", "q=%25", "by=pool&q=zzz"]
)
def test_history_takes_any_address(query, recorded, browse, ada):
    html(browse(ada), f"/c/demo/history/?{query}")
    rows(browse(ada), query)


EMPTY = [
    "history/",
    "pools/gpu.nvidia.com/gpu-t4-a/",
    "devices/gpu.nvidia.com/gpu-t4-a/gpu-0/",
]


@pytest.mark.parametrize("path", EMPTY)
@pytest.mark.parametrize(
    ("kind", "heard", "words"),
    [
        (Cluster.Kind.OFFLINE, False, "An offline cluster is one snapshot"),
        (Cluster.Kind.LIVE, False, "The cluster was not read yet."),
        (Cluster.Kind.LIVE, True, "one every five minutes. It shows up here by itself"),
    ],
)
def test_history_of_nothing_says_what_it_waits_for(
    path, kind, heard, words, load_fleets, browse, ada
):
    cluster = load_fleets("nvidia-t4-l40s")
    cluster.kind, cluster.heard_at = kind, timezone.now() if heard else None
    cluster.save()

    page = html(browse(ada), f"/c/demo/{path}")

    assert "Nothing recorded yet" in page
    assert words in page


def test_an_empty_history_looks_again_soon(read_cluster, browse, ada):
    cluster = read_cluster(timezone.now())
    client = browse(ada)

    assert 'hx-trigger="every 10s"' in html(client, "/c/demo/history/")
    record(cluster, now=timezone.now())
    assert 'hx-trigger="every 60s"' in html(client, "/c/demo/history/")


def test_history_demands_signing_in(recorded, client):
    for page in ("history/", "history.csv"):
        assert client.get(f"/c/demo/{page}").status_code == 302


def test_card_page_shows_its_history(recorded, browse, ada):
    page = html(
        browse(ada), "/c/demo/devices/gpu.nvidia.com/gpu-h100-share-a/gpu-0/"
    ).split('id="history"')[1]

    assert page.count('<path class="other"') == 2
    assert "42 GiB" in page  # the shares of both tenants, as a sum
    assert "maple" not in page


def test_pool_list_leads_to_the_pools_history(recorded, browse, ada):
    page = html(browse(ada), "/c/demo/pools/")

    assert 'href="/c/demo/history/?by=pool&amp;q=gpu-t4-a"' in page

"""The GPUs page: by class, tenant and product, kept under a name, and as CSV."""

from __future__ import annotations

import csv
import io
import re
from html import unescape

import pytest

from inventory.gateways.engine_process import EngineUnavailable
from inventory.models import SavedView
from tests.integration.pages.test_pages import html

GPUS = "/c/demo/gpus/"


def headings(page: str) -> list[str]:
    return re.findall(r'<h2 id="node-\d+">([^<]*)</h2>', page)


def matched(page: str) -> int:
    return int(re.search(r"(\d+) cards?\b", page)[1])


def test_gpus_of_a_class(held_cluster, browse, ada):
    page = html(browse(ada), GPUS + "?class=mig.nvidia.com")

    assert headings(page) == ["gpu-h100-mig"]
    assert matched(page) == 2


def test_gpus_of_a_class_that_there_is_not(held_cluster, browse, ada):
    page = html(browse(ada), GPUS + "?class=nothing")

    assert "There is no class of the name “nothing”." in page
    assert "No card matches" in page


def test_gpus_of_a_class_without_the_engine(held_cluster, browse, ada, monkeypatch):
    def fail(*args, **kwargs):
        raise EngineUnavailable("The engine does not answer; try again in a moment.")

    monkeypatch.setattr("inventory.gateways.engine.Engine.evaluate", fail)

    assert "The engine does not answer" in html(
        browse(ada), GPUS + "?class=mig.nvidia.com"
    )


def test_gpus_of_a_tenant_within_rights(held_cluster, browse, ada, cleo, eli):
    own = html(browse(ada), GPUS + "?tenant=orchid")
    other = html(browse(ada), GPUS + "?tenant=maple")
    all_ = html(browse(eli), GPUS + "?tenant=maple")

    assert matched(own) == 4
    assert "<option>maple</option>" not in own
    assert "No card matches" in other
    assert "<option>orchid</option>" in all_
    assert matched(all_) == 6


def test_gpus_by_product(held_cluster, browse, ada):
    found = headings(html(browse(ada), GPUS + "?group=product"))

    products = [each.partition(" · ")[0] for each in found]
    assert products == sorted(products)
    assert "NVIDIA L40S · gpu-l40s-a" in found


def test_gpus_by_product_page_by_page(held_cluster, browse, ada, monkeypatch):
    monkeypatch.setattr("inventory.queries.fleet.CARDS_PER_PAGE", 4)
    client, address, seen = browse(ada), GPUS + "?group=product", []
    everything = html(client, address)
    for _page in range(20):
        page = html(client, address)
        seen += headings(page)
        following = re.search(r'id="page-following"[^>]*href="([^"]+)"', page)
        if not following:
            break
        address = GPUS + unescape(following[1])

    assert len(seen) == len(set(seen)) > 4
    assert set(headings(everything)) <= set(seen)


def rows(client, query: str = "") -> list[dict[str, str]]:
    response = client.get(f"/c/demo/gpus.csv?{query}")
    assert response.status_code == 200
    text = b"".join(response.streaming_content).decode()
    return list(csv.DictReader(io.StringIO(text)))


def test_csv_says_what_the_page_says(held_cluster, browse, ada):
    client = browse(ada)
    found = rows(client)
    cards = {(row["node"], row["card"]): row for row in found}

    assert len(found) == matched(html(client, GPUS))
    shared = cards["gpu-h100-share-a", "gpu-0"]
    assert shared["allocated_bytes"] == str(42 * 2**30)
    assert shared["held_by"] == "ai-serving/orchid-share"
    assert shared["other_holders"] == "1"
    assert shared["unavailable_bytes"] == "0"
    faulty = cards["gpu-h100-upd", "gpu-0"]
    assert faulty["unavailable_bytes"] == faulty["total_bytes"] != ""
    assert faulty["available_bytes"] == faulty["allocated_bytes"] == "0"
    table = html(client, f"{GPUS}?view=table&q=gpu-h100-upd")
    assert "79.6 GiB not to be had" in " ".join(table.split())
    spark = next(row for row in found if row["node"] == "spark-01")
    assert spark["unavailable_bytes"] == ""
    assert spark["total_bytes"] == spark["allocated_bytes"] == ""
    assert "maple" not in str(found)


def test_csv_of_a_filter_and_for_who_sees_everybody(held_cluster, browse, eli):
    (watched,) = [row for row in rows(browse(eli), "q=gpu-l40s-a") if row["watched_by"]]

    assert watched["watched_by"] == "maple-lab/maple-monitor"
    assert watched["held_by"] == ""
    assert watched["allocated_bytes"] == "0"


def keep(client, name: str, query: str):
    return client.post(GPUS + "views/", {"name": name, "query": query}, follow=True)


def test_view_is_kept_per_person(held_cluster, browse, ada, cleo):
    client = browse(ada)
    answer = keep(client, "big", "free=40&product=NVIDIA+L40S&from=zz&evil=1")
    page = answer.content.decode()

    view = SavedView.objects.get()
    assert view.query == "free=40&product=NVIDIA+L40S"
    assert answer.redirect_chain == [(f"{GPUS}?{view.query}", 302)]
    assert f'href="{GPUS}?free=40&amp;product=NVIDIA+L40S">big</a>' in page
    assert ">big</a>" not in html(browse(cleo), GPUS)

    keep(client, "big", "mine=on")
    assert SavedView.objects.get().query == "mine=on"


def test_view_holds_what_was_filtered_in_place(held_cluster, browse, ada):
    browse(ada).post(
        GPUS + "views/",
        {"name": "big", "query": "mine=on"},
        headers={"Referer": f"http://testserver{GPUS}?free=40&from=n"},
    )

    assert SavedView.objects.get().query == "free=40"


def test_view_is_removed_by_its_owner_alone(held_cluster, browse, ada, cleo):
    keep(browse(ada), "big", "free=40")
    address = f"{GPUS}views/{SavedView.objects.get().pk}/remove/"

    assert browse(cleo).post(address).status_code == 404
    assert SavedView.objects.exists()
    assert browse(ada).post(address).status_code == 302
    assert not SavedView.objects.exists()


@pytest.mark.parametrize("name", ["", "   ", "x" * 64])
def test_view_without_a_name_is_refused_in_words(name, held_cluster, browse, ada):
    page = keep(browse(ada), name, "mine=on").content.decode()

    assert "Give the view a name" in page
    assert not SavedView.objects.exists()


def test_view_number_is_limited(held_cluster, browse, ada, monkeypatch):
    monkeypatch.setattr("inventory.services.saved_views.MOST", 1)
    client = browse(ada)
    keep(client, "one", "")

    assert "remove one first" in keep(client, "two", "").content.decode()
    assert SavedView.objects.count() == 1


def test_view_is_kept_by_post_alone(held_cluster, browse, ada):
    assert browse(ada).get(GPUS + "views/").status_code == 405

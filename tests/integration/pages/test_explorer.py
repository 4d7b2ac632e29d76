"""The devices explorer: CEL and attributes as filters, and the way to the composer."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from inventory.gateways.engine_process import EngineUnavailable
from inventory.services.engines import engine_for
from tests.integration.pages.test_pages import html, queries

HOPPER = 'device.attributes["gpu.nvidia.com"].architecture == "Hopper"'
DEVICES = "/c/demo/devices/"


def rows(page: str) -> list[str]:
    return re.findall(r'<th scope="row"><a[^>]*>([^<]+)', page)


def link(page: str, name: str) -> str:
    return unescape(re.search(rf'id="{name}"[^>]*href="([^"]+)"', page)[1])


def test_cel_filters_and_counts(held_cluster, browse, ada):
    page = html(browse(ada), f"{DEVICES}?type=gpu&cel={quote(HOPPER)}")

    assert "devices match" in page
    assert re.search(r"\d+ fail</span>", page)  # devices without that attribute
    assert "no such key" in page
    assert set(re.findall(r"<td>(gpu-[^<]*)</td>", page)) >= {"gpu-h100-mig"}
    assert "gpu-t4-a" not in page


@pytest.mark.parametrize("expression", ["device.driver ==", "device.nothing", "1"])
def test_cel_that_cannot_be_used_says_where_and_filters_nothing(
    expression, held_cluster, browse, ada
):
    client = browse(ada)
    page = html(client, f"{DEVICES}?cel={quote(expression)}")

    assert "is not filtered by it" in page
    assert expression in unescape(page)
    assert rows(page) == rows(html(client, DEVICES))
    assert "use-as-selector" not in page


def test_cel_without_the_engine_says_so(held_cluster, browse, ada, monkeypatch):
    def fail(*args, **kwargs):
        raise EngineUnavailable("The engine does not answer; try again in a moment.")

    monkeypatch.setattr("inventory.gateways.engine.Engine.evaluate", fail)

    page = html(browse(ada), f"{DEVICES}?cel=true")

    assert "The engine does not answer" in page
    assert rows(page)


def test_attributes_are_those_really_seen(held_cluster, browse, ada):
    client = browse(ada)

    keys = html(client, DEVICES + "?attribute=")
    values = html(client, DEVICES + "?attribute=gpu.nvidia.com/profile")

    assert "<code>gpu.nvidia.com/profile</code>" in keys
    counts = dict(re.findall(r"<code>(\S+)</code></a> <small>string · (\d+)", values))
    assert counts["1g.10gb"] == "14"
    assert "9g.90gb" not in counts


def test_attribute_value_filters_and_becomes_a_selector(held_cluster, browse, ada):
    client = browse(ada)
    values = html(client, DEVICES + "?attribute=gpu.nvidia.com/profile")
    number = re.search(r'id="(value-\d+)"[^>]*><code>2g\.20gb</code>', values)[1]

    page = html(client, DEVICES + link(values, number))

    assert len(rows(page)) == 6
    assert all("2g20gb" in name for name in rows(page))
    selector = parse_qs(urlsplit(link(page, "use-as-selector")).query)["selector"][0]
    assert selector == 'device.attributes["gpu.nvidia.com"].profile == "2g.20gb"'
    found = engine_for(held_cluster).evaluate([
        'device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"]'
        '.type == "mig"', selector,
    ])  # fmt: skip
    assert found.devices.match == 6


def test_chip_is_removed(held_cluster, browse, ada):
    client = browse(ada)
    page = html(
        client,
        DEVICES + "?has=gpu.nvidia.com/profile%3D2g.20gb&has=gpu.nvidia.com/type%3Dmig",
    )

    one = html(client, DEVICES + link(page, "chip-1"))

    assert len(rows(page)) == 6
    assert len(rows(one)) == 50


def test_filter_is_kept_from_page_to_page(held_cluster, browse, ada, monkeypatch):
    monkeypatch.setattr("inventory.queries.devices.DEVICES_PER_PAGE", 4)
    client = browse(ada)
    first = html(client, DEVICES + "?has=gpu.nvidia.com/profile%3D2g.20gb")

    second = html(client, DEVICES + link(first, "page-following"))

    assert len(rows(first)) == 4
    assert len(rows(second)) == 2


def test_selector_arrives_in_the_composer(held_cluster, browse, ada):
    client = browse(ada)
    page = html(client, f"{DEVICES}?driver=gpu.nvidia.com&cel={quote(HOPPER)}")

    composer = unescape(html(client, link(page, "use-as-selector")))

    assert f'device.driver == "gpu.nvidia.com" &&\n{HOPPER}' in composer


@pytest.mark.parametrize(
    "query",
    ["has=x", "has=%3D", "has=a/b%3D%27%3B--", "attribute=%27", "attribute=a/b"],
)
def test_explorer_takes_any_address(query, held_cluster, browse, ada):
    html(browse(ada), f"{DEVICES}?{query}")


def test_explorer_makes_constant_queries(held_cluster, browse, ada):
    client = browse(ada)

    assert queries(client, DEVICES + "?cel=true") == 8
    assert queries(client, DEVICES + "?has=gpu.nvidia.com/type%3Dmig") == 8
    assert queries(client, DEVICES + "?attribute=gpu.nvidia.com/type") == 10

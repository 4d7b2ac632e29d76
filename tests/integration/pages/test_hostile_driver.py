"""A driver that publishes what it should not: shown as text, in every form, and bounded."""

from __future__ import annotations

import csv
import io
import os
import re
from html.parser import HTMLParser
from urllib.parse import urljoin

import orjson
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inventory.models import Device
from portal.accounts.tokens import make_token
from tests.integration.api.conftest import ALL

EXAMPLES = int(os.environ.get("FUZZ", "3"))
ATTACKS = [
    '"><script>alert("hx")</script>',
    "<img src=x onerror=hx()>",
    "javascript:hx()",
    "</textarea></pre></style>--><b onclick=hx()>",
    "{{ 7|add:7 }}{% debug %}",
    '=HYPERLINK("http://hx.example","x")',
    "@SUM(1)|cmd",
    "a\r\nSet-Cookie: hx=1",
    "hx\u202egnp.exe",
    "x: [y, *hx]\n--- !!python/object/apply:os.system ['hx']",
    '") || true || ("',
]
CLUSTER = "/c/demo/"


def hostile_slice(values, *, devices=3, attributes=8):
    """Return a slice whose every name is every other's, and whose values are attacks."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "a"},
        "spec": {
            "driver": "a",
            "nodeName": "a",
            "pool": {"name": "a", "generation": 1, "resourceSliceCount": 1},
            "sharedCounters": [{"name": "a", "counters": {"a": {"value": "1"}}}],
            "devices": [
                {
                    "name": "a" if not number else f"a-{number}",
                    "attributes": {
                        f"k{index}" if index else "a": {
                            "string": values[(number + index) % len(values)]
                        }
                        for index in range(attributes)
                    }
                    | {
                        "productName": {"string": values[number % len(values)]},
                        "uuid": {"string": values[-1]},
                    },
                    "capacity": {"memory": {"value": "80Gi"}},
                    "consumesCounters": [
                        {"counterSet": "a", "counters": {"a": {"value": "1"}}}
                    ],
                    "taints": [
                        {
                            "key": "a",
                            "value": values[number % len(values)],
                            "effect": "NoSchedule",
                        }
                    ],
                }
                for number in range(devices)
            ],
        },
    }


class Page(HTMLParser):
    """What a browser would make of a page: links, and what could run."""

    def __init__(self, text):
        super().__init__()
        self.links: list[str] = []
        self.runs: list[str] = []
        self._in_script = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self._in_script = tag == "script"
        for name, value in attrs:
            if name.startswith("on"):
                self.runs.append(f"{tag} {name}")
            if name in {"href", "src", "action"} and value:
                if re.match(r"\s*javascript:", value, re.IGNORECASE):
                    self.runs.append(value)
                if tag == "a":
                    self.links.append(value)

    def handle_endtag(self, _tag):
        self._in_script = False

    def handle_data(self, data):
        if self._in_script and "hx" in data:
            self.runs.append(data)


def test_this_look_finds_what_would_run():
    for text in (
        "<script>hx()</script>",
        "<img src=x onerror=hx()>",
        "<a href=' javascript:hx()'>x</a>",
    ):
        assert Page(text).runs, text


def crawl(get, first, most=40):
    """Follow links inside the cluster; yield each address and its response."""
    waiting, known = [*first], {*first}
    while waiting and most:
        address = waiting.pop(0)
        most -= 1
        response = get(address)
        yield address, response
        if "text/html" in response["Content-Type"]:
            for link in Page(response.content.decode()).links:
                target = urljoin(address, link).partition("#")[0]
                plain = target.partition("?")[0]
                if plain.startswith(CLUSTER) and plain not in known:
                    known.add(plain)
                    waiting.append(target)


def body_of(response) -> bytes:
    return b"".join(response) if response.streaming else response.content


def harmless(address, response):
    assert response.status_code in {200, 302, 404}, (address, response.status_code)
    assert "hx" not in response.cookies
    kind = response["Content-Type"]
    text = body_of(response).decode()
    if "text/html" in kind:
        assert Page(text).runs == [], address
        assert "14{" not in text, address
    if "text/csv" in kind:
        for row in csv.reader(io.StringIO(text)):
            risky = [cell for cell in row if re.match(r"[=+@\t\r]|-[^0-9]", cell)]
            assert risky == [], address


@given(values=st.lists(st.sampled_from(ATTACKS) | st.text(max_size=64), min_size=2))
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_whatever_it_publishes_is_text(load_fleets, browse, ada, values):
    _read_everything(load_fleets, browse(ada), [*values, *ATTACKS])


def test_each_attack_is_text(load_fleets, browse, dora):
    seen = _read_everything(load_fleets, browse(dora), ATTACKS, devices=12)
    assert len(seen) > 20
    assert any("/devices/" in address for address in seen)


def _read_everything(load_fleets, client, values, *, devices=3):
    clean = [value.replace("\0", "") or "x" for value in values]
    load_fleets("nvidia-t4-l40s", extra=[hostile_slice(clean, devices=devices)])
    assert Device.objects.filter(driver="a").count() == devices
    first = [CLUSTER, *(f"{CLUSTER}{name}/" for name in ("gpus", "devices", "pools"))]
    first += [f"{CLUSTER}devices/a/a/a/", f"{CLUSTER}classes/"]
    first += [f"{CLUSTER}gpus.csv", f"{CLUSTER}compose/"]
    seen = []
    for address, response in crawl(client.get, first):
        harmless(address, response)
        seen.append(address)
    return seen


def test_the_api_gives_it_back_as_it_was(load_fleets, client, ada, now):
    from django.utils import timezone

    load_fleets("nvidia-t4-l40s", extra=[hostile_slice(ATTACKS, devices=11)])
    token = make_token(user=ada, name="t", scopes=ALL, days=1, now=timezone.now())[1]
    headers = {"Authorization": f"Bearer {token}"}
    base = "/api/v1/clusters/demo/devices"
    lines = body_of(client.get(f"{base}.ndjson?driver=a", headers=headers)).splitlines()
    products = [orjson.loads(line)["attributes"]["a/productName"] for line in lines]
    assert sorted(str(each) for each in products if each) != []
    table = client.get(f"{base}.csv?driver=a", headers=headers)
    harmless(f"{base}.csv", table)


def test_ten_megabytes_and_an_attribute_bomb(load_fleets, browse, ada):
    """What the API server would not take, a file may hold; pages stay small."""
    bomb = hostile_slice(["x" * 4000], devices=128, attributes=20)
    assert len(orjson.dumps(bomb)) > 10_000_000
    load_fleets("nvidia-t4-l40s", extra=[bomb])
    client = browse(ada)
    for name in ("", "gpus/", "devices/", "pools/", "classes/", "devices/a/a/a/"):
        response = client.get(CLUSTER + name)
        assert response.status_code == 200
        assert len(response.content) < 1_000_000, (name, len(response.content))

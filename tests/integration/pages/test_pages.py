"""Pages: whole and as fragments, empty, half-broken, wrong input, pinned queries."""

from __future__ import annotations

import datetime as dt
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from inventory.gateways.engine_process import EngineUnavailable
from inventory.models import Cluster
from tests.conftest import DATA
from tests.integration.pages.conftest import FLEETS, claim

HX = {"HX-Request": "true"}
MIG = "/c/demo/devices/gpu.nvidia.com/gpu-h100-mig/gpu-0/"
PARTS = {
    "/c/demo/": "overview-live",
    "/c/demo/gpus/": "gpu-rows",
    "/c/demo/devices/": "device-rows",
    MIG: "device-live",
    "/c/demo/pools/": "pool-table",
    "/c/demo/classes/": "class-table",
    "/c/demo/domains/": "domain-rows",
    "/clusters/": "cluster-table",
}


def html(client, address: str, **more) -> str:
    response = client.get(address, **more)
    assert response.status_code == 200
    return response.content.decode()


@pytest.mark.parametrize("address", PARTS)
def test_page_has_its_live_part(address, held_cluster, browse, ada):
    client = browse(ada)

    page, part = html(client, address), html(client, address, headers=HX)

    assert "<html" in page
    assert "<html" not in part
    assert f'id="{PARTS[address]}"' in page
    assert part.strip().startswith(("<section", "<div"))
    assert f'id="{PARTS[address]}"' in part
    assert 'hx-trigger="sse:inventory' in part
    assert "revision" in part


@pytest.mark.parametrize("address", PARTS)
def test_page_keeps_to_the_content_security_policy(address, held_cluster, browse, ada):
    page = html(browse(ada), address)

    assert not re.search(r"\sstyle=|\son\w+=|<script(?![^>]* src=)", page)


@pytest.mark.parametrize("address", PARTS)
def test_page_repeats_no_id(address, held_cluster, browse, ada):
    ids = re.findall(r'\sid="([^"]+)"', html(browse(ada), address))

    assert len(ids) == len(set(ids))


def test_page_of_history_is_whole(held_cluster, browse, ada):
    headers = {**HX, "HX-History-Restore-Request": "true"}

    assert "<html" in html(browse(ada), "/c/demo/gpus/", headers=headers)


def queries(client, address: str) -> int:
    client.get(address)
    with CaptureQueriesContext(connection) as captured:
        html(client, address)
    return len(captured)


@pytest.mark.parametrize(
    ("address", "pinned"),
    [
        ("/c/{}/", 9),
        ("/c/{}/gpus/", 10),
        ("/c/{}/devices/", 8),
        ("/c/{}/pools/", 8),
        ("/clusters/", 5),
        ("/c/{}/domains/", 7),
        ("/c/{}/devices/gpu.nvidia.com/gpu-t4-a/gpu-0/", 10),
    ],
)
def test_page_makes_constant_queries(
    address, pinned, load_fleets, held_claims, browse, ada
):
    load_fleets("nvidia-t4-l40s", name="small")
    names = [path.stem for path in (DATA / "fleets").glob("*.yaml")]
    load_fleets(*names, name="large", extra=held_claims)
    client = browse(ada)

    found = [queries(client, address.format(name)) for name in ("small", "large")]

    assert found == [pinned, pinned]


def test_home_leads_to_the_first_cluster(held_cluster, browse, ada):
    assert browse(ada).get("/").url == "/c/demo/"


def test_home_without_a_cluster_says_how_to_add_one(db, browse, ada):
    client = browse(ada)

    page = html(client, client.get("/").url)

    assert "manage.py add_cluster" in page


def test_unknown_cluster_is_not_found(held_cluster, browse, ada):
    assert browse(ada).get("/c/nowhere/gpus/").status_code == 404


def test_unknown_device_is_not_found(held_cluster, browse, ada):
    client = browse(ada)

    assert client.get(MIG.replace("gpu-0", "gpu-77")).status_code == 404


def empty_cluster(**more) -> Cluster:
    return Cluster.objects.create(
        name="demo", kind="live", kubernetes_version="1.37.2", **more
    )


@pytest.mark.parametrize("address", [a for a in PARTS if a != MIG])
def test_page_of_an_empty_cluster(address, db, browse, ada):
    empty_cluster()

    page = html(browse(ada), address)

    assert "0 GiB" not in page
    assert "not read yet" in page


def test_overview_of_an_unreachable_cluster_says_so(held_cluster, browse, ada):
    failed = timezone.now()
    sentence = "The API server did not answer within 5 s."
    Cluster.objects.update(kind="live", failed_at=failed, failure=sentence)

    page = html(browse(ada), "/c/demo/")

    assert sentence in page
    assert "Allocated VRAM" in page


def test_overview_names_idle_claims_within_rights(
    load_fleets, held_claims, browse, ada, cleo, dora
):
    used, idle, foreign = held_claims[2], held_claims[0], held_claims[3]
    used["status"]["reservedFor"] = [{"resource": "pods", "name": "p", "uid": "u"}]
    pending = {**claim("ai-serving", "orchid-pending"), "status": {}}
    load_fleets(*FLEETS, extra=[used, idle, foreign, pending])

    own, other, all_ = (
        html(browse(each), "/c/demo/").split('id="attention"')[1]
        for each in (ada, cleo, dora)
    )

    links = [re.findall(r'id="unused-\d+" href="([^"]+)"', p) for p in (own, other)]
    orchid, maple = (
        "/c/demo/claims/ai-serving/orchid-notebook/",
        "/c/demo/claims/maple-lab/maple-share/",
    )
    assert links == [[orchid], [maple]]
    assert re.findall(r'id="unused-\d+" href="([^"]+)"', all_) == [orchid, maple]
    assert "maple" not in own


def test_overview_tells_how_fresh_other_clusters_are(load_fleets, now, browse, ada):
    load_fleets("nvidia-t4-l40s")
    assert "Other clusters" not in html(browse(ada), "/c/demo/")
    Cluster.objects.create(
        name="far", kind=Cluster.Kind.LIVE, heard_at=now - dt.timedelta(hours=3)
    )

    page = html(browse(ada), "/c/demo/")

    assert page.count("Other clusters") == 1
    assert re.search(
        r'href="/c/far/">far</a> <span class="badge" data-kind="(?:warn|bad)"', page
    )


def test_overview_marks_lower_bounds(held_cluster, browse, ada):
    page = html(browse(ada), "/c/demo/")

    assert re.search(r"of ≥ [\d,.]+ GiB", page)
    assert "1 of 2 slices are published" in page
    assert "gpu-8 of the pool gpu-l40s-a is held by a claim" in page
    assert "ai-training/orchid-ghost" in page


def test_clusters_show_forbidden_kinds_as_unknown(db, browse, ada):
    kinds = {
        "ResourceSlice": {"state": "watching"},
        "Node": {"state": "forbidden", "message": "nodes is forbidden"},
        "DeviceTaintRule": {"state": "not-served"},
    }
    empty_cluster(kinds=kinds)
    client = browse(ada)

    clusters, overview = html(client, "/clusters/"), html(client, "/c/demo/")

    assert "nodes is forbidden" in clusters
    assert "nodes is forbidden" in overview
    assert "the cluster does not serve it" in clusters
    assert "the cluster does not serve it" not in overview


def test_gpu_list_says_what_is_wrong_with_the_input(held_cluster, browse, ada):
    page = html(browse(ada), "/c/demo/gpus/?free=lots&q=t4")

    assert "“lots” is no amount of memory" in page
    assert "gpu-t4-a" in page
    assert "gpu-l40s-a" not in page


@pytest.mark.parametrize("free", ["nan", "inf", "-1", "1e400", "9" * 400])
def test_gpu_list_refuses_odd_numbers(free, held_cluster, browse, ada):
    assert "is no amount of memory" in html(browse(ada), f"/c/demo/gpus/?free={free}")


@pytest.mark.parametrize(
    "address",
    [
        "/c/demo/gpus/?from=zz&product=%3Cb%3E",
        "/c/demo/gpus/?from=zzzz",
        "/c/demo/devices/?after=a|b|c|d",
        "/c/demo/devices/?after=a|b|c|" + "9" * 60,
        "/c/demo/devices/?type=%27%3B--&driver=%25s",
        "/c/demo/pools/?page=-4",
        "/c/demo/pools/?page=99999999",
        "/c/demo/pools/?q=%25",
    ],
)
def test_pages_take_any_address(address, held_cluster, browse, ada):
    html(browse(ada), address)


@pytest.mark.parametrize(
    "address",
    [
        "/c/demo/devices/?q=%00",
        "/c/demo/devices/?after=%00|b|c|1",
        "/c/demo/gpus/?from=%00zz",
        "/c/%00/",
        MIG.replace("gpu-0", "gpu%00"),
    ],
)
def test_address_with_a_nul_is_refused(address, held_cluster, browse, ada):
    assert browse(ada).get(address).status_code == 400


def test_gpu_list_draws_slices(held_cluster, browse, ada):
    page = html(browse(ada), "/c/demo/gpus/?q=gpu-h100-mig")

    assert "8 memory slices: 1 yours, 1 in use, 6 free" in page
    assert "2 of 7 compute slices in use" in page
    assert "4g.40gb fits" in page or "3g.40gb fits" in page


def test_gpu_list_as_table_says_the_same(held_cluster, browse, ada):
    page = html(browse(ada), "/c/demo/gpus/?q=gpu-h100-mig&view=table")

    assert "8 memory slices: 1 yours, 1 in use, 6 free" in page
    assert '<svg class="bar"' not in page


def test_gpu_list_never_shows_unknown_memory_as_zero(held_cluster, browse, ada):
    page = html(browse(ada), "/c/demo/gpus/?q=spark")

    assert "memory unknown" in page
    assert "0 /" not in page


def test_device_list_pages_by_key(load_fleets, browse, ada, monkeypatch):
    monkeypatch.setattr("inventory.queries.devices.DEVICES_PER_PAGE", 20)
    load_fleets("nvidia-h100-dynamic-mig-k8s135", "nvidia-h100-full-8gpu")
    client, address, seen = browse(ada), "/c/demo/devices/", []

    for _page in range(10):
        page = html(client, address)
        seen += re.findall(r'href="(/c/demo/devices/gpu[^"]+)"', page)
        following = re.search(r'id="page-following"[^>]*href="([^"]+)"', page)
        if not following:
            break
        address = "/c/demo/devices/" + following[1].replace("&amp;", "&")

    assert len(seen) == len(set(seen)) == 60


@pytest.mark.parametrize(
    ("query", "count"),
    [("?type=mig", 50), ("?type=gpu&pool=gpu-h100-mig", 2), ("?driver=dra.net", 3),
     ("?node=gpu-t4-a", 1), ("?q=T4", 1)],
)  # fmt: skip
def test_device_list_filters(query, count, held_cluster, browse, ada):
    page = html(browse(ada), "/c/demo/devices/" + query)

    assert len(re.findall(r'<th scope="row">', page)) == count


def test_device_detail_tells_types_policy_and_counters(held_cluster, browse, ada):
    client = browse(ada)

    page = html(client, MIG)
    shared = html(client, "/c/demo/devices/gpu.nvidia.com/gpu-h100-share-a/gpu-0/")

    assert re.search(r"driverVersion</code></th><td>version</td>", page)
    assert "memory-slice-7" in page
    assert page.count("Compute slices</th>") == 1
    assert "Compute slices" not in shared
    assert "gpu-0-counter-set" in page
    assert "in steps of" in shared
    assert "ai-serving/orchid-share" in shared
    assert "in use by others" in shared


def test_device_detail_of_a_name_published_twice(held_cluster, browse, ada):
    page = html(browse(ada), "/c/demo/devices/gpu.nvidia.com/gpu-h100-dup/gpu-0/")

    assert "publish this name 2 times" in page


def test_class_list_counts_matches_and_what_is_free(held_cluster, browse, ada):
    page = html(browse(ada), "/c/demo/classes/")

    row = re.search(r">mig\.nvidia\.com</th>(.*?)</tr>", page, re.DOTALL)[1]
    numbers = re.findall(r'<td class="n">≥ (\d+)</td>', row)
    assert numbers[0] == "50"
    assert 0 < int(numbers[1]) < 50


def test_class_list_names_the_clash(held_cluster, browse, ada):
    assert "also mapped by hami-core-gpu.project-hami.io" in html(
        browse(ada), "/c/demo/classes/"
    )


def test_class_list_without_the_engine_says_unknown(
    held_cluster, browse, ada, monkeypatch
):
    def fail(*args, **kwargs):
        raise EngineUnavailable("The engine does not answer; try again in a moment.")

    monkeypatch.setattr("inventory.gateways.engine.Engine.evaluate", fail)

    page = html(browse(ada), "/c/demo/classes/")

    assert "The engine does not answer" in page
    assert "unknown" in page
    assert '<td class="n">0</td>' not in page


def cell(page: str, header: str) -> list[str]:
    """Return the texts of the row that a header begins."""
    row = re.search(rf'<th scope="row">\s*{header}(.*?)</tr>', page, re.DOTALL)[1]
    cells = re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)
    return [" ".join(re.sub(r"<[^>]*>", " ", each).split()) for each in cells]


def test_overview_tells_fragmentation_in_words(held_cluster, browse, ada):
    page = html(browse(ada), "/c/demo/")

    assert (
        "Fewer than half of the cards" in page or "At least half of the cards" in page
    )
    assert cell(page, "1g.10gb")[1] == "2"
    assert "are scaled by the card" in page


def test_overview_tells_how_cards_held_whole_are_used(
    load_fleets, held_claims, browse, ada
):
    whole = next(c for c in held_claims if c["metadata"]["name"] == "orchid-whole")
    whole["spec"]["devices"]["requests"] = [
        {
            "name": "orchid-request",
            "exactly": {"capacity": {"requests": {"memory": "12Gi"}}},
        }
    ]
    load_fleets("nvidia-t4-l40s", extra=[whole])

    page = html(browse(ada), "/c/demo/")

    assert "12 GiB needed of 45.0 GiB held: 33.0 GiB stranded" in page
    assert "26.7 %" in page


def test_overview_draws_and_counts_what_is_yours(held_cluster, browse, ada, cleo, dora):
    own, admin = (html(browse(who), "/c/demo/") for who in (ada, dora))

    assert '<rect class="mine"' in own.split('id="products"')[0].split("tiles")[1]
    assert cell(own, "orchid")[0] == "4"
    assert "maple" not in own
    assert cell(admin, "maple")[0] == "5"
    assert '<rect class="mine"' not in admin.split("</header>", 1)[1]


def test_classes_and_pools_tell_the_largest_piece(held_cluster, browse, ada):
    client = browse(ada)

    classes, pools = html(client, "/c/demo/classes/"), html(client, "/c/demo/pools/")

    assert "GiB 7g.80gb on 1 card" in cell(classes, "mig.nvidia.com")[2]
    assert cell(pools, "<a[^>]*>gpu-h100-share-a")[5].startswith("79")
    assert cell(pools, "<a[^>]*>spark-01")[5] == "none 3 · full"


L40S = "/c/demo/devices/gpu.nvidia.com/gpu-l40s-a/gpu-2/"


def test_card_watched_by_a_monitor_is_not_in_use(held_cluster, browse, ada, eli):
    own, all_ = (html(browse(who), L40S) for who in (ada, eli))
    gpus = html(browse(ada), "/c/demo/gpus/?q=gpu-l40s-a")

    assert "watched by a monitor" in own
    assert "Nothing of this card is in use" in own
    assert "in use by others" not in own
    assert "watched by <a" in " ".join(all_.split())
    assert 'href="/c/demo/claims/maple-lab/maple-monitor/"' in all_
    assert gpus.count("in use by others") == 1
    assert gpus.count("watched by a monitor") == 1


def test_card_page_tells_parts_pods_and_since(load_fleets, held_claims, browse, ada):
    share = next(c for c in held_claims if c["metadata"]["name"] == "orchid-share")
    moment = timezone.now() - dt.timedelta(hours=3)
    share["status"]["allocation"]["allocationTimestamp"] = moment.isoformat()
    share["status"]["reservedFor"] = [
        {"resource": "pods", "name": "serve-0", "uid": "x"}
    ]
    load_fleets("nvidia-h100-consumable-shares", extra=held_claims)

    page = html(browse(ada), "/c/demo/devices/gpu.nvidia.com/gpu-h100-share-a/gpu-0/")

    parts = page.split('id="held"')[1].split("</section>")[0]
    assert "serve-0" in parts
    assert moment.strftime("%Y-%m-%dT%H:%M:%S") in parts
    assert "3 h ago" in parts
    assert "in use by others" in parts
    assert 'href="/c/demo/claims/ai-serving/orchid-share/"' in parts


def test_card_page_tells_what_still_fits(held_cluster, browse, ada):
    fits = html(browse(ada), MIG).split('id="fits"')[1].split("</section>")[0]

    assert "<code>3g.40gb</code>" in fits
    assert "<code>7g.80gb</code>" not in fits

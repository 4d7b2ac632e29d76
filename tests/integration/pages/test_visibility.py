"""Nobody reads a name of another tenant, on any page, whatever they filter by."""

from __future__ import annotations

import pytest
from django.test import Client

from inventory.models import Device, Pool
from inventory.urls import urlpatterns

HX = {"HX-Request": "true"}
FOREIGN = {
    "ada": ["maple-lab", "maple-"],
    "cleo": ["ai-serving", "ai-training", "orchid-"],
}


def addresses(cluster) -> list[str]:
    """Return every page of the inventory, each device's page included."""
    base = f"/c/{cluster.name}/"
    lists = [
        "",
        "gpus/",
        "gpus/?view=table",
        "devices/",
        "pools/",
        "classes/",
        "domains/",
    ]
    lists += [f"history/?by={by}" for by in ("cluster", "tenant", "pool")]
    filters = [
        "gpus/?mine=on",
        "gpus/?tainted=on",
        "gpus/?free=20",
        "gpus/?tenant=maple",
        "gpus/?group=product",
        "gpus/?class=mig.nvidia.com",
        "devices/?type=mig",
    ]
    devices = [
        f"devices/{device.driver}/{device.pool}/{device.name}/"
        for device in Device.objects.filter(cluster=cluster)
    ]
    pools = [
        f"pools/{pool.driver}/{pool.name}/"
        for pool in Pool.objects.filter(cluster=cluster)
    ]
    pages = [*lists, *filters, *devices, *pools]
    return [base + page for page in pages] + ["/clusters/"]


def text_of(client: Client, address: str) -> str:
    """Return a page without the name of who is signed in, which names their tenant."""
    response = client.get(address)
    assert response.status_code == 200, address
    page = response.content.decode()
    return page.replace("ada@orchid", "").replace("cleo@maple", "")


def test_addresses_cover_every_page():
    names = {pattern.name for pattern in urlpatterns}

    assert names == {
        *("home", "overview", "gpu-list", "device-list", "device-detail"),
        *("pool-list", "class-list", "cluster-list", "history", "history-csv"),
        *("gpu-csv", "view-save", "view-remove", "domain-list", "pool-detail"),
        "prometheus-set",
    }


@pytest.mark.parametrize("name", ["ada", "cleo"])
def test_pages_name_no_other_tenant(name, held_cluster, browse, request):
    client = browse(request.getfixturevalue(name))

    for address in addresses(held_cluster):
        page = text_of(client, address)
        for foreign in FOREIGN[name]:
            assert foreign not in page, (address, foreign)


def test_pages_name_own_claims(held_cluster, browse, ada):
    client = browse(ada)

    page = text_of(client, "/c/demo/gpus/")

    for own in ["orchid-notebook", "orchid-share", "orchid-whole", "orchid-gb10"]:
        assert f"/{own}" in page
    assert "in use by others" in page


@pytest.mark.parametrize("name", ["ben", "dora", "eli"])
def test_pages_name_everybody_to_those_who_may_see(name, held_cluster, browse, request):
    client = browse(request.getfixturevalue(name))

    page = text_of(client, "/c/demo/gpus/")

    assert "maple-lab/maple-share" in page
    assert "ai-serving/orchid-share" in page


@pytest.mark.parametrize("text", ["maple-share", "maple-lab", "MAPLE", "maple-req"])
def test_gpu_list_filter_finds_no_foreign_name(text, held_cluster, browse, ada):
    page = browse(ada).get("/c/demo/gpus/", {"q": text}, headers=HX).content.decode()

    assert "No card matches" in page


def test_gpu_list_filter_finds_own_name(held_cluster, browse, ada):
    page = browse(ada).get("/c/demo/gpus/", {"q": "orchid-share"}).content.decode()

    assert "gpu-h100-share-a" in page
    assert "gpu-l40s-a" not in page


def test_pages_demand_signing_in(held_cluster, client):
    for address in addresses(held_cluster):
        assert client.get(address).status_code == 302, address

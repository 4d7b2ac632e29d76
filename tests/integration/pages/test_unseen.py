"""A kind that may not be listed is unknown on every page, never none and never free."""

from __future__ import annotations

import re

import pytest

from inventory.domain.kinds import WATCHED
from inventory.models import Cluster
from tests.integration.pages.conftest import FLEETS

CLAIMS = "Claims are not seen (the portal&#x27;s account may not list it)"
SLICES = "ResourceSlices are not seen (being read)"


def entries(**other):
    """Return every kind as being watched, but for those that are given otherwise."""
    seen = {"state": "watching", "resourceVersion": "7"}
    return {kind.kind: seen for kind in WATCHED} | other


FORBIDDEN = {"state": "forbidden", "message": "is forbidden", "resourceVersion": ""}
LISTING = {"state": "listing", "message": "", "resourceVersion": ""}


@pytest.fixture
def partly_seen(load_fleets):
    """Return a function that makes a cluster of which these kinds are not seen."""

    def do(*fleets, **other):
        if fleets:
            load_fleets(*fleets, name="demo")
        Cluster.objects.update_or_create(
            name="demo",
            defaults={
                "kind": "live",
                "kubernetes_version": "1.36.2",
                "kinds": entries(**other),
            },
        )

    return do


def html(client, address: str, **more) -> str:
    response = client.get(address, **more)
    assert response.status_code == 200
    return response.content.decode()


PAGES = (
    "",
    "gpus/",
    "devices/",
    "pools/",
    "classes/",
    "claims/",
    "templates/",
    "domains/",
    "compose/",
    "whatif/",
    "import/",
)


@pytest.mark.parametrize("page", PAGES)
def test_every_page_says_that_claims_are_not_seen(page, partly_seen, browse, ada):
    partly_seen(*FLEETS, ResourceClaim=FORBIDDEN)

    page = html(browse(ada), f"/c/demo/{page}")

    assert CLAIMS in page
    assert "what is in use is unknown" in page
    assert "ResourceSlices are not seen" not in page


@pytest.mark.parametrize("page", PAGES)
def test_no_page_says_so_where_every_kind_is_seen(page, partly_seen, browse, ada):
    partly_seen(*FLEETS)

    assert "not seen" not in html(browse(ada), f"/c/demo/{page}")


def test_the_warning_comes_and_goes_with_the_badge(partly_seen, browse, ada):
    partly_seen(ResourceClaim=FORBIDDEN)
    client = browse(ada)

    assert CLAIMS in html(client, "/c/demo/freshness")
    partly_seen()
    after = html(client, "/c/demo/freshness")

    assert 'id="unseen"' in after
    assert "not seen" not in after


@pytest.mark.parametrize("query", ["", "?q=x"])
@pytest.mark.parametrize("page", ["gpus/", "devices/", "pools/", ""])
def test_no_slice_that_is_seen_is_not_none(page, query, partly_seen, browse, ada):
    partly_seen(ResourceSlice=LISTING)

    page = html(browse(ada), f"/c/demo/{page}{query}")

    assert SLICES in page
    assert "<b>ResourceSlices are not seen</b>" in page
    assert "Whether there are any is unknown" in page
    for none in ("is published</b>", "matches</b>"):
        assert none not in page


@pytest.mark.parametrize(
    ("page", "kind", "title"),
    [
        ("classes/", "DeviceClass", "DeviceClasses are not seen"),
        ("claims/", "ResourceClaim", "Claims are not seen"),
        ("templates/", "ResourceClaimTemplate", "Templates are not seen"),
    ],
)
def test_an_empty_list_of_what_is_not_seen_says_so(
    page, kind, title, partly_seen, browse, ada
):
    partly_seen(**{kind: FORBIDDEN})

    assert f"<b>{title}</b>" in html(browse(ada), f"/c/demo/{page}")


@pytest.mark.parametrize(
    ("entry", "blind"),
    [
        (FORBIDDEN, True),
        ({**FORBIDDEN, "resourceVersion": "7"}, True),
        (LISTING, True),
        ({**LISTING, "resourceVersion": "7"}, False),
        ({"state": "failing", "resourceVersion": ""}, True),
        ({"state": "failing", "resourceVersion": "7"}, False),
        ({"state": "held", "resourceVersion": "7"}, False),
        ({"state": "not-served", "resourceVersion": ""}, False),
        ({}, True),
    ],
)
def test_what_was_listed_once_is_old_and_not_unknown(entry, blind):
    kinds = entries(ResourceClaim=entry)

    assert Cluster(kind="live", kinds=kinds).is_blind_to("ResourceClaim") is blind
    assert not Cluster(kind="offline", kinds=kinds).is_blind_to("ResourceClaim")


def test_nothing_of_a_class_is_free_as_far_as_is_known(partly_seen, browse, ada):
    partly_seen(*FLEETS, ResourceClaim=FORBIDDEN)
    client = browse(ada)

    page = html(client, "/c/demo/classes/")
    free = html(client, "/c/demo/compose/availability/")

    row = re.search(r">mig\.nvidia\.com</th>(.*?)</tr>", page, re.DOTALL)[1]
    assert re.findall(r'<td class="n">([^<]*)</td>', row) == ["≥ 50", "unknown"]
    assert CLAIMS in row
    assert CLAIMS in free
    assert not re.search(r"\d free", free)

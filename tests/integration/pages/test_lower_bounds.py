"""Where a pool lacks slices, each count of cards and devices is a lower bound."""

from __future__ import annotations

import html as entities
import re

import pytest

INCOMPLETE = "pool-incomplete-generation"
WHOLE = "nvidia-t4-l40s"
POOL = "/c/demo/pools/gpu.nvidia.com/"


@pytest.fixture
def words(browse, ada):
    """Return a function that gets a page as text, its blanks made one."""

    def do(address: str, **more) -> str:
        response = browse(ada).get(address, **more)
        assert response.status_code == 200
        text = re.sub(r"<[^>]+>", " ", response.content.decode())
        return re.sub(r"\s+", " ", entities.unescape(text))

    return do


COUNTS = [
    ("/c/demo/devices/", r"(≥ )?\d+ devices? in the cluster"),
    ("/c/demo/devices/?cel=true", r"(≥ )?\d+ devices? match"),
    ("/c/demo/gpus/", r"(≥ )?\d+ cards? ·"),
    ("/c/demo/gpus/?q=gpu", r"filtered from (≥ )?\d+"),
    ("/c/demo/", r"(≥ )?\d+ in use"),
    ("/c/demo/", r"in use, (≥ )?\d+ free"),
    ("/c/demo/", r"NVIDIA L40S (≥ )?\d+ "),
    ("/c/demo/", r"NVIDIA L40S (?:≥ )?\d+ (?:\d+ unavailable )?(≥ )?\d+ "),
    ("/c/demo/classes/", r"gpu.nvidia.com (≥ )?\d+ "),
    ("/c/demo/classes/", r"gpu.nvidia.com (?:≥ )?\d+ (≥ )?\d+ "),
    ("/c/demo/compose/availability/", r"(≥ )?\d+ of (?:≥ )?\d+ free"),
    ("/c/demo/compose/availability/", r"of (≥ )?\d+ free"),
]


@pytest.mark.parametrize("more", [[], [INCOMPLETE]])
@pytest.mark.parametrize(("address", "pattern"), COUNTS)
def test_a_count_says_whether_it_is_all(address, pattern, more, load_fleets, words):
    load_fleets(WHOLE, *more, name="demo")

    page = words(address)
    found = re.search(pattern, page)

    assert found, page
    assert (found[1] is not None) is bool(more), found[0]


def test_a_pool_counts_its_own(load_fleets, words):
    load_fleets(WHOLE, INCOMPLETE, name="demo")

    assert re.search(r"≥ \d+ devices?", words(f"{POOL}gpu-h100-upd/"))
    assert not re.search(r"≥ \d+ devices?", words(f"{POOL}gpu-l40s-a/"))

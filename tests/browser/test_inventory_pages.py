"""Every page of the inventory and of claims, at every width, scheme and language.

One walk a language: widths and schemes change under the page that is open.
"""

from __future__ import annotations

import itertools

import pytest
from playwright.sync_api import Page, expect

DEVICES = "/c/demo/devices/"
PAGES = [
    "/c/demo/",
    "/c/demo/gpus/",
    "/c/demo/gpus/?view=table&group=product",
    f"{DEVICES}?attribute=gpu.nvidia.com/type",
    f"{DEVICES}gpu.nvidia.com/gpu-h100-mig/gpu-0-mig-1g10gb-19-0/",
    f"{DEVICES}composable.example.com/rack-7/gpu-0/",
    "/c/demo/pools/",
    "/c/demo/pools/gpu.nvidia.com/gpu-h100-mig/",
    "/c/demo/classes/",
    "/c/demo/domains/",
    "/c/demo/history/?by=product",
    "/clusters/",
    "/c/demo/claims/",
    "/c/demo/claims/ai-serving/attached/",
    "/c/demo/claims/ai-serving/attaching/",
]
WIDTHS = (1440, 768, 360)
OPEN = "document.querySelectorAll('main details').forEach((e) => { e.open = true; })"
# Which rules hold where depends on width and scheme, seldom on both at once.
LOOKED_AT = {
    "en": {("light", 360), ("dark", 1440)},
    "ko": {("light", 1440), ("dark", 360)},
}


def overflows(page: Page) -> bool:
    return page.evaluate(
        "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    )


@pytest.mark.parametrize("language", LOOKED_AT)
def test_inventory_pages_fit_and_are_accessible(page: Page, sign_in, axe, language):
    problems: list[str] = []
    page.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
    page.goto("/sign-in/")
    if language == "ko":
        page.get_by_role("button", name="한국어").click()
        expect(page.locator("html")).to_have_attribute("lang", "ko")
    sign_in(page, "dora@platform")

    for path in PAGES:
        answer = page.goto(path)
        assert answer.status == 200, path
        page.evaluate(OPEN)
        for scheme, width in itertools.product(("light", "dark"), WIDTHS):
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 900})
            assert not overflows(page), (path, scheme, width)
            if (scheme, width) in LOOKED_AT[language]:
                axe(page)
    assert problems == []


def test_inventory_pages_work_without_script(no_script, demo):
    page = no_script.new_page()
    page.goto("/sign-in/")
    page.fill("[name=username]", "ada@orchid")
    page.fill("[name=password]", demo.passwords["ada@orchid"])
    page.click("main button")
    page.wait_for_url("**/c/**")

    page.goto("/c/demo/gpus/")
    page.locator("[name=product]").select_option("NVIDIA L40S")
    page.locator("[name=driver]").select_option("gpu.nvidia.com")
    page.get_by_label("Free in one piece, GiB").fill("10")
    page.get_by_role("button", name="Filter").click()
    page.wait_for_url("**product=NVIDIA+L40S**")
    shown = page.locator("#gpu-rows li.gpu").count()
    assert shown > 0
    page.get_by_text("Kept views").click()
    page.get_by_label("Keep this filter as").fill("roomy")
    with page.expect_navigation():
        page.get_by_role("button", name="Keep", exact=True).click()
    page.goto("/c/demo/gpus/")
    page.get_by_role("link", name="roomy").click()
    page.wait_for_url("**product=NVIDIA+L40S**")
    assert page.locator("#gpu-rows li.gpu").count() == shown
    page.get_by_role("button", name="Remove the view roomy").click()
    expect(page.get_by_role("link", name="roomy")).to_have_count(0)

    page.goto("/c/demo/pools/?q=gpu-h100-mig")
    page.get_by_role("link", name="gpu-h100-mig", exact=True).click()
    expect(page.get_by_role("heading", name="Slices")).to_be_visible()
    page.goto("/c/demo/devices/?attribute=gpu.nvidia.com/type")
    page.get_by_role("link", name="mig", exact=True).click()
    page.get_by_role("link", name="Use this as a selector").click()
    page.wait_for_url("**selector=**")

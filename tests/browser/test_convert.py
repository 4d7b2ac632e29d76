"""Workloads of the demo become claims, and a waiting claim says for what, by browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

CONVERT = "/c/demo/adoption/convert/?namespace=ai-serving"


@pytest.mark.parametrize("width", [360, 1280])
def test_live_workloads_are_converted(page: Page, sign_in, axe, width):
    page.set_viewport_size({"width": width, "height": 800})
    sign_in(page)
    page.goto(CONVERT)
    axe(page)
    for box in page.locator("input[name=workload]").all():
        box.check()
    page.click("#convert-live")
    expect(page.locator("#summary")).to_contain_text("2 templates were made.")
    expect(page.locator(".lost")).to_contain_text("nvidia.com/gpu.machine=DGX-H100")
    axe(page)
    assert page.evaluate(
        "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )
    with page.expect_download() as download:
        page.get_by_role("button", name="Download for kustomize").click()
    assert download.value.suggested_filename == "converted-kustomize.zip"


def test_a_waiting_claim_says_for_what(page: Page, sign_in, axe):
    sign_in(page)
    page.goto("/c/demo/claims/?q=pretrain-1")
    page.locator("main table a", has_text="pretrain-1").click()
    waiting = page.locator("#waiting")
    expect(waiting).to_contain_text("ai-training/pretrain-0")
    expect(waiting).to_contain_text("ends no pod to free the devices")
    axe(page)
    waiting.get_by_label("Priority").select_option("production")
    waiting.get_by_role("button", name="Write it with these").click()
    page.wait_for_url("**/waiting/?*")
    expect(page.locator("#kueue-yaml")).to_contain_text(
        "kueue.x-k8s.io/priority-class: production"
    )
    axe(page)

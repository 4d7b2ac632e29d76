"""The main job on Kubernetes itself, from the composer to shares on two cards, and back.

There is no kubelet: the pod is bound and stays Pending, which the pages must say.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.browser.conftest import FLAGS, Demo, chromium, running
from tests.browser.test_main_job import card_rows, compose_example

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

# Several programs share two cores with a control plane.
PATIENCE = 60_000


@pytest.fixture
def demo() -> Iterator[Demo]:
    """Start the demo on a real control plane with a state of its own."""
    with running("--cluster", "real", seconds=300) as started:
        yield started


@pytest.fixture
def page(demo: Demo) -> Iterator[Page]:
    """Open a page of a Chromium of this test's own, signed in as ada."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium(),
            args=FLAGS,
        )
        context = browser.new_context(base_url=demo.address, locale="en-GB")
        context.set_default_timeout(PATIENCE)
        made = context.new_page()
        made.goto("/sign-in/")
        made.fill("[name=username]", "ada@orchid")
        made.fill("[name=password]", demo.passwords["ada@orchid"])
        made.click("main button")
        made.wait_for_url("**/c/demo/")
        yield made
        browser.close()


def test_the_main_job_on_a_real_control_plane(page):
    name = f"job-{uuid.uuid4().hex[:8]}"
    gpus = page.context.new_page()
    gpus.goto("/c/demo/gpus/")
    compose_example(page, name)

    preview = page.locator("#preview")
    expect(preview).to_contain_text("Fits on 2 of 13 nodes", timeout=PATIENCE)
    expect(preview).to_contain_text("gpu-h100-share-a")

    main = page.locator("main")
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url("**/requests/*/")
    expect(main).to_contain_text("Active", timeout=PATIENCE)

    page.get_by_role("button", name="Start a pod").click()
    expect(gpus.locator("#gpu-rows")).to_contain_text(f"{name}-", timeout=PATIENCE)
    held = card_rows(gpus, f"{name}-")
    assert len(set(held)) == 2
    assert all("share" in href for href in held)
    expect(main).to_contain_text("Reserved", timeout=PATIENCE)
    expect(main).to_contain_text("Pending")

    page.get_by_role("link", name="Release").click()
    expect(main).to_contain_text(f"ResourceClaimTemplate ai-serving/{name}")
    page.get_by_role("button", name="Release").click()
    expect(main).to_contain_text("Released", timeout=PATIENCE)
    expect(gpus.locator("#gpu-rows")).not_to_contain_text(f"{name}-", timeout=PATIENCE)

"""Forms that are begun from something: pasted YAML, drafts, older versions, domains."""

from __future__ import annotations

import re
import uuid

import pytest
from playwright.sync_api import Page, expect

FIRST = "requests-0-alternatives-0"
OLD = """apiVersion: resource.k8s.io/v1beta1
kind: ResourceClaimTemplate
metadata: {name: pasted}  # from a colleague
spec:
  spec:
    devices:
      requests:
      - name: gpu
        deviceClassName: gpu.nvidia.com
"""


@pytest.fixture
def name():
    return f"form-{uuid.uuid4().hex[:8]}"


def test_an_old_manifest_is_pasted_repaired_and_taken_into_the_form(
    page: Page, sign_in, axe
):
    sign_in(page)
    page.goto("/c/demo/import/")
    page.get_by_label("YAML or JSON").first.fill(OLD)
    page.locator("#import").click()

    expect(page.locator("#summary")).to_contain_text("No error is left.")
    difference = page.locator("pre.diff").first
    expect(difference).to_contain_text("+apiVersion: resource.k8s.io/v1")
    expect(difference).to_contain_text("exactly")
    axe(page)
    page.get_by_role("button", name="into the form").click()
    page.wait_for_url("**/c/demo/compose/")
    expect(page.locator("#f-name")).to_have_value("pasted")
    expect(page.locator(f"#f-{FIRST}-class")).to_have_value("gpu.nvidia.com")
    page.locator("#f-namespace").select_option("ai-serving")
    expect(page.locator("#manifest-text")).to_contain_text("# from a colleague")


def test_alternatives_are_moved_by_the_keyboard(page: Page, sign_in):
    sign_in(page)
    page.goto("/c/demo/compose/?preset=hopper-shares")
    page.locator(f"#f-{FIRST}-name").focus()
    page.keyboard.press("Alt+ArrowDown")
    expect(page.locator(f"#f-{FIRST}-name")).to_have_value("mig-fallback")
    # The cursor went with it, so that it can be moved on, or back.
    expect(page.locator("#f-requests-0-alternatives-1-name")).to_be_focused()
    page.keyboard.press("Alt+ArrowUp")
    expect(page.locator(f"#f-{FIRST}-name")).to_have_value("hopper-shares")


def test_alternatives_are_moved_and_a_draft_is_kept_without_script(
    no_script, sign_in, name
):
    page = no_script.new_page()
    sign_in(page)
    page.goto("/c/demo/compose/?preset=hopper-shares")
    with page.expect_navigation():
        page.get_by_role("button", name="Move alternative 2 up").click()
    expect(page.locator(f"#f-{FIRST}-name")).to_have_value("mig-fallback")
    page.locator("#f-name").fill(name)
    with page.expect_navigation():
        page.get_by_role("button", name="Save draft").click()
    expect(
        page.get_by_role("status").filter(has_text="Kept as a draft")
    ).to_be_visible()

    page.goto("/drafts/")
    page.get_by_role("link", name=name, exact=True).click()
    page.wait_for_url("**/compose/?draft=**")
    expect(page.locator(f"#f-{FIRST}-name")).to_have_value("mig-fallback")
    page.goto("/drafts/")
    page.get_by_role("link", name=f"Discard… {name}").click()
    page.wait_for_url("**/discard/")
    page.locator("#discard").click()
    page.wait_for_url("**/drafts/")
    expect(page.get_by_role("link", name=name, exact=True)).to_have_count(0)


def test_what_is_typed_is_kept_and_an_amount_is_explained(
    page: Page, sign_in, axe, name
):
    sign_in(page)
    page.goto("/c/demo/compose/?preset=hopper-shares")
    page.locator("#f-name").fill(name)
    expect(page.locator("#kept")).to_contain_text("Draft kept at")
    amount = page.get_by_label("memory per device").first
    amount.fill("16777217")
    given = page.locator(f"#{amount.get_attribute('id')}-given")
    expect(given).to_contain_text("17Mi")

    page.goto("/drafts/")
    expect(page.get_by_role("link", name=name, exact=True)).to_be_visible()
    axe(page)


def test_a_domain_is_asked_for_and_its_template_shown(page: Page, sign_in, axe, name):
    sign_in(page)
    page.goto("/c/demo/compose/domain/")
    page.locator("#f-name").fill(name)
    page.locator("#f-name").press("Tab")
    expect(page.locator("#found")).to_contain_text(
        "There is a node with a free channel"
    )
    axe(page)
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url("**/requests/**")
    expect(page.locator("#live")).to_contain_text("it grows with its pods")
    page.reload()
    expect(page.locator("#its-templates")).to_be_visible()
    expect(page.get_by_text(f"{name}-channel").first).to_be_visible()
    page.locator("#release").click()
    page.wait_for_url("**/release/")
    page.get_by_role("button", name="Release now").click()
    page.wait_for_url(re.compile(r"/requests/[0-9a-f-]+/$"))
    expect(page.locator("#live h1 + .badge")).to_have_text("Released")

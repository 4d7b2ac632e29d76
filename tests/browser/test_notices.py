"""The bell rings on an open page; notices, subscriptions and accounts on any screen."""

from __future__ import annotations

import os
import re
import uuid
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.test_main_job import compose_example

PAGES = ("/notices/", "/subscriptions/", "/service-accounts/", "/tokens/")
WIDER = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
# Where pictures go, for whoever looks at them.
PICTURES = os.environ.get("SLICEWISE_PICTURES")


@pytest.fixture
def subscribed(page, sign_in):
    """Be Ada, who has a webhook, a service account and notices."""
    sign_in(page)
    page.goto("/subscriptions/")
    page.fill("[name=name]", "nightly pipeline")
    page.select_option("[name=channel]", "webhook")
    page.fill("[name=address]", "https://93.184.215.14/hooks/gpus")
    page.click("text=Subscribe >> nth=-1")
    expect(page.get_by_role("status").filter(has_text="whsec_")).to_be_visible()
    page.get_by_role("link", name="Send a test").click()
    page.get_by_role("button", name="Send a test").click()
    expect(
        page.get_by_text("This is a test of nightly pipeline.").first
    ).to_be_visible()
    return page


def test_every_page_is_accessible_and_fits_in_both_languages(subscribed, axe):
    page = subscribed
    detail = page.url
    page.goto("/service-accounts/")
    page.fill("[name=name]", "nightly")
    with page.expect_navigation():
        page.click("text=Make it")
    account = page.url
    for language in ("en", "ko"):
        for width in (360, 1440):
            page.set_viewport_size({"width": width, "height": 900})
            for address in (*PAGES, detail, account):
                page.goto(address)
                assert not page.evaluate(WIDER), (address, width, language)
                if width == 360:
                    axe(page)
                if PICTURES:
                    name = re.sub(r"\W+", "-", address.split("//")[-1])[:30]
                    path = Path(PICTURES) / f"{name}-{width}-{language}.png"
                    page.screenshot(path=path, full_page=True)
        with page.expect_navigation():
            page.locator("button[name=language]").click()


def test_the_bell_rings_on_an_open_page(page, sign_in, demo):
    """What is claimed in one window is told in another, without a reload."""
    sign_in(page)
    other = page.context.new_page()
    other.goto("/c/demo/")
    bell = other.locator("#bell")
    expect(bell).to_be_visible()
    before = bell.inner_text()
    compose_example(page, f"bell-{uuid.uuid4().hex[:8]}")
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url("**/requests/*/")

    expect(bell).not_to_have_text(before)
    expect(bell).to_have_text(re.compile(r"[1-9]\d* unread"))
    bell.click()
    other.get_by_role("button", name="Open").first.click()
    expect(other).to_have_url(re.compile("/requests/"))


def test_without_script_a_notice_is_opened_and_read(no_script, demo):
    page = no_script.new_page()
    page.goto("/sign-in/")
    page.fill("[name=username]", "cleo@maple")
    page.fill("[name=password]", demo.passwords["cleo@maple"])
    page.click("main button")
    page.wait_for_url("**/c/**")
    page.goto("/notices/")
    expect(page.get_by_role("heading", name="Notices")).to_be_visible()
    page.goto("/subscriptions/")
    page.fill("[name=name]", "x")
    page.fill("[name=address]", "nowhere")
    page.click("text=Subscribe >> nth=-1")
    expect(page.get_by_text("is no address")).to_be_visible()

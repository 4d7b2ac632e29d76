"""Pages that refresh themselves leave a person where they are."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect


def refresh(page: Page, part: str) -> None:
    """Let a part hear of a change, and wait until its successor stands there."""
    page.evaluate(f"document.querySelector('{part}').dataset.old = ''")
    page.evaluate(f"htmx.trigger('{part}', 'sse:inventory')")
    expect(page.locator(f"{part}[data-old]")).to_have_count(0)
    expect(page.locator(f"{part}.htmx-settling")).to_have_count(0)


def test_a_refresh_keeps_what_is_open_scrolled_and_focused(page: Page, sign_in):
    sign_in(page)
    page.set_viewport_size({"width": 360, "height": 800})
    page.goto("/c/demo/gpus/")
    near = page.locator("#gpu-rows details.topology").first
    near.locator("summary").click()
    scroll = near.locator(".scroll")
    scroll.evaluate("(each) => each.scrollTo(30, 0)")
    assert scroll.evaluate("(each) => each.scrollLeft") == 30
    near.locator("summary").focus()

    refresh(page, "#gpu-rows")

    expect(near).to_have_attribute("open", "")
    expect(near.locator("summary")).to_be_focused()
    assert scroll.evaluate("(each) => each.scrollLeft") == 30
    near.locator("summary").press("Enter")
    link = page.locator("#gpu-rows a:not([id])").first
    link.focus()

    refresh(page, "#gpu-rows")

    expect(near).not_to_have_attribute("open", "")
    expect(link).to_be_focused()
    link.evaluate("(each) => { each.href = '/gone/' }")

    refresh(page, "#gpu-rows")

    expect(page.locator("#gpu-rows")).to_be_focused()


def test_what_is_heard_keeps_no_change_of_the_form_waiting(page: Page, sign_in):
    page.clock.install()
    sign_in(page)
    page.goto("/c/demo/compose/?preset=hopper-shares")
    expect(page.locator("#preview")).to_contain_text("Fits on")
    expect(page.locator("#told")).to_contain_text("Fits on")
    expect(page.locator("#told")).to_contain_text("checks")
    page.clock.fast_forward(11_000)
    with page.expect_response("**/compose/preview/"):
        page.evaluate("htmx.trigger('#preview', 'sse:inventory')")
    expect(page.locator("#preview.htmx-request")).to_have_count(0)
    page.evaluate("htmx.trigger('#preview', 'sse:inventory')")

    with page.expect_response("**/compose/preview/", timeout=5_000):
        page.locator("#f-name").fill("another-name")
        page.locator("#f-name").press("Tab")

    # What was heard meanwhile is not forgotten.
    expect(page.locator("#preview.htmx-request")).to_have_count(0)
    with page.expect_response("**/compose/preview/"):
        page.clock.fast_forward(11_000)
        page.clock.fast_forward(11_000)


def test_a_paused_page_asks_nothing_by_the_clock(page: Page, sign_in):
    page.clock.install()
    sign_in(page)
    page.locator("[data-pause]").click()
    asked: list[str] = []
    page.on("request", lambda each: asked.append(each.url))

    page.clock.fast_forward(16_000)
    page.evaluate("htmx.trigger('#freshness', 'sse:inventory')")
    assert asked == []

    with page.expect_response("**/freshness"):
        page.locator("[data-pause]").click()


def test_back_to_a_page_that_was_paused_is_back_to_a_live_one(page: Page, sign_in):
    sign_in(page)
    page.goto("/c/demo/gpus/")
    page.locator("#filter-text").fill("h100")
    page.wait_for_url("**q=h100**")
    pause = page.locator("[data-pause]")
    pause.click()
    expect(pause).to_have_text("Resume")

    page.go_back()

    expect(pause).to_have_text("Pause")
    expect(page.locator("#filter-text")).to_have_value("")
    pause.click()
    expect(pause).to_have_text("Resume")
    pause.click()
    refresh(page, "#gpu-rows")


def test_a_time_says_as_a_title_the_readers_own(browser, browser_context_args, sign_in):
    context = browser.new_context(**browser_context_args, timezone_id="Asia/Seoul")
    page = context.new_page()
    sign_in(page)
    time = page.locator("#freshness time")
    expect(time).to_have_attribute("title", re.compile(r"GMT\+9|KST"))
    context.close()

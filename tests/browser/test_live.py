"""Pages that refresh themselves leave a person where they are."""

from __future__ import annotations

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

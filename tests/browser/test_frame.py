from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

PAGES = ["/c/demo/", "/requests/", "/nothing/"]


def _overflows(page: Page) -> bool:
    return page.evaluate(
        "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 768, 1440])
@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_frame_is_accessible_and_fits(
    page: Page, sign_in, axe, scheme, width, language
):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 800})
    page.goto("/sign-in/")
    if language == "ko":
        page.get_by_role("button", name="한국어").click()
        expect(page.locator("html")).to_have_attribute("lang", "ko")
    axe(page)
    assert not _overflows(page)

    sign_in(page)
    for path in PAGES:
        page.goto(path)
        axe(page)
        assert not _overflows(page), path


@pytest.mark.parametrize("width", [360, 1280])
def test_menus_open_inside_the_window_and_close(page: Page, sign_in, axe, width):
    page.set_viewport_size({"width": width, "height": 800})
    sign_in(page)
    for menu in page.locator("details.menu").all():
        menu.locator("summary").click()
        box = menu.locator("ul").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        axe(page)
        page.keyboard.press("Escape")
        expect(menu).not_to_have_attribute("open", "")
        expect(menu.locator("summary")).to_be_focused()


def test_keyboard_reaches_the_content_first(page: Page, sign_in):
    sign_in(page)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()


def test_theme_is_chosen_and_stays(page: Page, sign_in):
    sign_in(page)
    background = "getComputedStyle(document.documentElement).backgroundColor"
    page.emulate_media(color_scheme="light")
    light = page.evaluate(background)

    page.get_by_text("Theme").click()
    page.get_by_role("button", name="Dark").click()

    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert page.evaluate(background) != light
    page.goto("/requests/")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_everything_works_without_script(no_script, demo):
    page = no_script.new_page()
    page.goto("/sign-in/")
    page.fill("[name=username]", "cleo@maple")
    page.fill("[name=password]", "wrong")
    page.click("main button")
    expect(page.get_by_role("alert")).to_contain_text("do not fit")
    expect(page.locator("[name=username]")).to_have_value("cleo@maple")

    page.fill("[name=password]", demo.passwords["cleo@maple"])
    page.click("main button")
    page.wait_for_url("**/c/demo/")
    page.get_by_role("link", name="GPUs").first.click()
    expect(page.locator("nav a[aria-current=page]")).to_have_text("GPUs")
    page.get_by_role("button", name="한국어").click()
    expect(page.locator("html")).to_have_attribute("lang", "ko")
    expect(page.locator("nav a[aria-current=page]")).to_have_text("GPU")
    expect(page.locator("[data-pause]")).to_be_hidden()
    page.locator("summary", has_text="cleo@maple").click()
    page.get_by_role("button", name="로그아웃").click()
    page.wait_for_url("**/sign-in/")


def test_the_badge_ticks_and_can_be_paused(page: Page, sign_in):
    failures = []
    page.on("console", lambda each: failures.append(each.text))
    page.on("pageerror", lambda each: failures.append(str(each)))
    sign_in(page)
    age = page.locator("#freshness time")
    expect(page.locator("#freshness")).to_have_attribute("data-kind", "good")
    expect(age).to_have_text(re.compile(r"\d+ (s|min) ago"))
    before = age.text_content()
    expect(age).not_to_have_text(before)

    pause = page.locator("[data-pause]")
    pause.click()
    expect(pause).to_have_text("Resume")
    expect(pause).to_have_attribute("aria-pressed", "true")
    pause.click()
    expect(pause).to_have_text("Pause")
    assert failures == []


def test_a_lost_session_leads_to_sign_in(page: Page, sign_in):
    sign_in(page)
    page.context.clear_cookies()
    page.evaluate("htmx.trigger('#freshness', 'sse:inventory')")
    page.wait_for_url("**/sign-in/?next=**")


def test_printing_leaves_out_what_cannot_be_clicked(page: Page, sign_in):
    sign_in(page)
    page.emulate_media(media="print")
    expect(page.locator("nav.side")).to_be_hidden()
    expect(page.get_by_role("heading", level=1)).to_be_visible()


@pytest.mark.parametrize("width", [800, 1280])
def test_the_header_does_not_cover_what_has_the_focus(page: Page, sign_in, width):
    page.set_viewport_size({"width": width, "height": 500})
    sign_in(page)
    header = page.locator("header.top")
    target = page.locator("#overview-live a").first
    target.evaluate("(each) => scrollBy(0, each.getBoundingClientRect().top - 8)")
    under = header.bounding_box()["height"]
    assert target.bounding_box()["y"] < under

    target.focus()

    assert target.bounding_box()["y"] >= under

"""The main job, as a new user does it: from sign-in to shares seen on two cards, and back."""

from __future__ import annotations

import re
import uuid

import pytest
from playwright.sync_api import Page, expect

CARDS = "li, tr"


def compose_example(page: Page, name: str) -> None:
    page.get_by_role("navigation", name="Main").get_by_role(
        "link", name="Compose"
    ).click()
    page.wait_for_url("**/compose/")
    page.get_by_role("link", name="two 16Gi Hopper shares").click()
    # The page before it has the same fields.
    page.wait_for_url("**/compose/?preset=*")
    page.get_by_label("Name", exact=True).fill(name)


def card_rows(page: Page, claim: str) -> list[str]:
    """Return the node and card of every row of the GPUs page that names a claim."""
    rows = page.locator("#gpu-rows section li").filter(has_text=claim)
    return [
        rows.nth(i).get_by_role("link").first.get_attribute("href")
        for i in range(rows.count())
    ]


@pytest.fixture
def name() -> str:
    return f"job-{uuid.uuid4().hex[:8]}"


def test_main_job(page: Page, sign_in, axe, name):
    sign_in(page)
    gpus = page.context.new_page()
    gpus.goto("/c/demo/gpus/")
    compose_example(page, name)

    selector = page.locator("main")
    expect(selector).to_contain_text("matches 8 of 34 devices on 2 of 12 nodes")
    expect(selector).to_contain_text("matches 6 of 50 devices on 1 of 12 nodes")
    preview = page.locator("#preview")
    expect(preview).to_contain_text("Fits on 2 of 13 nodes")
    expect(preview).to_contain_text("gpu-h100-share-a")
    axe(page)

    page.get_by_role("button", name="Submit").click()
    page.wait_for_url("**/requests/*/")
    expect(page.locator("main")).to_contain_text("Active")
    axe(page)

    page.get_by_role("button", name="Start a pod").click()
    expect(gpus.locator("#gpu-rows")).to_contain_text(f"{name}-")
    held = card_rows(gpus, f"{name}-")
    assert len(set(held)) == 2
    assert all("share" in href for href in held)
    expect(page.locator("main")).to_contain_text("Running")
    axe(gpus)

    page.get_by_role("link", name="Release").click()
    page.wait_for_url("**/release/")
    expect(page.locator("main")).to_contain_text(
        f"ResourceClaimTemplate ai-serving/{name}"
    )
    axe(page)
    page.get_by_role("button", name="Release").click()
    expect(gpus.locator("#gpu-rows")).not_to_contain_text(f"{name}-")
    expect(page.locator("main")).to_contain_text("Released")


def test_a_change_reaches_a_page_that_is_only_open(page: Page, sign_in, name):
    sign_in(page)
    compose_example(page, name)
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url("**/requests/*/")
    expect(page.locator("main")).to_contain_text("Active")
    gpus = page.context.new_page()
    gpus.goto("/c/demo/gpus/")

    page.get_by_role("button", name="Start a pod").click()
    expect(page.locator("main")).to_contain_text("Reserved")

    # Nobody touches the other page, and it asks for nothing by the clock.
    expect(gpus.locator("#gpu-rows")).to_contain_text(f"{name}-")


def reload_until(page: Page, text: str) -> None:
    """Reload as a person without script would, until the page says so."""
    for _ in range(60):
        page.reload()
        if text in page.inner_text("main"):
            return
        page.wait_for_timeout(500)
    raise AssertionError(page.inner_text("main")[:2000])


def test_main_job_without_script(no_script, demo, name):
    page = no_script.new_page()
    page.goto("/sign-in/")
    page.fill("[name=username]", "ada@orchid")
    page.fill("[name=password]", demo.passwords["ada@orchid"])
    page.click("main button")
    page.wait_for_url("**/c/**")
    compose_example(page, name)
    with page.expect_navigation():
        page.get_by_role("button", name="Preview now").click()
    expect(page.locator("main")).to_contain_text("Fits on 2 of 13 nodes")
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url("**/requests/*/")
    reload_until(page, "Active")
    # The answer to the form must have come before the page is asked for again.
    with page.expect_navigation():
        page.get_by_role("button", name="Start a pod").click()
    reload_until(page, "Reserved")
    page.goto("/c/demo/gpus/")
    assert len(set(card_rows(page, f"{name}-"))) == 2


def test_another_tenant_sees_only_that_it_is_in_use(
    page: Page, browser, browser_context_args, sign_in, name
):
    sign_in(page)
    compose_example(page, name)
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url("**/requests/*/")
    expect(page.locator("main")).to_contain_text("Active")
    page.get_by_role("button", name="Start a pod").click()
    expect(page.locator("main")).to_contain_text("Reserved")
    request = page.url
    other = browser.new_context(**browser_context_args)
    cleo = other.new_page()
    sign_in(cleo, "cleo@maple")

    for path in [
        "/c/demo/",
        "/c/demo/gpus/",
        "/c/demo/gpus/?view=table",
        "/c/demo/claims/",
        "/requests/",
    ]:
        cleo.goto(path)
        assert name not in cleo.content()
        assert "ai-serving" not in cleo.content()
    assert cleo.goto(request).status == 404
    other.close()


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("Name", "not/a/name", "holds a “/”"),
        ("Name", "x" * 254, "at most 253"),
        ("Count", "0", "is no count"),
        ("Count", "many", "is no count"),
    ],
)
def test_bad_input_gets_its_sentence_and_loses_nothing(
    page: Page, sign_in, field, value, sentence
):
    sign_in(page)
    compose_example(page, "fine")
    page.get_by_label(field, exact=True).first.fill(value)

    page.get_by_role("button", name="Submit").click()

    expect(page.locator("main")).to_contain_text(sentence)
    expect(page.get_by_label(field, exact=True).first).to_have_value(value)
    expect(page.locator("textarea").first).to_have_value(
        re.compile("allowMultipleAllocations")
    )


def test_cel_errors_have_line_and_column_while_typing(page: Page, sign_in):
    sign_in(page)
    page.goto("/c/demo/compose/")
    area = page.locator("textarea").first

    area.fill("device.driver ==\n  'gpu.nvidia.com' &&& true")

    expect(page.locator("main")).to_contain_text(re.compile(r"Line 2, column \d+"))


def test_two_tabs_submit_the_same_form_once(page: Page, sign_in, name):
    sign_in(page)
    compose_example(page, name)
    body = page.evaluate(
        "new URLSearchParams(new FormData(document.querySelector('#composer'))).toString()"
    )

    answers = [
        page.request.post(
            page.url.split("?")[0],
            data=body + "&action=submit",
            headers={
                "Content-Type": "application/x-www-form-urlencoded",
                "Referer": page.url,
            },
            max_redirects=0,
        )
        for _ in range(2)
    ]

    assert [answer.status for answer in answers] == [302, 302], page.url + body[:400]
    places = {answer.headers.get("location") for answer in answers}
    assert len(places) == 1
    assert places.pop().startswith("/requests/")


@pytest.mark.parametrize("width", [360, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("language", ["en", "ko"])
def test_composer_and_requests_fit_and_are_accessible(
    browser, browser_context_args, sign_in, axe, width, scheme, language
):
    context = browser.new_context(
        **{
            **browser_context_args,
            "viewport": {"width": width, "height": 800},
            "color_scheme": scheme,
            "locale": "ko-KR" if language == "ko" else "en-GB",
        }
    )
    page = context.new_page()
    problems: list[str] = []
    page.on(
        "console",
        lambda message: (
            problems.append(message.text) if message.type == "error" else None
        ),
    )
    sign_in(page)
    for path in ["/c/demo/compose/?preset=hopper-shares", "/requests/"]:
        page.goto(path)
        page.wait_for_timeout(300)
        wide = page.evaluate(
            "document.documentElement.scrollWidth > document.documentElement.clientWidth"
        )
        assert not wide, path
        axe(page)
    assert problems == []
    context.close()


def test_a_preset_takes_six_interactions_from_the_sign_in_page(page: Page, demo):
    page.goto("/sign-in/")
    made = 0

    def interact(act, *arguments):
        nonlocal made
        made += 1
        act(*arguments)

    interact(page.get_by_label("Name", exact=True).fill, "ada@orchid")
    interact(page.get_by_label("Password").fill, demo.passwords["ada@orchid"])
    interact(page.locator("main button").click)
    main = page.get_by_role("navigation", name="Main")
    interact(main.get_by_role("link", name="Presets").click)
    page.wait_for_url("**/presets/")
    expect(page.locator("main")).to_contain_text(re.compile(r"\d+ free"))
    title = "H100, else two L40S, else a MIG slice"
    interact(page.get_by_role("link", name=title).click)
    expect(page.locator("#preview")).to_contain_text(re.compile(r"Fits on \d+ of"))
    interact(page.get_by_role("button", name="Submit").click)
    page.wait_for_url("**/requests/*/")
    expect(page.locator("main")).to_contain_text("Active")
    assert made <= 6

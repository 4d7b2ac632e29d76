"""The plan to DRA in a browser, with and without script, on any screen."""

from __future__ import annotations

from playwright.sync_api import expect

PAGE = "/c/demo/adoption/plan/"
WIDER = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
OPEN = "document.querySelectorAll('.phases details').forEach((e) => { e.open = true; })"
STATE = "section#live > header .badge >> nth=0"


def test_an_admin_moves_the_plan_and_prints_its_record(page, sign_in, axe):
    sign_in(page, "dora@platform")
    page.goto(PAGE)
    expect(page.locator(".phases details[open]")).to_have_count(1)
    page.get_by_role("button", name="Start").click()
    expect(page.locator(STATE)).to_have_text("Running")
    # Nodes of the demo do not tell their runtime.
    page.get_by_role("button", name="Go on").click()
    expect(page.get_by_role("alert")).to_contain_text("Not known")
    page.fill("#reason", "Looked at each node.")
    page.get_by_role("button", name="Answer for what is unknown").click()
    expect(page.locator(STATE)).to_have_text("Gate green")
    expect(page.get_by_text("answered for").first).to_be_visible()
    for width, scheme in ((360, "dark"), (1440, "light")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        for path in (PAGE, f"{PAGE}record/"):
            page.goto(path)
            page.evaluate(OPEN)
            assert not page.evaluate(WIDER), (path, width)
            axe(page)
    page.emulate_media(media="print")
    expect(page.get_by_text("Looked at each node.")).to_be_visible()
    expect(page.get_by_role("navigation", name="Adoption")).to_be_hidden()


def test_the_plan_works_without_script(no_script, sign_in):
    page = no_script.new_page()
    sign_in(page, "dora@platform")
    page.goto(PAGE)
    canary = page.locator("details#canary")
    expect(canary.locator("pre").first).to_be_hidden()
    canary.locator("summary").click()
    expect(canary.locator("pre").first).to_contain_text("kubectl apply")
    with page.expect_download() as saved:
        canary.get_by_role("link", name="nodepool.yaml").click()
    assert "nvidia.com/dra-enabled" in saved.value.path().read_text()

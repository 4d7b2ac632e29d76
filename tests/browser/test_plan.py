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
    page.get_by_role("button", name="Check the gate").click()
    expect(page.locator(STATE)).to_have_text("Gate green")
    page.get_by_role("button", name="Go on").click()
    expect(page.locator("#canary[open]")).to_have_count(1)
    page.get_by_role("button", name="Start").click()
    expect(page.locator(STATE)).to_have_text("Running")
    # No node of the demo has the label of the canary pool.
    page.get_by_role("button", name="Check the gate").click()
    page.fill("#reason", "The pool is not ordered yet.")
    page.get_by_role("button", name="Go back").click()
    expect(page.locator(STATE)).to_have_text("Rolled back")
    for width, scheme in ((360, "dark"), (1440, "light")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        for path in (PAGE, f"{PAGE}record/"):
            page.goto(path)
            page.evaluate(OPEN)
            assert not page.evaluate(WIDER), (path, width)
            axe(page)
    page.emulate_media(media="print")
    expect(page.get_by_text("The pool is not ordered yet.")).to_be_visible()
    expect(page.get_by_role("navigation", name="Adoption")).to_be_hidden()


def test_the_plan_works_without_script(no_script, sign_in):
    page = no_script.new_page()
    sign_in(page, "dora@platform")
    page.goto(PAGE)
    mapping = page.locator("details#mapping")
    expect(mapping.locator("pre").first).to_be_hidden()
    mapping.locator("summary").click()
    expect(mapping.locator("pre").first).to_be_visible()
    with page.expect_download() as saved:
        mapping.get_by_role("link", name="probe-pod.yaml").click()
    assert "nvidia.com/gpu" in saved.value.path().read_text()


def test_an_admin_asks_what_workloads_need_and_the_owner_tells(page, sign_in, axe):
    captions = "input[name='workload'][value='ai-training/StatefulSet/captions']"
    sign_in(page, "dora@platform")
    page.goto("/c/demo/adoption/savings/")
    page.check(captions)
    page.get_by_role("button", name="Ask about what is ticked").click()
    expect(page.locator("main")).to_contain_text("The owner of 1 workload is asked.")
    axe(page)
    page.goto("/c/demo/adoption/")
    expect(page.locator("main")).to_contain_text("containerd://2.0.6")
    axe(page)
    page.context.clear_cookies()
    sign_in(page, "ada@orchid")
    page.goto("/notices/")
    expect(page.locator("main")).to_contain_text("ai-training/captions (demo)")
    page.set_viewport_size({"width": 360, "height": 900})
    page.goto("/c/demo/adoption/needs/")
    assert not page.evaluate(WIDER)
    axe(page)
    page.get_by_label("GiB that captions needs of each card").fill("18")
    page.get_by_role("button", name="Keep what is filled in").click()
    expect(page.locator("main")).to_contain_text("18 GiB told by ada@orchid")

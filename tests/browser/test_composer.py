"""The composer in a browser: few interactions, the keyboard alone, dragging, CEL help."""

from __future__ import annotations

import re
import uuid

import pytest
from playwright.sync_api import Page, expect

FIRST = "requests-0-alternatives-0"
H100 = 'device.attributes["gpu.nvidia.com"].productName.contains("H100")'
L40S = 'device.attributes["gpu.nvidia.com"].productName.contains("L40S")'
MIG = 'device.attributes["gpu.nvidia.com"].profile == "4g.40gb"'
MOST_INTERACTIONS = 25


class Hands:
    """Counts what a person does: each field filled, choice made or click is one."""

    def __init__(self, page):
        self.page = page
        self.count = 0

    def fill(self, field, text):
        self.count += 1
        self.page.locator(f"[name='{field}']").fill(text)

    def choose(self, field, option):
        self.count += 1
        self.page.locator(f"select[name='{field}']").select_option(option)

    def click(self, role, name):
        self.count += 1
        self.page.get_by_role(role, name=name, exact=True).first.click()


@pytest.fixture
def name() -> str:
    return f"compose-{uuid.uuid4().hex[:8]}"


def test_three_alternatives_take_few_interactions(page: Page, demo, axe, name):
    hands = Hands(page)
    page.goto("/sign-in/")
    hands.fill("username", "ada@orchid")
    hands.fill("password", demo.passwords["ada@orchid"])
    hands.click("button", "Sign in")
    page.wait_for_url("**/c/demo/")
    hands.click("link", "Compose")
    page.wait_for_url("**/compose/")
    hands.fill("name", name)
    hands.fill(f"{FIRST}-selectors-0", H100)
    hands.click("button", "Add an alternative")
    second = "requests-0-alternatives-1"
    hands.fill(f"{second}-count", "2")
    hands.fill(f"{second}-selectors-0", L40S)
    hands.click("button", "Add an alternative")
    third = "requests-0-alternatives-2"
    hands.choose(f"{third}-class", "mig.nvidia.com")
    hands.fill(f"{third}-selectors-0", MIG)
    for at, each in enumerate(["h100", "l40s-pair", "mig"]):
        hands.fill(f"requests-0-alternatives-{at}-name", each)
    expect(page.locator("#manifest")).to_contain_text("name: l40s-pair")
    axe(page)
    hands.click("button", "Submit")
    page.wait_for_url("**/requests/*/")
    assert hands.count <= MOST_INTERACTIONS
    expect(page.locator("main")).to_contain_text("h100")


def tab_to(page: Page, field: str) -> None:
    """Press Tab until an element has the focus, as who has no mouse does."""
    for _ in range(120):
        if page.evaluate("field => document.activeElement?.matches(field)", field):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab never reached {field}")


def test_the_keyboard_alone_suffices(page: Page, demo, name):
    page.goto("/sign-in/")
    tab_to(page, "[name=username]")
    page.keyboard.type("ada@orchid")
    page.keyboard.press("Tab")
    page.keyboard.type(demo.passwords["ada@orchid"])
    page.keyboard.press("Enter")
    page.wait_for_url("**/c/demo/")
    tab_to(page, "nav.side a[href$='/compose/']")
    page.keyboard.press("Enter")
    page.wait_for_url("**/compose/")
    tab_to(page, "#f-name")
    page.keyboard.type(name)
    tab_to(page, f"#f-{FIRST}-selectors-0")
    page.keyboard.type(H100)
    page.keyboard.press("Escape")
    tab_to(page, "[value='add-alternative:0']")
    page.keyboard.press("Enter")
    second = "requests-0-alternatives-1"
    expect(page.locator(f"#f-{second}-name")).to_be_focused()
    tab_to(page, f"#f-{second}-count")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("2")
    tab_to(page, f"#f-{second}-selectors-0")
    page.keyboard.type(L40S)
    # Up with Alt and the arrow key, and back down: the cursor goes along.
    page.keyboard.press("Escape")
    page.keyboard.press("Alt+ArrowUp")
    expect(page.locator(f"#f-{FIRST}-selectors-0")).to_have_value(L40S)
    expect(page.locator(f"#f-{FIRST}-name")).to_be_focused()
    page.keyboard.press("Alt+ArrowDown")
    expect(page.locator(f"#f-{second}-selectors-0")).to_have_value(L40S)
    expect(page.locator(f"#f-{second}-name")).to_be_focused()
    tab_to(page, "[value='submit']")
    page.keyboard.press("Enter")
    page.wait_for_url("**/requests/*/")


def test_what_is_typed_while_the_form_is_fetched_is_not_lost(page: Page, sign_in):
    sign_in(page)
    page.goto("/c/demo/compose/")
    held = []
    page.route("**/c/demo/compose/", lambda route: held.append(route))
    page.locator(f"#f-{FIRST}-class").select_option("mig.nvidia.com")
    page.locator(f"#f-{FIRST}-selectors-0").fill(MIG)
    page.locator(f"#f-{FIRST}-count").fill("2")
    page.locator("#f-name").fill("typed-meanwhile")
    # Another part settles just before the new form has.
    page.evaluate("""document.addEventListener("htmx:afterSwap", () => {
        const other = document.getElementById("availability");
        other.dispatchEvent(new Event("htmx:afterSettle", { bubbles: true }));
    })""")
    while not held:
        page.wait_for_timeout(50)
    with page.expect_response("**/c/demo/compose/"):
        held[0].continue_()
    expect(page.locator("#manifest-text")).to_contain_text("profile")
    expect(page.locator(f"#f-{FIRST}-selectors-0")).to_have_value(MIG)
    expect(page.locator(f"#f-{FIRST}-count")).to_have_value("2")


def test_alternatives_are_dragged(page: Page, sign_in):
    # High enough for both: a page that scrolls under the mouse starts no drag.
    page.set_viewport_size({"width": 1280, "height": 2000})
    sign_in(page)
    page.goto("/c/demo/compose/?preset=hopper-shares")
    rows = page.locator("[data-movable]")
    # What is free comes a moment later, and moves what is below it.
    expect(page.locator("#availability")).not_to_contain_text("class by class")

    rows.nth(0).locator("[data-grip]").hover()
    page.mouse.down()
    rows.nth(1).locator("header").hover()
    expect(rows.nth(0)).to_have_attribute("data-dragged", "")
    # The second move is the one that is told to what is under it.
    rows.nth(1).locator("header").hover()
    expect(rows.nth(1)).to_have_attribute("data-over", "")
    page.mouse.up()

    expect(page.locator(f"#f-{FIRST}-name")).to_have_value("mig-fallback")
    expect(page.locator("#manifest-text")).to_contain_text(
        re.compile(r"- name: mig-fallback[\s\S]*- name: hopper-shares")
    )


def test_words_are_completed_and_explained(page: Page, sign_in, axe):
    sign_in(page)
    page.goto("/c/demo/compose/")
    field = page.locator(f"#f-{FIRST}-selectors-0")
    field.click()
    page.keyboard.type("archit")
    box = page.get_by_role("listbox")
    expect(box.get_by_role("option").first).to_contain_text("architecture")
    axe(page)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    word = 'device.attributes["gpu.nvidia.com"].architecture'
    expect(field).to_have_value(word)
    expect(box).to_have_count(0)
    page.keyboard.type(' == "Hopper"')
    expect(page.locator(f"#f-{FIRST}-selectors-0-verdict")).to_contain_text("matches")
    page.keyboard.press("Home")
    expect(page.locator(f"#f-{FIRST}-selectors-0-doc")).to_contain_text("Hopper")


def test_an_answer_that_comes_late_is_dropped(page: Page, sign_in):
    sign_in(page)
    page.goto("/c/demo/compose/")
    strip = page.locator("#availability")
    expect(strip).to_contain_text("free")
    held = []
    page.route("**/availability/?namespace=first", lambda route: held.append(route))
    ask = """([namespace, source]) => { htmx.ajax("GET",
        `/c/demo/compose/availability/?namespace=${namespace}`,
        {source, target: "#availability"}); }"""
    page.evaluate(ask, ["first", "h1"])
    page.evaluate(ask, ["second", "main"])
    expect(strip).to_contain_text("No quota of second")
    with page.expect_response("**/availability/?namespace=first"):
        held[0].continue_()
    page.wait_for_timeout(300)
    expect(strip).to_contain_text("No quota of second")


def test_a_condition_is_built_from_what_devices_publish(page: Page, sign_in):
    sign_in(page)
    page.goto("/c/demo/compose/")
    page.get_by_text("Build a condition").click()
    page.get_by_label("What devices publish").select_option(
        'device.attributes["gpu.nvidia.com"].architecture'
    )
    page.get_by_label("Value", exact=True).fill("Hopper")
    page.get_by_role("button", name="Add this condition").click()
    expect(page.locator(f"#f-{FIRST}-selectors-0")).to_have_value(
        re.compile(r'architecture == "Hopper"$')
    )
    expect(page.locator(f"#f-{FIRST}-selectors-0-verdict")).to_contain_text("matches")


def test_a_condition_is_built_without_script(no_script, demo):
    page = no_script.new_page()
    page.goto("/sign-in/")
    page.fill("[name=username]", "ada@orchid")
    page.fill("[name=password]", demo.passwords["ada@orchid"])
    page.click("main button")
    page.wait_for_url("**/c/**")
    page.goto("/c/demo/compose/")
    page.get_by_text("Build a condition").click()
    page.get_by_label("What devices publish").select_option(
        'device.capacity["gpu.nvidia.com"].memory'
    )
    # The page before it has the same fields.
    with page.expect_navigation():
        page.get_by_role("button", name="Show its values").click()
    page.get_by_label("Value", exact=True).fill("40Gi")
    page.get_by_role("button", name="Add this condition").click()
    expect(page.locator(f"#f-{FIRST}-selectors-0")).to_have_value(
        re.compile(r'memory\.compareTo\(quantity\("40Gi"\)\) >= 0$')
    )


def test_configuration_labels_and_yaml_go_together(page: Page, sign_in, name):
    sign_in(page)
    page.goto("/c/demo/compose/")
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("button", name="Add a configuration").click()
    page.get_by_label("Sharing strategy").select_option("MPS")
    page.get_by_label("Active threads").fill("25")
    page.get_by_role("button", name="Edit as YAML").click()
    area = page.locator("#f-yaml")
    expect(area).to_have_value(re.compile("defaultActiveThreadPercentage: 25"))
    text = area.input_value()
    area.fill(text.replace("metadata:\n", "metadata: # ours\n  labels: {team: a}\n", 1))
    page.get_by_role("button", name="Take this YAML").click()
    expect(page.locator("#f-labels-0-key")).to_have_value("team")
    expect(page.locator("#manifest-text")).to_contain_text("metadata: # ours")
    # The new form takes the focus a moment after it came.
    expect(page.get_by_label("Name", exact=True)).to_be_focused()
    page.get_by_label("Active threads").fill("50")
    page.get_by_label("Active threads").press("Tab")
    expect(page.locator("#manifest-text")).to_contain_text(
        "defaultActiveThreadPercentage: 50"
    )
    expect(page.locator("#manifest-text")).to_contain_text("metadata: # ours")


def test_what_is_free_stands_above_the_form(page: Page, sign_in):
    """It comes a moment later, and moves nothing below it."""
    sign_in(page)
    held = []
    page.route("**/availability/**", lambda route: held.append(route))
    with page.expect_request("**/availability/**"):
        page.goto("/c/demo/compose/")
    strip = page.locator("#availability")
    expect(strip).to_contain_text("gpu.nvidia.com… of … free")
    before = strip.bounding_box()
    held[0].continue_()
    expect(strip).to_contain_text(re.compile(r"\d+ of (≥ )?\d+ free"))
    assert strip.bounding_box() == before

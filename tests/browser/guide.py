"""Does what a guide says, as it is written there: its steps in a browser, its commands.

In a numbered list, "**X** with `v`" fills the field X in, "**X** as `v`" chooses, "tick
**X**" ticks, "see **X**" waits until the page says so, and any other **X** is pressed.
An address <http://localhost:8000…> is opened. Blocks marked `sh demo` are for bash.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

ROOT = Path(__file__).resolve().parents[2]
WRITTEN = "http://localhost:8000"
BLOCK = re.compile(r"^```sh demo\n(.*?)^```$", re.MULTILINE | re.DOTALL)
STEP = re.compile(
    r"<(?P<address>http://localhost:8000[^>]*)>"
    r"|(?P<before>see|tick)?\s?\*\*(?P<name>[^*]+)\*\*"
    r"(?:\s+(?P<how>with|as)\s+`(?P<value>[^`]*)`)?"
)


def blocks(guide: str) -> list[str]:
    """Return the commands of a guide in docs/, in their order."""
    return BLOCK.findall((ROOT / "docs" / guide).read_text())


def section(guide: str, title: str) -> str:
    """Return what stands below a heading, up to the next one."""
    text = (ROOT / "docs" / guide).read_text()
    found = re.search(
        rf"^## {re.escape(title)}$(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL
    )
    assert found, f"{guide} has no section {title}"
    return BLOCK.sub("", found[1])


def walk(page: Page, text: str, address: str, *, patience: float) -> int:
    """Do each step that a text names; return how many there were.

    Args:
        patience: milliseconds for what has to appear.
    """
    count = 0
    for step in STEP.finditer(text):
        count += 1
        if step["address"]:
            page.goto(step["address"].replace(WRITTEN, address))
            continue
        name = " ".join(step["name"].split())
        if step["before"] == "see":
            expect(page.locator("main")).to_contain_text(name, timeout=patience)
        else:
            _do(page, name, step, patience)
    return count


def _do(page: Page, name: str, step: re.Match[str], patience: float) -> None:
    if step["how"] == "with":
        page.get_by_label(name, exact=True).fill(step["value"])
    elif step["how"] == "as":
        page.get_by_label(name, exact=True).select_option(step["value"])
    elif step["before"] == "tick":
        page.get_by_label(name).check()
    else:
        _press(page, name, patience)


def _press(page: Page, name: str, patience: float) -> None:
    """Press the first button of a name, else the first link that begins with it."""
    main = page.locator("main")
    begins = re.compile(rf"^{re.escape(name)}")
    pressed: Locator = main.get_by_role("button", name=name, exact=True)
    pressed = pressed.or_(main.get_by_role("link", name=begins))
    menu = page.get_by_role("navigation", name="Main")
    pressed = pressed.or_(menu.get_by_role("link", name=name, exact=True))
    before = page.url
    pressed.first.click(timeout=patience)
    if name not in {"Preview now", "Start a pod", "Make the token"}:
        page.wait_for_url(lambda url: url != before, timeout=patience)


def run(block: str, address: str, folder: Path, token: str) -> str:
    """Run a block's commands in the checkout; return what they print.

    The portal's written address becomes the real one, the token that a reader pastes
    the one that was made; what `slicewise login` keeps lies in the folder.
    """
    text = block.replace(WRITTEN, address).replace("swt_…", token)
    function = 'slicewise() { .venv/bin/python -m slicewise_cli "$@"; }\n'
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", function + text],
        cwd=ROOT,
        env=os.environ | {"XDG_CONFIG_HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, f"{block}{done.stdout}{done.stderr}"
    return done.stdout


def follow(page: Page, address: str, folder: Path, *, patience: float) -> None:
    """Do all of the quick start once `make demo` is ready, then the tenant guide's."""
    by_page = section("quick-start.md", "A first claim, by page")
    assert walk(page, by_page, address, patience=patience) > 20
    walk(
        page,
        section("quick-start.md", "The same by command line"),
        address,
        patience=patience,
    )
    token = page.locator("main code", has_text="swt_").first.inner_text()
    start, *commands = blocks("quick-start.md")
    assert start == "make demo\n"
    for block in (*commands, *blocks("tenant-guide.md")):
        run(block, address, folder, token)
